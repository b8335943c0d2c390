"""Pools that grow in the database: idempotent, in one transaction, nothing lost or doubled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.store.test_interactions import ME, count, failing, left
from useralign import Candidate, Pool
from useralign.errors import ConflictError, NotFoundError, PoolError
from useralign.store import Interactions, Screen, Store, UserResponse, open_store
from useralign.store.schema import pools, sessions, steps


@pytest.fixture
def pool() -> Pool:
    rows = np.random.default_rng(5).normal(size=(8, 6))
    return Pool("Which?", [f"old {k}" for k in range(8)], rows, embedder="none")


@pytest.fixture
def live(store: Store) -> Interactions:
    return Interactions(store)


@pytest.fixture
def screen(store: Store, live: Interactions, pool: Pool) -> Screen:
    begun = live.create(store.pools.add(pool), ME, {"seed": 3, "budget": 12, "epsilon": None})
    return left(live, left(live, begun))


def larger(pool: Pool, number: int = 3, seed: int = 0) -> Pool:
    rows = np.random.default_rng([7, seed]).normal(size=(number, pool.dimension))
    start = len(pool)
    new = [Candidate(f"new {seed} {k}", id=f"n{start + k}", source="grown") for k in range(number)]
    return pool.extended(new, rows)


def grow(live: Interactions, screen: Screen, pool: Pool) -> Screen:
    return live.open(screen.session_id, ME).grow(screen.step, pool)


def test_it_goes_on_as_a_session_would(live: Interactions, screen: Screen, pool: Pool) -> None:
    session = live.open(screen.session_id, ME).session
    grown = larger(pool)
    session.extend(list(grown)[8:], grown.raw_features[8:])
    screen = grow(live, screen, grown)
    assert (screen.step, screen.cost) == (3, 2)
    for _ in range(3):
        pair = session.ask()
        assert pair is not None
        assert set(screen.candidates) == {pair.first.index, pair.second.index}
        session.tell(screen.candidates[0])
        screen = left(live, screen)
        assert screen.bound == pytest.approx(session.bound)
    rebuilt = live.open(screen.session_id, ME).session
    assert rebuilt.answers == session.answers
    assert [c.to_dict() for c in rebuilt.pool] == [c.to_dict() for c in session.pool]
    assert np.isfinite(screen.bound)


def test_another_process_sees_it(
    live: Interactions, screen: Screen, pool: Pool, store_url: str
) -> None:
    screen = left(live, grow(live, screen, larger(pool)))
    other = open_store(store_url)
    assert Interactions(other).open(screen.session_id, ME).screen == screen
    assert len(Interactions(other).open(screen.session_id, ME).session.pool) == 11
    other.close()


def test_the_same_growth_twice_is_one(
    live: Interactions, screen: Screen, store: Store, pool: Pool
) -> None:
    following = grow(live, screen, larger(pool))
    assert grow(live, screen, larger(pool)) == following
    assert count(store, steps) == 4
    assert count(store, pools) == 2
    with pytest.raises(ConflictError, match="answered already"):
        grow(live, screen, larger(pool, seed=1))
    with pytest.raises(ConflictError, match="answered already"):
        left(live, screen)
    with pytest.raises(ConflictError, match="not shown yet"):
        live.open(screen.session_id, ME).grow(9, larger(pool))


def test_twenty_at_once(live: Interactions, screen: Screen, store: Store, pool: Pool) -> None:
    grown = larger(pool)
    with ThreadPoolExecutor(20) as threads:
        replies = list(threads.map(lambda _: grow(live, screen, grown), range(20)))
    assert len(set(replies)) == 1
    assert count(store, steps) == 4
    assert count(store, pools) == 2


def test_growth_against_an_answer(
    live: Interactions, screen: Screen, store: Store, pool: Pool
) -> None:
    """One of the two is recorded; the other finds that out."""
    grown = larger(pool)

    def act(number: int) -> Screen | None:
        try:
            return grow(live, screen, grown) if number % 2 else left(live, screen)
        except ConflictError:
            return None

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(act, range(8)))
    assert len({reply for reply in replies if reply}) == 1
    assert replies.count(None) == 4
    assert count(store, steps) == 4
    size = len(live.open(screen.session_id, ME).session.pool)
    assert count(store, pools) == (2 if size == 11 else 1)


def test_again_and_undo(live: Interactions, screen: Screen, pool: Pool) -> None:
    once = larger(pool)
    screen = left(live, grow(live, screen, once))
    screen = grow(live, screen, larger(once, seed=1))
    for _ in range(3):
        screen = live.open(screen.session_id, ME).answer(screen.step, UserResponse("undo"))
    session = live.open(screen.session_id, ME).session
    assert (screen.cost, session.cost, len(session.pool)) == (0, 0, 14)
    while not screen.finished:
        screen = left(live, screen)
    assert live.open(screen.session_id, ME).session.cost == 12


@pytest.mark.parametrize("what", ["fewer", "moved", "changed", "features", "question", "twice"])
def test_what_is_no_growth(
    what: str, live: Interactions, screen: Screen, store: Store, pool: Pool
) -> None:
    candidates, rows = list(larger(pool)), larger(pool).raw_features.copy()
    question = pool.question
    if what == "fewer":
        candidates, rows = candidates[:7], rows[:7]
    elif what == "moved":
        candidates[0], candidates[9] = candidates[9], candidates[0]
    elif what == "changed":
        candidates[2] = Candidate("another text")
    elif what == "features":
        rows[3] += 1.0
    elif what == "question":
        question = "Another?"
    else:
        candidates[9] = Candidate("one more", id="n8")
    with pytest.raises(PoolError):
        grow(live, screen, Pool(question, candidates, rows, embedder="none"))
    assert live.open(screen.session_id, ME).screen == screen
    assert count(store, pools) == 1


def test_somebody_elses(live: Interactions, screen: Screen, pool: Pool) -> None:
    with pytest.raises(NotFoundError):
        live.open(screen.session_id, "you").grow(screen.step, larger(pool))
    grown = grow(live, screen, larger(pool))
    with pytest.raises(NotFoundError):
        live.create(grown.pool_id, "you", {})


def test_a_fault_at_any_statement_leaves_nothing_half(
    live: Interactions, screen: Screen, store: Store, pool: Pool
) -> None:
    grown, failed = larger(pool), 0
    for at in range(1, 40):
        with failing(store, at):
            try:
                following = grow(live, screen, grown)
            except OSError:
                failed += 1
                following = None
        if following is not None:
            break
        assert live.open(screen.session_id, ME).screen == screen
        assert (count(store, steps), count(store, pools)) == (3, 1)
    assert failed >= 5
    assert (count(store, steps), count(store, pools)) == (4, 2)


def test_forgetting_takes_the_grown_pools_along(
    live: Interactions, screen: Screen, store: Store, pool: Pool
) -> None:
    once = larger(pool)
    first = grow(live, screen, once)
    grow(live, first, larger(once, seed=1))
    begun = live.create(first.pool_id, ME, {})
    live.forget(screen.session_id, ME)
    assert count(store, sessions) == 1
    assert count(store, pools) == 2  # the first, and the one that the other session began with
    assert live.open(begun.session_id, ME).screen == begun


def test_an_equal_pool_is_not_the_grown_one(
    live: Interactions, screen: Screen, store: Store, pool: Pool
) -> None:
    grown = grow(live, screen, larger(pool))
    assert store.pools.add(larger(pool), owner=ME) != grown.pool_id


def test_growth_without_a_new_candidate_is_recorded(
    live: Interactions, screen: Screen, pool: Pool
) -> None:
    """A model that failed is on record in the pool's meta, so that it is not asked at once."""
    same = Pool.from_dict(pool.to_dict() | {"meta": {"growth": {"asked": 4}}})
    screen = grow(live, screen, same)
    assert live.open(screen.session_id, ME).session.pool.meta == {"growth": {"asked": 4}}


def test_pictures(live: Interactions, store: Store, tmp_path: Path) -> None:
    def picture(number: int) -> Candidate:
        path = tmp_path / f"{number}.png"
        Image.new("RGB", (8, 8), (40 * number, 0, 0)).save(path)
        return Candidate(f"scene {number}", image=str(path), id=f"p{number}")

    rows = np.random.default_rng(2).normal(size=(6, 4))
    pool_id = store.pools.add(Pool("Draw.", [picture(k) for k in range(4)], rows[:4]))
    screen = live.create(pool_id, ME, {"seed": 1})
    kept = live.open(screen.session_id, ME).session.pool
    screen = grow(live, screen, kept.extended([picture(4), picture(5)], rows[4:]))
    session = live.open(screen.session_id, ME).session
    assert all(c.image is None for c in session.pool)
    shades = [store.media.get(c.meta["media"], ME).id for c in session.pool]
    assert len(set(shades)) == 6
