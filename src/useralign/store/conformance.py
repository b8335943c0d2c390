"""What a store promises, as a check that the author of a plug-in can run."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sqlalchemy import func, select

from useralign.errors import ConflictError, NotFoundError
from useralign.pool import Pool
from useralign.store.interactions import Interactions, Screen
from useralign.store.replay import Told
from useralign.store.schema import steps
from useralign.store.store import Store, open_store

_LEFT, _RIGHT = Told("choice", position=0), Told("choice", position=1)


def check(url: str) -> None:
    """Verify the contract of a store; see `useralign.testing.check_store`."""
    pool = Pool("Which?", ["plain", "hot", "sweet", "sour"], np.eye(4))
    store, again = open_store(url), open_store(url)
    try:
        pool_id = store.pools.add(pool, "one")
        first = Interactions(store).create(pool_id, "one", {"seed": 1})
        _check_rollback(store)
        second = _check_answers(store, first)
        seen = Interactions(again).screen(first.session_id, "one")
        _expect(seen == second, f"another connection sees {seen}, expected {second}")
        _check_strangers(store, first, pool_id)
        store.persons.forget("one")
        with again.reading() as connection:
            left = connection.execute(select(func.count()).select_from(steps)).scalar()
        _expect(left == 0, f"forgetting someone left {left} of their answers")
    finally:
        store.close()
        again.close()


def _check_answers(store: Store, first: Screen) -> Screen:
    live = Interactions(store)

    def click(told: Told) -> Screen:
        return live.answer(first.session_id, "one", 0, told)

    with ThreadPoolExecutor(8) as threads:
        replies = set(threads.map(click, [_LEFT] * 8))
    _expect(len(replies) == 1, f"one answer given eight times at once led to {replies}")
    try:
        click(_RIGHT)
    except ConflictError:
        return replies.pop()
    raise AssertionError("another answer to an answered step was taken; expected ConflictError")


def _check_strangers(store: Store, screen: Screen, pool_id: str) -> None:
    live = Interactions(store)
    for call, name in ((live.screen, screen.session_id), (store.pools.get, pool_id)):
        try:
            call(name, "two")
        except NotFoundError:
            continue
        raise AssertionError(f"{call.__name__} showed a stranger what is not theirs")


def _check_rollback(store: Store) -> None:
    with contextlib.suppress(ZeroDivisionError), store.writing() as connection:
        connection.execute(steps.delete())
        _ = 1 / 0
    with store.reading() as connection:
        kept = connection.execute(select(func.count()).select_from(steps)).scalar()
    _expect(kept == 1, f"after a transaction that failed there are {kept} rows, expected 1")


def _expect(held: bool, otherwise: str) -> None:
    if not held:
        raise AssertionError(otherwise)
