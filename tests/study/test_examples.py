"""The example studies, from the file to the table, with simulated people on the real pages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from useralign.errors import OptionError
from useralign.store import Store, digest, open_store, studies
from useralign.study import Design, Studies, Study, read_design, results
from useralign.study.export import dataset_rows
from useralign.study.simulate import Behaviour, Crowd, run
from useralign.web.rehearsal import serving

EXAMPLES = Path(__file__).parents[2] / "examples" / "studies"
SMALL: dict[str, Any] = {
    "name": "food64d",
    "questions": ["food-01"],
    "budget": 3,
    "checkpoints": [1, 3],
}


def load(name: str, **changes: Any) -> Design:
    """Return an example whose people come by a plain link."""
    return read_design(EXAMPLES / name / "study.toml").changed(recruitment={}, **changes)


def test_workers_of_a_platform_do_not_come_by_a_link() -> None:
    design = read_design(EXAMPLES / "paper" / "study.toml")
    with pytest.raises(OptionError, match="takes workers of mturk alone"):
        Crowd("http://127.0.0.1:9", design, Behaviour(), participants=1)


def check_example(design: Design, url: str, people: int, *, concurrency: int) -> None:
    """Check that cells are balanced, nothing is lost, and every export has every answer."""
    store = open_store(url)
    study = Studies(store).add(design)
    behaviour = Behaviour(drop_out=0.2, double=0.1)
    with serving(url) as address:
        crowd = Crowd(
            address, design, behaviour, participants=people, concurrency=concurrency, seed=11
        )
        report = run(crowd, store)
    print(f"\n{design.slug}: {report}")  # noqa: T201 - the figures of a soak
    assert report.troubles == {}
    assert (report.missing, report.different, report.extra) == (0, 0, 0)
    assert report.failed == 0
    state = results.status(store, study, time.time())
    finished = [cell.finished for cell in state.cells]
    assert sum(finished) == report.finished >= people
    assert max(finished) - min(finished) <= 1 + people // 100
    ways = {log.path for log in crowd.logs if log.end == "finished"}
    _check_data(store, study, [digest(path.rsplit("/", 1)[-1]) for path in ways])
    store.close()


def _check_data(store: Store, study: Study, finished: list[str]) -> None:
    """Check that who finished has an answer to every required field, and a time for every stage."""
    required = {(p.id, f.id) for p in study.design.pages for f in p.fields if f.required}
    with studies.reading(store, study.slug) as records:
        times = records.stage_times(finished)
        for who in finished:
            kept = {(a.page, a.field): a.value for a in records.page_answers(who)}
            assert required <= kept.keys()
            assert kept["_", "device"] == "desktop"
            assert len(times[who]) > len(study.design.pages)
    rows = list(dataset_rows(store, study, "answers"))
    assert {row["participant"] for row in rows} >= {f"p-{who[:12]}" for who in finished}
    people = list(dataset_rows(store, study, "participants"))
    if len(people) > 40:
        assert {row["language"] for row in people} == set(study.design.languages)
    outcomes = results.outcomes(store, study)
    assert all(outcome.count for outcome in outcomes)


# The paper's study in small is in test_simulate, too.
@pytest.mark.parametrize(
    "name",
    ["texts", *(pytest.param(name, marks=pytest.mark.soak) for name in ("pictures", "paper"))],
)
def test_a_few_people(name: str, sqlite_copy: str) -> None:
    small = {"domains": [SMALL], "conditions": ["without-persona"]} if name == "paper" else {}
    people = 6
    design = load(name, participants=people, active_minutes=0.2, **small)
    check_example(design, sqlite_copy, people, concurrency=4)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["texts", "pictures", "paper"])
def test_200_people(name: str, store_url: str) -> None:
    people = 200 if name != "texts" else 201  # three cells
    design = load(name, participants=people, active_minutes=1.0)
    check_example(design, store_url, people, concurrency=60)
