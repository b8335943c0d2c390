"""Sessions in the database: idempotent, resumable, never half written."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, func, select

from useralign import Pool, Session
from useralign.errors import AnswerError, ConflictError, NotFoundError, SessionStateError
from useralign.store import Interactions, Screen, Store, UserResponse, open_store
from useralign.store.schema import sessions, steps

ME = "me"


@pytest.fixture
def live(store: Store) -> Interactions:
    return Interactions(store)


@pytest.fixture
def screen(store: Store, live: Interactions, pool: Pool) -> Screen:
    return live.create(store.pools.add(pool), ME, {"seed": 3})


def left(live: Interactions, screen: Screen) -> Screen:
    return live.open(screen.session_id, ME).answer(screen.step, UserResponse("choice", position=0))


def count(store: Store, table: Any) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def test_it_asks_what_a_session_would(live: Interactions, screen: Screen, pool: Pool) -> None:
    session = Session(pool, seed=3)
    while not screen.finished:
        pair = session.ask()
        assert pair is not None
        assert {pair.first.index, pair.second.index} == set(screen.candidates)
        session.tell(screen.candidates[0])
        screen = left(live, screen)
        assert (screen.best, screen.cost) == (session.best.index, session.cost)
        assert screen.bound == pytest.approx(session.bound)
    assert screen.finished == session.stop_reason
    assert screen.candidates == ()
    assert live.open(screen.session_id, ME).session.answers == session.answers


def test_another_process_sees_the_same_screen(
    live: Interactions, screen: Screen, store_url: str
) -> None:
    for _ in range(3):
        screen = left(live, screen)
        other = open_store(store_url)
        assert Interactions(other).open(screen.session_id, ME).screen == screen
        other.close()


def test_the_same_answer_twice_is_one(live: Interactions, screen: Screen, store: Store) -> None:
    following = left(live, screen)
    assert left(live, screen) == following
    assert count(store, steps) == 2


def test_another_answer_to_an_answered_step(live: Interactions, screen: Screen) -> None:
    following = left(live, screen)
    with pytest.raises(ConflictError, match="answered already"):
        live.open(screen.session_id, ME).answer(screen.step, UserResponse("choice", position=1))
    with pytest.raises(ConflictError, match="not shown yet"):
        live.open(screen.session_id, ME).answer(7, UserResponse("choice", position=1))
    assert live.open(screen.session_id, ME).screen == following


def test_twenty_at_once(live: Interactions, screen: Screen, store: Store) -> None:
    with ThreadPoolExecutor(20) as threads:
        replies = list(threads.map(lambda _: left(live, screen), range(20)))
    assert len(set(replies)) == 1
    assert count(store, steps) == 2


def test_two_different_at_once(live: Interactions, screen: Screen, store: Store) -> None:
    def click(position: int) -> Screen | None:
        try:
            response = UserResponse("choice", position=position % 2)
            return live.open(screen.session_id, ME).answer(0, response)
        except ConflictError:
            return None

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(click, range(8)))
    assert len({reply for reply in replies if reply}) == 1
    assert replies.count(None) == 4
    assert count(store, steps) == 2


def test_somebody_elses(live: Interactions, screen: Screen) -> None:
    for call in (live.open, live.forget, live.set_page):
        with pytest.raises(NotFoundError):
            call(screen.session_id, "you")


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (UserResponse("choice"), AnswerError),
        (UserResponse("choice", position=2), AnswerError),
        (UserResponse("ranking", order=(0, 0)), AnswerError),
        (UserResponse("nonsense"), AnswerError),
        (UserResponse("undo"), SessionStateError),
    ],
)
def test_what_does_not_fit_changes_nothing(
    response: UserResponse, error: type[Exception], live: Interactions, screen: Screen, store: Store
) -> None:
    with pytest.raises(error):
        live.open(screen.session_id, ME).answer(0, response)
    assert live.open(screen.session_id, ME).screen == screen
    assert count(store, steps) == 1


def test_every_kind_of_answer_is_replayed(live: Interactions, screen: Screen) -> None:
    for response in (
        UserResponse("choice", position=1),
        UserResponse("equal"),
        UserResponse("skip"),
        UserResponse("ranking", order=(1, 0)),
        UserResponse("neither"),
        UserResponse("undo"),
        UserResponse("stop"),
        UserResponse("undo"),
        UserResponse("choice", position=0),
    ):
        screen = live.open(screen.session_id, ME).answer(screen.step, response)
    kinds = [answer.kind for answer in live.open(screen.session_id, ME).session.answers]
    assert kinds == ["choice", "equal", "skip", "ranking", "choice"]


def test_undo_shows_the_pair_again(live: Interactions, screen: Screen) -> None:
    after = left(live, screen)
    back = live.open(screen.session_id, ME).answer(after.step, UserResponse("undo"))
    assert set(back.candidates) == set(screen.candidates)
    assert back.step == 2


def test_stopping_and_going_on(live: Interactions, screen: Screen) -> None:
    stopped = live.open(screen.session_id, ME).answer(0, UserResponse("stop"))
    assert (stopped.finished, stopped.candidates) == ("stopped", ())
    assert live.open(screen.session_id, ME).answer(1, UserResponse("undo")).finished is None


def test_sides_are_even(live: Interactions, store: Store, pool: Pool) -> None:
    pool_id = store.pools.add(pool)
    first_left = 0
    for seed in range(10):
        settings = {"seed": seed, "budget": 6, "epsilon": None}
        screen = live.create(pool_id, ME, settings)
        while not screen.finished:
            asked = live.open(screen.session_id, ME).session.ask()
            assert asked is not None
            first_left += asked.first.index == screen.candidates[0]
            screen = left(live, screen)
    assert first_left == 30


@contextmanager
def failing(store: Store, at: int) -> Iterator[list[str]]:
    """Let the statement number `at` of the block fail, and a commit when there are fewer."""
    seen: list[str] = []

    def before(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)
        if len(seen) == at:
            raise OSError("injected fault")

    def commit(_c: Any) -> None:
        seen.append("COMMIT")
        if len(seen) == at:
            raise OSError("injected fault")

    event.listen(store.engine, "before_cursor_execute", before)
    event.listen(store.engine, "commit", commit)
    try:
        yield seen
    finally:
        event.remove(store.engine, "before_cursor_execute", before)
        event.remove(store.engine, "commit", commit)


def test_a_fault_at_any_statement_leaves_nothing_half(
    live: Interactions, screen: Screen, store: Store
) -> None:
    failed = 0
    for at in range(1, 40):
        before = count(store, steps)
        with failing(store, at) as seen:
            try:
                following = left(live, screen)
            except OSError:
                failed += 1
                following = None
        if following is None:
            assert count(store, steps) == before
            assert live.open(screen.session_id, ME).screen == screen
        else:
            assert len(seen) < at
            assert count(store, steps) == before + 1
            break
    assert failed >= 5  # reads, update, insert, commits


def test_forgetting(live: Interactions, screen: Screen, store: Store) -> None:
    left(live, screen)
    live.forget(screen.session_id, ME)
    assert count(store, sessions) == count(store, steps) == 0


def test_a_session_that_is_deleted_in_the_middle_of_a_request(
    live: Interactions, screen: Screen
) -> None:
    stored = live.open(screen.session_id, ME)
    live.forget(screen.session_id, ME)
    with pytest.raises(NotFoundError):
        stored.answer(0, UserResponse("choice", position=0))
