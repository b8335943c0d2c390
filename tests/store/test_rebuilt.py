"""Rebuilt sessions are kept: nothing is replayed twice, and nothing else comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from tests.conftest import gaussian_features
from useralign import Pool, Session
from useralign.errors import SessionStateError
from useralign.methods import method_for
from useralign.store import Interactions, Screen, Store, UserResponse, interactions, open_store
from useralign.store.rebuilt import Rebuilt, State
from useralign.store.schema import steps

ME = "me"
METHODS: tuple[dict[str, Any], ...] = (
    {"method": "useralign", "options": {"reask": True}},
    {"method": "frugal", "budget": 30},
    {"method": "few"},
)


@pytest.fixture
def sqlite(sqlite_copy: str) -> Store:
    return open_store(sqlite_copy)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that were started: one for each replay."""
    log: list[str] = []
    for name in ("useralign", "frugal"):
        method = type(method_for(name))
        monkeypatch.setattr(method, "start", _logged(method.start, log))
    return log


def _logged(start: Callable[..., Any], log: list[str]) -> Callable[..., Any]:
    def started(self: Any, *given: Any, **options: Any) -> Any:
        log.append(self.name)
        return start(self, *given, **options)

    return started


def begin(store: Store, **settings: Any) -> Screen:
    texts = [f"dish {k}" + " with fish" * (k % 3 == 0) for k in range(12)]
    pool = Pool("Which?", texts, gaussian_features(12, 6, seed=1))
    return Interactions(store).create(store.pools.add(pool), ME, {"seed": 3, **settings})


def answer(store: Store, screen: Screen, kind: str = "choice", **values: Any) -> Screen:
    if kind == "choice":
        values = {"position": screen.step % len(screen.candidates)} | values
    response = UserResponse(kind, **values)
    return Interactions(store).open(screen.session_id, ME).answer(screen.step, response)


def view(store: Store, screen: Screen) -> Session:
    return Interactions(store).open(screen.session_id, ME).session


@pytest.mark.parametrize("settings", METHODS, ids=lambda settings: str(settings["method"]))
def test_answers_and_views_replay_nothing(
    sqlite: Store, starts: list[str], monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    screen = begin(sqlite, **settings)
    monkeypatch.setattr(interactions, "_steps_of", lambda _: pytest.fail("read all steps"))
    starts.clear()
    for _ in range(4):
        screen = answer(sqlite, screen)
        assert view(sqlite, screen).cost == screen.cost
    screen = answer(sqlite, screen, "undo")
    assert screen.cost == 3
    assert starts == []


def test_what_is_kept_is_what_a_replay_gives(sqlite: Store) -> None:
    script: tuple[tuple[str, dict[str, Any]], ...] = (
        *(("choice", {}), ("undo", {}), ("choice", {}), ("wish", {"text": "no fish"})),
        *(("neither", {}), ("withdraw", {"text": "no fish"}), ("wish", {"text": "no fish"})),
        *(("wish", {"text": "no fish"}), ("undo", {}), ("equal", {}), ("stop", {}), ("undo", {})),
        *(("go_on", {}), ("choice", {}), ("go_on", {}), ("skip", {}), ("stop", {})),
        *(("final", {"position": 4}), ("final", {"position": 5}), ("undo", {}), ("undo", {})),
        *(("prove", {}), ("choice", {}), ("undo", {}), ("undo", {})),
    )
    screen = begin(sqlite, method="few", per_screen=3)
    for kind, values in script:
        screen = answer(sqlite, screen, kind, **values)
        kept = view(sqlite, screen)
        was, sqlite.rebuilt = sqlite.rebuilt, Rebuilt()
        replayed = view(sqlite, screen)
        sqlite.rebuilt = was
        assert getattr(kept.ask(), "candidates", ()) == getattr(replayed.ask(), "candidates", ())
        assert kept.bound == pytest.approx(replayed.bound)
        assert kept.to_dict() | {"asked": 0} == replayed.to_dict() | {"asked": 0}
        assert kept.stop_reason == replayed.stop_reason == screen.finished
        np.testing.assert_allclose(kept.scores, replayed.scores, rtol=1e-9)
        assert kept.proof_price() == replayed.proof_price()


def test_a_second_process_catches_up(
    store: Store, store_url: str, starts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactions, "MOST_STEPS", 6)
    other = open_store(store_url)
    screen = answer(store, begin(store, method="frugal", budget=30))
    view(other, screen)
    starts.clear()
    for here, there in ((store, other), (other, store)):
        screen = answer(here, answer(here, screen))
        assert view(there, screen).answers == view(here, screen).answers
    assert starts == []
    with pytest.raises(SessionStateError, match="may have 6; everything is kept"):
        answer(other, answer(store, screen))  # the seventh
    other.close()


def test_a_kept_session_is_not_trusted_blindly(sqlite: Store, starts: list[str]) -> None:
    screen = answer(sqlite, begin(sqlite, method="useralign"))
    newest = steps.c.number == screen.step
    with sqlite.writing() as connection:  # as if an older copy of the database were back
        connection.execute(update(steps).where(newest).values(asked=1.0))
        connection.execute(update(steps).where(~newest).values(told={"answer": [0, 1, 1]}))
    starts.clear()
    assert view(sqlite, screen).answers[0].candidates == (0, 1)
    assert starts == ["useralign"] * len(starts)
    assert starts


def test_a_long_session_can_only_be_ended(sqlite: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "MOST_STEPS", 1)
    screen = answer(sqlite, begin(sqlite, method="useralign"))
    for kind in ("choice", "undo", "go_on"):
        with pytest.raises(SessionStateError, match="start another session"):
            answer(sqlite, screen, kind)
    assert Interactions(sqlite).open(screen.session_id, ME).screen == screen
    assert answer(sqlite, screen, "stop").finished == "stopped"


def test_room_is_bounded(sqlite: Store) -> None:
    screen = begin(sqlite, method="useralign")
    session = view(sqlite, screen)  # 12 candidates and 6 dimensions: 18
    rebuilt = Rebuilt(room=40)

    def state(session_id: str, *answers: int) -> State:
        return State(session_id, screen.pool_id, screen, list(answers), False, session)

    for count in range(6):
        rebuilt.add(state("a", *range(count)))
    assert [len(one.answers) for one in rebuilt.get("a")] == [5, 4, 3]
    rebuilt.add(state("b"))
    rebuilt.get("a")
    rebuilt.add(state("c"))
    assert [bool(rebuilt.get(one)) for one in "abc"] == [True, False, True]
    rebuilt.forget("c")
    rebuilt.forget("c")
    assert not rebuilt.get("c")
    Rebuilt(room=10).add(state("a"))  # too large to be kept


def test_a_deleted_session_is_not_kept(sqlite: Store) -> None:
    screen = begin(sqlite, method="useralign")
    assert sqlite.rebuilt.get(screen.session_id)
    Interactions(sqlite).forget(screen.session_id, ME)
    assert not sqlite.rebuilt.get(screen.session_id)
