"""What stage 3 compares, in which order, on which side."""

from __future__ import annotations

from collections import Counter
from random import Random

from sqlalchemy import select

from tests.study.conftest import Walker
from useralign import Session
from useralign.store import Interactions, Store
from useralign.store.schema import matchups
from useralign.study import flow


def test_sides_and_orders_are_even() -> None:
    rng = Random(0)
    sides: Counter[tuple[str, str]] = Counter()
    first: Counter[str] = Counter()
    for _ in range(2000):
        plan = flow.plan_matchups({"later": 1, "earlier": 1, "random": 2}, rng, attention=True)
        assert [matchup.number for matchup in plan] == [0, 1, 2, 3]
        assert {m.role: m.candidate for m in plan} == {
            "later": 1, "earlier": 1, "random": 2, "attention": flow.INSTRUCTED,
        }  # fmt: skip
        assert sum(matchup.side == "left" for matchup in plan) == 2
        sides.update((matchup.role, matchup.side) for matchup in plan)
        first[plan[0].role] += 1
    assert all(abs(count - 1000) < 100 for count in sides.values())
    assert all(abs(count - 500) < 90 for count in first.values())


def test_three_matchups_are_as_even_as_they_can_be() -> None:
    rng = Random(1)
    for _ in range(200):
        plan = flow.plan_matchups({"later": 1, "earlier": 2, "random": 3}, rng, attention=False)
        assert sum(matchup.side == "left" for matchup in plan) in (1, 2)


def test_selections_are_what_a_replay_recommends(walker: Walker, store: Store) -> None:
    rng = Random(3)
    for _ in range(4):
        who = walker.enter()
        done = walker.finish(who, lambda _: rng.randrange(2)).participant
        assert done.session_id
        session = Interactions(store).session(done.session_id, done.id)
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
    asked = walker.study.asked("food64d", "food-01")
    pool = store.pools.get(asked.pool_id)
    chosen = flow.selections([3, 5, 7], [2, 10], pool, Random(0))
    assert (chosen["earlier"], chosen["later"]) == (7, 7)
