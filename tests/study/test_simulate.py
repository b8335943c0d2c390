"""Simulated people on real pages of a real server: everybody who stays finishes."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.commands import run as run_command
from tests.study.conftest import crowd_design, small_design
from useralign import domains
from useralign.cli.study import simulated_design
from useralign.errors import InputError
from useralign.store import open_store
from useralign.study import Studies, read_design, results, template
from useralign.study.material import shipped
from useralign.study.simulate import Behaviour, Crowd, CrowdReport, Taste, Tastes, run
from useralign.web.rehearsal import serving

SEED = 206  # with it four of the first twelve drop out, three of the first eight


def test_with_lost_requests_and_drop_outs(store_url: str) -> None:
    check_a_crowd(store_url, people=8, drop_out=0.3)


def check_a_crowd(store_url: str, people: int, drop_out: float) -> None:
    """Check that nothing is lost, and that places are balanced over the four cells."""
    store = open_store(store_url)
    source = "link" if store.sqlite else "mturk"
    made = small_design if source == "link" else crowd_design
    design = made(participants=people, active_minutes=0.05)
    study = Studies(store).add(design)
    behaviour = Behaviour(drop_out=drop_out, lost=0.2, double=0.2, reload=0.1)
    with serving(store_url) as url:
        crowd = Crowd(
            url, design, behaviour, participants=people, concurrency=12, source=source, seed=SEED
        )
        report = run(crowd, store)
    state = results.status(store, study, time.time())
    store.close()
    assert report.troubles == {}
    assert (report.missing, report.different, report.extra) == (0, 0, 0)
    assert report.failed == 0
    assert report.finished >= people
    assert report.left > 0
    finished = [cell.finished for cell in state.cells]
    assert sum(finished) == report.finished
    if source == "link":
        assert finished == [people // 4] * 4
    if source == "link":  # a platform's workers take back the one code that it knows
        codes = {log.code for log in crowd.logs if log.end == "finished"}
        assert len(codes) == report.finished


def test_a_check_of_attention_in_words_of_ones_own(sqlite_copy: str) -> None:
    store = open_store(sqlite_copy)
    words = {"check_choose": "Take **me**.", "check_other": "Not me."}
    design = small_design(
        participants=2, words=words, methods=["iidbest"], conditions=["with-persona"]
    )
    Studies(store).add(design)
    with serving(sqlite_copy) as url:
        behaviour = Behaviour(drop_out=0.0, inattentive=0.0)
        report = run(Crowd(url, design, behaviour, participants=2, concurrency=2), store)
    store.close()
    assert (report.finished, report.troubles) == (2, {})


def test_a_crowd_ends_when_no_more_like_them_are_wanted(sqlite_copy: str) -> None:
    store = open_store(sqlite_copy)
    field: dict[str, Any] = {"id": "color", "type": "choice", "text": "?"}
    field |= {"options": ["red", "blue"], "quota": {"red": 1, "blue": 1}}
    pages = [{"kind": "questionnaire", "fields": [field]}, {"kind": "task"}]
    codes = {"codes": {"quota-full": "N0"}}
    design = small_design(participants=4, pages=pages, recruitment=codes)
    study = Studies(store).add(design)
    with serving(sqlite_copy) as url:
        behaviour = Behaviour(drop_out=0.0)
        report = run(Crowd(url, design, behaviour, participants=4, concurrency=8), store)
    state = results.status(store, study, time.time())
    store.close()
    assert (report.finished, report.troubles) == (2, {})
    assert state.ends == {"quota-full": report.ended}


def test_people_keep_within_the_limits_of_every_field(sqlite_copy: str) -> None:
    limits: list[dict[str, Any]] = [
        {"type": "number", "max": 12},
        {"type": "number", "min": 0.2, "max": 0.8},
        {"type": "number", "min": -5, "max": -5, "whole": True},
        {"type": "text", "max": 2},
        {"type": "text", "min": 100},
    ]
    fields = [{"id": f"f{n}", "text": "?", **limit} for n, limit in enumerate(limits)]
    report = _filled(sqlite_copy, fields, people=2)
    assert report.finished >= 2
    assert (report.failed, report.troubles) == (0, {})


def test_a_crowd_ends_where_nobody_can_fill_a_page(sqlite_copy: str) -> None:
    field = {"id": "f", "text": "?", "type": "number", "min": 0.2, "max": 0.8, "whole": True}
    report = _filled(sqlite_copy, [field], people=1)
    assert report.finished == 0
    assert report.troubles == {"gave up: an answer was answered with 422": report.failed}


def _filled(url: str, fields: list[dict[str, Any]], people: int) -> CrowdReport:
    """Send people to a study with a page of fields."""
    pages = [{"kind": "questionnaire", "fields": fields}, {"kind": "task"}]
    store = open_store(url)
    design = small_design(
        participants=120, methods=["iidbest"], conditions=["without-persona"], pages=pages
    )
    Studies(store).add(design)
    with serving(url) as address:
        behaviour = Behaviour(drop_out=0.0, careless=0.0)
        report = run(Crowd(address, design, behaviour, participants=people), store)
    store.close()
    return report


def test_quotas_keep_their_shares_in_a_simulation(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    quotas = '[[quotas]]\ndomain = "food64d"\nparticipants = 60\n'
    file.write_text(template() + quotas, encoding="utf-8")
    before = read_design(file)
    after = simulated_design(file, 100, "link", 60.0)
    assert before.quota == [60] * 4 + [120] * 4
    assert (after.quota, after.wanted, after.data) == ([9] * 4 + [17] * 4, 104, "simulated")


def test_sure_people_follow_the_ranking() -> None:
    question = domains.load("food64d").questions[0]
    persona = question.personas[0]
    tastes = Tastes([shipped(question)], Behaviour(noise=0.0))
    taste = tastes.draw(question.text, persona.name, Random(0))
    texts = {c.id: c.text for c in (*question.candidates, question.baseline)}
    best, worst = texts[persona.ranking[0]], texts[persona.ranking[-1]]
    assert taste.choose([best, worst], Random(0)) == 0
    assert taste.choose([worst, best], Random(0)) == 1


def test_people_without_a_persona_differ() -> None:
    question = domains.load("food64d").questions[0]
    tastes = Tastes([shipped(question)], Behaviour())
    drawn = [tastes.draw(question.text, None, Random(seed)) for seed in range(5)]
    favourites = {min(taste.ranks, key=lambda text: taste.ranks[text]) for taste in drawn}
    assert len(favourites) > 1
    assert drawn[0] == tastes.draw(question.text, None, Random(0))


def test_what_nobody_knows() -> None:
    tastes = Tastes([shipped(domains.load("food64d").questions[0])], Behaviour())
    with pytest.raises(InputError, match="query"):
        tastes.draw("What is this?", None, Random(0))
    with pytest.raises(InputError, match="persona"):
        tastes.draw(domains.load("food64d").questions[0].text, "Nobody", Random(0))
    with pytest.raises(InputError, match="options"):
        Taste({}, 0.0).choose(["a", "b"], Random(0))
    with pytest.raises(InputError, match="lost"):
        Behaviour(lost=1.0)


def test_a_server_that_is_not_there() -> None:
    for url in ("http://127.0.0.1:1", "http://127.0.0.1:99999"):
        result = run_command("study", "simulate", "--url", url, "--participants", "1")
        assert result.returncode == 1
        assert "no server answers" in result.stderr
