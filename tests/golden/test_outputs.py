"""Later versions compute what version 0.1.0 did, and read what it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import useralign as ua
from tests.golden import outputs
from tests.golden.outputs import ASKS, DATA, VISUAL_ASKS, alike


@cache
def golden(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


@pytest.fixture
def pictures() -> None:
    """Skip where the pictures' features can be neither loaded nor computed."""
    try:
        outputs.ask((*VISUAL_ASKS["visual-useralign"], "--budget", "1"))
    except ua.UseralignError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ASKS)
def test_whole_sessions(name: str) -> None:
    alike(outputs.ask(ASKS[name]), golden("asks.json")[name])


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize("name", VISUAL_ASKS)
def test_whole_sessions_with_pictures(name: str) -> None:
    alike(outputs.ask(VISUAL_ASKS[name]), golden("asks-visual.json")[name])


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_a_plan_has_the_same_bytes_from_any_number_of_processes(tmp_path: Path, jobs: int) -> None:
    path = outputs.run_plan("plan", tmp_path / "run", jobs)
    assert outputs.text(path) == (DATA / "plan-results.json").read_text(encoding="utf-8")


@pytest.mark.usefixtures("pictures")
def test_a_plan_with_pictures(tmp_path: Path) -> None:
    path = outputs.run_plan("plan-visual", tmp_path / "run", 1)
    assert outputs.text(path) == (DATA / "plan-visual-results.json").read_text(encoding="utf-8")


def test_a_reproduction_has_the_same_bytes(tmp_path: Path) -> None:
    here = outputs.reproduce("large-pool", tmp_path)
    name = "runs/large-pool-1/results.json"
    made = [json.loads(value[name])["embedders"] for value in (here, golden("reproduce.json"))]
    if made[0] != made[1]:
        pytest.skip(f"the default embedder is another here: {made[0]}")
    assert here == golden("reproduce.json")


@pytest.mark.soak
def test_a_whole_part_of_the_evaluation_has_the_same_bytes(tmp_path: Path) -> None:
    assert outputs.reproduce("food2d", tmp_path) == outputs.packed("reproduce-food2d.json.xz")


def test_a_comparison_of_methods_has_the_same_bytes(tmp_path: Path) -> None:
    """The golden one is from one process."""
    outputs.bench(tmp_path, 2)
    assert outputs.texts(tmp_path) == golden("bench.json")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("golden")
    with outputs.serving(f"sqlite:///{folder / 'golden.db'}") as where:
        yield where


def test_the_description_of_the_http_api(address: str) -> None:
    assert outputs.served(f"{address}/openapi.json") == golden("openapi.json")
