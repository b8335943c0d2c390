"""Figures are drawn, written twice, and the same bytes each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.lab.test_tables import results
from useralign.domains import synthetic
from useralign.errors import MissingExtraError
from useralign.lab import figures, versionspace
from useralign.pool import Pool
from useralign.users import Consistent


@pytest.fixture(autouse=True, scope="module")
def plots() -> None:
    pytest.importorskip("matplotlib")


def test_trade_off_figure_is_written_as_png_and_svg(tmp_path: Path) -> None:
    cells = results("food64d") + results("travel64d")
    figure = figures.domains_figure(cells, ["food64d", "travel64d"])
    png, svg = figures.save(figure, tmp_path, "figure4")
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert "UserAlign_loss" in text
    assert "food64d" in text
    again = figures.domains_figure(cells, ["food64d", "travel64d"])
    assert figures.save(again, tmp_path / "again", "figure4")[1].read_text() == text


def test_users_figure_has_two_rows() -> None:
    cells = results("food2d", user_kind="btl") + results("food2d", user_kind="consistent")
    figure = figures.users_figure(cells, "food2d", ("btl", "consistent"))
    assert len(figure.axes) == 4
    assert figure.legends[0].get_texts()[0].get_text() == "UserAlign"


def test_style_is_not_left_behind() -> None:
    import matplotlib

    before = matplotlib.rcParams["axes.grid"]
    figures.domains_figure(results(), ["food64d"])
    assert matplotlib.rcParams["axes.grid"] == before


def test_version_space_pictures(tmp_path: Path) -> None:
    pool = synthetic.pool(4)
    user = Consistent(pool, seed=4)
    trails = {m: versionspace.trace(pool, user, m, budget=3) for m in versionspace.SETS}
    times = dict.fromkeys(trails, (0, 3))
    strip = figures.strip(trails, pool.features, times, user.theta)
    assert len(strip.axes) == 4
    assert figures.save(strip, tmp_path, "strip")[0].exists()


def test_curves_figure() -> None:
    curves = versionspace.measure_curves(runs=2, steps=(0, 1, 5))
    assert len(figures.curves_figure(curves).axes) == 3


def test_example_shows_the_texts(tmp_path: Path) -> None:
    points = np.array([[1.0, 0.0], [-1.0, 0.2], [0.0, 1.0], [0.3, -1.0]])
    pool = Pool(
        "What?", ["one dish", "another", "a third", "a fourth"], points, embedder="axes: a, b"
    )
    user = Consistent(pool, seed=1)
    trail = versionspace.trace(pool, user)
    figure = figures.example_figure(trail, pool, user.theta)
    text = figures.save(figure, tmp_path, "example")[1].read_text()
    assert pool[trail[-1].incumbent].text in text
    assert "preferred" in text


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"useralign\[plots\]"):
        figures.domains_figure(results(), ["food64d"])


def test_importing_does_not_import_matplotlib() -> None:
    code = (
        "import sys, useralign.lab, useralign.lab.figures, "
        "useralign.lab.reproduce, useralign.cli.reproduce; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
