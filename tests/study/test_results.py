"""Counts, times and win-rates from answers that are known."""

from __future__ import annotations

import math

import pytest
from sqlalchemy import select

from tests.study.conftest import Clock, Walker
from useralign.lab.metrics import mean_sem
from useralign.store import Store
from useralign.store.schema import matchups, participants
from useralign.store.studies import reading
from useralign.study import results
from useralign.study.flow import View


def selection(store: Store, view: View) -> tuple[str, int]:
    """The role of a matchup, and where its candidate stands."""
    with store.reading() as connection:
        row = connection.execute(
            select(matchups.c.role, matchups.c.side).where(
                matchups.c.participant_id == view.participant.id, matchups.c.number == view.step
            )
        ).one()
    return row.role, ("left", "right").index(row.side)


def test_win_rates_are_those_of_the_answers(walker: Walker, store: Store) -> None:
    """The later selection always wins, the earlier never, the random one every second time."""
    flips = iter([0, 1] * 40)
    drawn: dict[tuple[str, str], list[float]] = {}

    def choose(view: View) -> int:
        if view.stage != "evaluation":
            return 0
        role, place = selection(store, view)
        if role == "random":
            win = next(flips)
            given = view.participant.assignment
            drawn.setdefault((given.domain, given.condition), []).append(float(win))
            return place if win else 1 - place
        return 1 - place if role == "earlier" else place

    for _ in range(12):
        walker.finish(walker.enter(), choose)
    walker.answer(walker.enter())  # one who has only begun does not count
    outcomes = results.outcomes(store, walker.study)
    state = results.status(store, walker.study, 0.0)
    with reading(store, "small") as records:
        assert len(records.finish_times()) == 12
    for outcome in outcomes:
        assert outcome.rate is not None
        if outcome.method == "random":
            assert outcome.count == 6
            expected = mean_sem(drawn[outcome.domain, outcome.condition])
            assert outcome.rate.mean == pytest.approx(100 * expected.mean)
            assert outcome.rate.sem == pytest.approx(100 * expected.sem)
        else:
            assert outcome.count == 3
            assert outcome.rate.mean == (100.0 if outcome.step == 4 else 0.0)
    assert state.total("finished") == 12
    assert state.total("attentive") == 12
    assert state.total("inattentive") == 0
    assert state.seconds["all"] == pytest.approx(
        sum(state.seconds[s] for s in ("query", "comparisons", "evaluation")), rel=0.2
    )


def test_the_papers_numbers_stand_beside(walker: Walker, store: Store) -> None:
    outcomes = results.outcomes(store, walker.study)
    assert all(outcome.rate is None for outcome in outcomes)
    table = results.table(walker.study.design, outcomes)
    assert table.columns[1] == "food64d with-persona t=2"
    outcome = results.Outcome("useralign", "food64d", "with-persona", 10, 107, 120, None)
    assert outcome.rate is not None
    assert (round(outcome.rate.mean, 1), round(outcome.rate.sem, 1)) == (89.2, 2.8)  # the paper's


def test_arms_with_checkpoints_of_their_own(walker: Walker, store: Store) -> None:
    arms = ["useralign", {"name": "few", "method": "frugal", "checkpoints": [1, 3]}]
    design = walker.study.design.changed(methods=arms)
    table = results.table(design, results.outcomes(store, walker.study))
    assert table.columns[1:3] == (
        "food64d with-persona earlier",
        "food64d with-persona later",
    )
    assert [row[0] for row in table.rows] == ["Random", "UserAlign", "few, t=1 and 3"]


def test_the_order_of_methods(walker: Walker) -> None:
    assert results.methods_of(walker.study.design) == ["random", "iidbest", "useralign"]


def test_who_is_active_and_who_dropped_out(walker: Walker, clock: Clock, store: Store) -> None:
    people = [walker.enter() for _ in range(4)]
    walker.finish(people[0])
    clock.now += walker.study.design.window
    walker.answer(people[1])
    state = results.status(store, walker.study, clock.now)
    with store.reading() as connection:
        row = connection.execute(select(participants.c.cell)).first()
    assert row is not None
    assert [state.total(name) for name in ("finished", "active", "dropped")] == [1, 1, 2]
    assert state.to_dict()["dropped"] == 2
    walker.flow.leave(walker.study.slug, people[2], "returned")
    ends = results.status(store, walker.study, clock.now).ends
    assert ends == {"returned": 1, "left": 1}
    assert not math.isnan(state.seconds["all"])
