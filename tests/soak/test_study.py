"""The paper's study with 960 simulated people on real servers, and an export of 100,000 answers."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import insert, select

from tests.study.conftest import Walker, small_design
from tests.study.test_simulate import check_a_crowd
from useralign.store import Store, open_store
from useralign.store.schema import matchups, participants, sessions, stages, steps
from useralign.study import Design, ParticipantFlow, Studies, parse_design, results, template
from useralign.study.export import COLUMNS, FORMATS, export, read_rows
from useralign.study.simulate import Behaviour, Crowd, CrowdReport, run
from useralign.web.rehearsal import serving


def simulated(url: str, people: int, behaviour: Behaviour) -> tuple[CrowdReport, list[int], float]:
    """Run a study; return what was measured, the finished of each cell, and the left share."""
    store = open_store(url)
    changed = {"participants": people, "active_minutes": 1.0}
    design = Design.from_dict(parse_design(template()).to_dict() | changed)
    study = Studies(store).add(design)
    with serving(url) as address:
        report = run(Crowd(address, design, behaviour, participants=people, concurrency=200), store)
    state = results.status(store, study, time.time())
    outcomes = results.outcomes(store, study)
    store.close()
    print(f"\n{report}\n{results.table(design, outcomes).to_markdown()}")
    return report, [cell.finished for cell in state.cells], state.selection_left or 0.0


@pytest.mark.soak
@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_960_people(store_url: str, lost: float) -> None:
    report, finished, left = simulated(store_url, 960, Behaviour(lost=lost))
    assert report.troubles == {}
    assert (report.missing, report.different, report.extra) == (0, 0, 0)
    assert (report.finished, report.failed) == (sum(finished), 0)
    assert min(finished) >= 120
    assert max(finished) - min(finished) <= 2
    assert abs(left - 0.5) <= 0.03


@pytest.mark.soak
def test_with_lost_requests_and_drop_outs(store_url: str) -> None:
    check_a_crowd(store_url, people=24, drop_out=0.25)


def copies(store: Store, first: int, last: int) -> None:
    """Copy the finished participant of a store: one for each number."""
    with store.writing() as connection:
        for table in (sessions, participants, steps, stages, matchups):
            rows = [dict(row._mapping) for row in connection.execute(select(table))]
            kept = [row for row in rows if not any(str(v).startswith("copy") for v in row.values())]
            copied = [_copy(row, number) for number in range(first, last + 1) for row in kept]
            for start in range(0, len(copied), 5000):
                connection.execute(insert(table), copied[start : start + 5000])


def _copy(row: dict[str, Any], number: int) -> dict[str, Any]:
    name = f"copy{number:060x}"
    names = ("id", "session_id", "participant_id", "owner", "code")
    changed: dict[str, Any] = {key: name for key in names if key in row}
    return row | changed | ({"number": number} if "code" in row else {})


@pytest.mark.soak
def test_an_export_of_100_000_answers_needs_no_more_memory(store: Store, tmp_path: Path) -> None:
    flow = ParticipantFlow(store, rng=Random(1))
    walker = Walker(flow, flow.studies.add(small_design()))
    walker.finish(walker.enter())
    peaks: dict[str, list[float]] = {form: [] for form in FORMATS}
    made = 1
    for people in (1_250, 12_500):
        copies(store, made + 1, people)
        made = people
        for form in FORMATS:
            tracemalloc.start()
            files = export(store, walker.study, tmp_path, form, datasets=tuple(COLUMNS))
            peaks[form].append(tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
            assert sum(1 for _ in read_rows(files[0], "answers")) == 8 * people
    print(f"\npeak MB with 10,000 and with 100,000 answers: {peaks}")
    for small, large in peaks.values():
        assert large < 1.5 * small + 4
