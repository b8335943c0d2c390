"""Later versions compute what version 0.1.0 did, and read what it wrote."""

from __future__ import annotations

import json
import lzma
import tomllib
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import useralign as ua
from tests.golden import outputs
from tests.golden.outputs import ASKS, DATA, VISUAL_ASKS, alike, said
from tests.study.conftest import Walker
from useralign.store import open_store
from useralign.store.studies import reading
from useralign.study import ParticipantFlow


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


@pytest.mark.parametrize("name", ["useralign", "frugal", "ended", "every"])
def test_saved_sessions_and_pools_go_on(name: str) -> None:
    alike(outputs.session(DATA / "saved", name), golden("saved/sessions.json")[name])


def test_kept_sessions_and_memories_go_on(tmp_path: Path) -> None:
    alike(outputs.command_outputs(tmp_path), golden("saved/commands.json"))


def test_study_files(tmp_path: Path) -> None:
    where = ("--database", f"sqlite:///{tmp_path / 'new.db'}")
    added = said("study", "add", str(DATA / "saved" / "study.toml"), *where)
    assert added == {"slug": "small", "cells": 4, "places": 2}
    said("study", "init", str(tmp_path / "study.toml"))
    here, paper = (
        tomllib.loads(path.read_text(encoding="utf-8"))
        for path in (tmp_path / "study.toml", DATA / "saved" / "study-paper.toml")
    )
    assert here == paper


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a copy of the database that version 0.1.0 wrote."""
    path = tmp_path_factory.mktemp("golden") / "golden.db"
    path.write_bytes(lzma.decompress((DATA / "golden.db.xz").read_bytes()))
    return f"sqlite:///{path}"


def test_a_study_half_way(database: str, tmp_path: Path) -> None:
    """Later versions may add columns, tables and figures; what there was is as it was."""
    here = outputs.study(golden("database.json")["slug"], database, tmp_path)
    there = golden("database.json")["study"]
    for name, text in there.pop("files").items():
        if not name.endswith("codebook.md"):  # which is prose
            alike(outputs.rows(here["files"][name]), outputs.rows(text), name, more=True)
    alike(here, there, more=True)


def test_participants_half_way_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "golden.db"
    path.write_bytes(lzma.decompress((DATA / "golden.db.xz").read_bytes()))
    slug = golden("database.json")["slug"]
    # Their tokens are known to nobody; let the hashes stand for them.
    monkeypatch.setattr("useralign.study.flow.digest", str)
    with closing(open_store(f"sqlite:///{path}")) as store:
        flow = ParticipantFlow(store)
        walker = Walker(flow, flow.studies.get(slug))
        with reading(store, slug) as records:
            people = [who for chunk in records.participants() for who in chunk]
        stages = {who.stage for who in people}
        assert {"comparisons", "done"} <= stages
        for who in people:
            assert (who.outcome == "completed") == (who.stage == "done")
            assert walker.finish(who.id).participant.code


@pytest.fixture(scope="module")
def address(database: str) -> Iterator[str]:
    with outputs.serving(database) as where:
        yield where


def test_the_description_of_the_http_api(address: str) -> None:
    assert outputs.served(f"{address}/openapi.json") == golden("openapi.json")


def test_stored_sessions_go_on_over_http(address: str) -> None:
    key = golden("database.json")["key"]
    for name, state in golden("database.json")["sessions"].items():
        alike(_as_before(outputs.stored(address, key, name), state), state)


def _as_before(reply: Any, golden: Any) -> Any:
    """Return a reply without the fields and kinds added since; none may be missing."""
    if isinstance(golden, dict) and isinstance(reply, dict):
        state = {key: _as_before(reply[key], value) for key, value in golden.items()}
        if "takes" in state:
            state["takes"] = [kind for kind in reply["takes"] if kind in golden["takes"]]
        return state
    if isinstance(golden, list) and isinstance(reply, list) and len(reply) == len(golden):
        return [_as_before(one, other) for one, other in zip(reply, golden, strict=True)]
    return reply
