"""Taking part: one transaction a step, idempotent, resumable, the code at the very end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from sqlalchemy import event, func, select

from tests.study.conftest import Walker, small_design
from useralign import Session
from useralign.errors import AnswerError, ConflictError, NotFoundError
from useralign.store import Interactions, Store, digest, open_store, token
from useralign.store.schema import matchups, metadata, participants, stages, steps
from useralign.study import ParticipantFlow
from useralign.study.flow import INSTRUCTED, View, plan_matchups, select_candidates
from useralign.study.recruitment import Arrival


def rows(store: Store) -> dict[str, list[str]]:
    """Everything that studies write."""
    names = ("participants", "stages", "matchups", "sessions", "steps")
    with store.reading() as connection:
        return {
            name: sorted(repr(row) for row in connection.execute(select(metadata.tables[name])))
            for name in names
        }


def test_the_whole_way(walker: Walker, store: Store) -> None:
    who = walker.enter()
    seen: list[View] = []
    while (view := walker.look(who)).stage != "done":
        seen.append(view)
        assert view.participant.code is None
        walker.answer(who, len(seen) % 2)
    told = [(view.stage, view.number, view.total) for view in seen]
    assert told == [
        ("query", 0, 0),
        *[("comparisons", number, 4) for number in (1, 2, 3, 4)],
        *[("evaluation", number, 4) for number in (1, 2, 3, 4)],
    ]
    code = view.participant.code
    assert code is not None
    assert len(code) == 32  # 160 bits
    assert view.participant.finished is not None
    with store.reading() as connection:
        entered = connection.execute(select(stages.c.stage).order_by(stages.c.entered)).scalars()
        assert list(entered) == ["query", "comparisons", "evaluation", "done"]
        times = connection.execute(select(steps.c.milliseconds).where(steps.c.kind.is_not(None)))
        assert set(times.scalars()) == {1500}
        asked = connection.execute(select(matchups.c.asked, matchups.c.answered)).all()
    assert all(answered > asked_ for asked_, answered in asked)


def test_everything_may_be_sent_twice(walker: Walker, store: Store) -> None:
    who = walker.enter()
    walker.flow.begin("small", who)
    before = rows(store)
    walker.flow.begin("small", who)
    assert rows(store) == before
    while (view := walker.look(who)).stage != "done":
        sent = ("small", who, view.stage, view.step, 1)
        walker.flow.answer(*sent)
        once, after = rows(store), walker.look(who)
        walker.flow.answer(*sent)
        assert rows(store) == once
        assert walker.look(who) == after
        with pytest.raises(ConflictError):
            walker.flow.answer("small", who, view.stage, view.step, 0)
        assert rows(store) == once
    walker.flow.begin("small", who)
    assert walker.look(who).stage == "done"


def test_nothing_can_be_skipped(walker: Walker, store: Store) -> None:
    who = walker.enter()
    for stage in ("comparisons", "evaluation", "done", "nonsense"):
        with pytest.raises(ConflictError):
            walker.flow.answer("small", who, stage, 0, 0)
    walker.flow.begin("small", who)
    before = rows(store)
    for stage, step in (("comparisons", 1), ("comparisons", 99), ("evaluation", 0)):
        with pytest.raises(ConflictError):
            walker.flow.answer("small", who, stage, step, 0)
    with pytest.raises(AnswerError):
        walker.flow.answer("small", who, "comparisons", 0, 2)
    assert rows(store) == before
    while walker.look(who).stage == "comparisons":
        walker.answer(who)
    with pytest.raises(ConflictError):
        walker.flow.answer("small", who, "evaluation", 1, 0)


def test_twenty_at_once_count_once(walker: Walker, store: Store) -> None:
    who = walker.enter()

    def sent(function: Callable[..., None], *given: Any) -> None:
        with ThreadPoolExecutor(20) as threads:
            list(threads.map(lambda _: function(*given), range(20)))

    sent(walker.flow.begin, "small", who)
    while (view := walker.look(who)).stage != "done":
        sent(walker.flow.answer, "small", who, view.stage, view.step, 1)
    with store.reading() as connection:
        counts = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (participants, steps, matchups, stages)
        ]
    assert counts == [1, 5, 4, 4]  # the fifth step is the end


def test_a_restart_changes_no_page(store_url: str) -> None:
    def opened() -> tuple[Store, Walker]:
        store = open_store(store_url)
        flow = ParticipantFlow(store, rng=Random())
        return store, Walker(flow, flow.studies.add(small_design()))

    store, walker = opened()
    who = walker.enter()
    while (view := walker.look(who)).stage != "done":
        store.close()
        store, walker = opened()
        again = walker.look(who)
        assert (again.stage, again.step, again.options) == (view.stage, view.step, view.options)
        walker.answer(who)
    code = view.participant.code
    store.close()
    store, walker = opened()
    assert walker.look(who).participant.code == code
    store.close()


def test_nobody_sees_anothers_page(walker: Walker) -> None:
    who = walker.enter()
    for wrong in (token(), digest(who), who[:-1], ""):
        with pytest.raises(NotFoundError):
            walker.look(wrong)
    with pytest.raises(NotFoundError):
        walker.flow.look("another", who)


def test_codes_differ(walker: Walker) -> None:
    codes = {walker.finish(walker.enter()).participant.code for _ in range(6)}
    assert len(codes) == 6


def test_a_worker_has_one_place(walker: Walker, store: Store) -> None:
    details = {"PROLIFIC_PID": "abc", "STUDY_ID": "s", "SESSION_ID": "1"}
    arrival = Arrival("prolific", "abc", details)
    with ThreadPoolExecutor(8) as threads:
        tokens = list(threads.map(lambda _: walker.enter(arrival), range(8)))
    assert len(set(tokens)) == 1
    walker.finish(tokens[0])
    assert walker.enter(arrival) == tokens[0]
    assert walker.look(tokens[0]).stage == "done"
    other = Arrival("mturk", "abc", {"workerId": "abc"})
    assert walker.enter(other) != tokens[0]  # the same name elsewhere is somebody else
    with store.reading() as connection:
        kept = connection.execute(select(participants.c.worker)).scalars().all()
    assert len(set(kept)) == 2
    assert "abc" not in kept


def test_a_task_accepted_again_is_paid_under_its_new_id(walker: Walker) -> None:
    def arrival(assignment: str) -> Arrival:
        return Arrival("mturk", "w", {"workerId": "w", "assignmentId": assignment})

    who = walker.enter(arrival("first"))
    assert walker.enter(arrival("second")) == who
    assert walker.look(who).participant.recruitment["assignmentId"] == "second"


@contextmanager
def failing(store: Store, number: int) -> Iterator[list[str]]:
    """Have the n-th writing statement fail."""
    seen: list[str] = []

    def listen(*given: Any) -> None:
        if given[2].split()[0] in ("INSERT", "UPDATE", "DELETE"):
            seen.append(given[2])
            if len(seen) == number:
                raise RuntimeError("a fault")

    event.listen(store.engine, "before_cursor_execute", listen)
    try:
        yield seen
    finally:
        event.remove(store.engine, "before_cursor_execute", listen)


def test_a_fault_at_any_statement_leaves_nothing_half_done(walker: Walker, store: Store) -> None:
    who = walker.enter()
    faults = 0
    while walker.look(who).stage != "done":
        before, view = rows(store), walker.look(who)
        for number in range(1, 20):
            with failing(store, number) as seen:
                try:
                    walker.answer(who)
                except RuntimeError:
                    faults += 1
                else:
                    assert len(seen) == number - 1
                    break
            assert rows(store) == before
            assert walker.look(who) == view
    assert faults > 25
    with failing(store, 2), pytest.raises(RuntimeError):
        walker.enter()
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(participants)).scalar_one() == 1


def test_sides_and_orders_are_even() -> None:
    rng = Random(0)
    sides: Counter[tuple[str, str]] = Counter()
    first: Counter[str] = Counter()
    for _ in range(2000):
        plan = plan_matchups({"later": 1, "earlier": 1, "random": 2}, rng, attention=True)
        assert [matchup.number for matchup in plan] == [0, 1, 2, 3]
        assert {m.role: m.candidate for m in plan} == {
            "later": 1, "earlier": 1, "random": 2, "attention": INSTRUCTED,
        }  # fmt: skip
        assert sum(matchup.side == "left" for matchup in plan) == 2
        sides.update((matchup.role, matchup.side) for matchup in plan)
        first[plan[0].role] += 1
    assert all(abs(count - 1000) < 100 for count in sides.values())
    assert all(abs(count - 500) < 90 for count in first.values())


def test_three_matchups_are_as_even_as_they_can_be() -> None:
    rng = Random(1)
    for _ in range(200):
        plan = plan_matchups({"later": 1, "earlier": 2, "random": 3}, rng, attention=False)
        assert sum(matchup.side == "left" for matchup in plan) in (1, 2)


def test_selections_are_what_a_replay_recommends(walker: Walker, store: Store) -> None:
    rng = Random(3)
    for _ in range(4):
        who = walker.enter()
        done = walker.finish(who, lambda _: rng.randrange(2)).participant
        assert done.session_id
        session = Interactions(store).open(done.session_id, done.id).session
        state = session.to_dict()
        assert len(state["answers"]) == 4
        replayed = {
            role: Session.from_dict(
                session.pool, state | {"answers": state["answers"][:step], "asked": []}
            ).best.index
            for role, step in (("earlier", 2), ("later", 4))
        }
        with store.reading() as connection:
            mine = select(matchups).where(matchups.c.participant_id == done.id)
            chosen = {row.role: row.candidate for row in connection.execute(mine)}
        assert {role: chosen[role] for role in replayed} == replayed
        assert 0 <= chosen["random"] < len(session.pool)


def test_fewer_answers_than_a_checkpoint(walker: Walker, store: Store) -> None:
    asked = walker.study.question("food64d", "food-01")
    pool = store.pools.get(asked.pool_id)
    chosen = select_candidates([3, 5, 7], [2, 10], pool, Random(0))
    assert (chosen["earlier"], chosen["later"]) == (7, 7)
