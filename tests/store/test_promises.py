"""What the store promises, on both databases."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import func, select

from useralign.errors import ConflictError, NotFoundError
from useralign.pool import Pool
from useralign.store import Interactions, Screen, Store, UserResponse, open_store
from useralign.store.schema import steps

LEFT, RIGHT = UserResponse("choice", position=0), UserResponse("choice", position=1)


@pytest.fixture
def first(store: Store) -> Screen:
    pool = Pool("Which?", ["plain", "hot", "sweet", "sour"], np.eye(4))
    return Interactions(store).create(store.pools.add(pool, "one"), "one", {"seed": 1})


def count(store: Store) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(steps)).scalar_one())


def test_a_transaction_that_fails_leaves_nothing(store: Store, first: Screen) -> None:
    with contextlib.suppress(ZeroDivisionError), store.writing() as connection:
        connection.execute(steps.delete())
        _ = 1 / 0
    assert count(store) == 1


def test_one_answer_eight_times_at_once_is_one(store: Store, first: Screen, store_url: str) -> None:
    live = Interactions(store)

    def click(response: UserResponse) -> Screen:
        return live.open(first.session_id, "one").answer(0, response)

    with ThreadPoolExecutor(8) as threads:
        screens = set(threads.map(click, [LEFT] * 8))
    assert len(screens) == 1
    with pytest.raises(ConflictError):
        click(RIGHT)
    other = open_store(store_url)
    with contextlib.closing(other):
        assert Interactions(other).open(first.session_id, "one").screen == screens.pop()


def test_strangers_see_nothing(store: Store, first: Screen) -> None:
    live = Interactions(store)
    for call, name in ((live.open, first.session_id), (store.pools.get, first.pool_id)):
        with pytest.raises(NotFoundError):
            call(name, "two")


def test_who_is_forgotten_leaves_nothing(store: Store, first: Screen, store_url: str) -> None:
    Interactions(store).open(first.session_id, "one").answer(0, LEFT)
    store.persons.forget("one")
    other = open_store(store_url)
    with contextlib.closing(other):
        assert count(other) == 0
