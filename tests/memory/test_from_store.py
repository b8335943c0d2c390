"""Whose answers are used for whom: only with consent, and never again once it is withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Event, Semaphore

import numpy as np
import pytest
from sqlalchemy import insert, select

from useralign import Candidate, Pool
from useralign.memory import Memory, fit, from_store
from useralign.memory.from_store import memory_for, memory_of
from useralign.memory.past import PastSession
from useralign.methods.frugal import Prior
from useralign.store import Interactions, Store, UserResponse, open_store
from useralign.store.schema import participants, sessions, studies

ME, OTHER, THIRD = "me", "other", "third"
Answering = Callable[[str, Pool], str]


def pool_of(seed: int, question: str = "Which?", embedder: str | None = "test") -> Pool:
    rows = np.random.default_rng([seed, 1]).normal(size=(8, 3))
    texts = [Candidate(f"{seed}-{k}") for k in range(8)]
    return Pool(question, texts, rows, embedder=embedder)


@pytest.fixture
def answered(store: Store) -> Answering:
    """Let somebody answer five screens, by the first feature, and return the session."""
    live = Interactions(store)

    def answer(owner: str, pool: Pool) -> str:
        store.persons.visit(owner, 0.0)
        screen = live.create(store.pools.add(pool, owner), owner, {"seed": 1})
        for _ in range(5):
            if screen.finished:
                break
            worth = [pool.features[k, 0] for k in screen.candidates]
            told = UserResponse("choice", position=int(np.argmax(worth)))
            screen = live.open(screen.session_id, owner).answer(screen.step, told)
        return screen.session_id

    return answer


def allow(store: Store, owner: str, *, remember: bool = False, share: bool = False) -> None:
    store.persons.visit(owner, 0.0)
    store.persons.allow(owner, remember=remember, share=share)


def test_strangers_have_no_memory(store: Store) -> None:
    assert memory_for(store, ME, pool_of(1)) is None
    assert not memory_of(store, ME)


def test_nothing_is_remembered_without_consent(store: Store, answered: Answering) -> None:
    for owner in (ME, OTHER, THIRD):
        answered(owner, pool_of(1))
    assert memory_for(store, ME, pool_of(1)) is None
    assert not memory_of(store, ME)


def test_remembering_is_for_oneself_alone(store: Store, answered: Answering) -> None:
    answered(ME, pool_of(1))
    allow(store, ME, remember=True)
    prior = memory_for(store, ME, pool_of(2))
    assert prior is not None
    assert prior.mean is not None
    assert int(np.argmax(np.abs(prior.mean))) == 0
    assert prior.mean[0] > 0
    assert memory_for(store, OTHER, pool_of(1)) is None
    (past,) = memory_of(store, ME).own
    assert len(past) == 5


def test_sharing_is_for_others_alone(store: Store, answered: Answering) -> None:
    answered(ME, pool_of(1))
    allow(store, ME, share=True)
    prior = memory_for(store, OTHER, pool_of(1))
    assert prior is not None
    assert prior.mean is not None
    assert prior.mean[0] > 0
    assert memory_for(store, OTHER, pool_of(1), others=False) is None
    assert memory_for(store, ME, pool_of(1)) is None
    assert not memory_of(store, OTHER)


def test_consent_withdrawn_is_influence_gone(store: Store, answered: Answering) -> None:
    for owner in (ME, OTHER):
        answered(owner, pool_of(1))
        allow(store, owner, remember=True, share=True)
    assert memory_for(store, THIRD, pool_of(1)) is not None
    allow(store, ME)
    only_other = memory_for(store, THIRD, pool_of(1))
    again = open_again(store)
    assert only_other == memory_for(again, THIRD, pool_of(1))
    again.close()
    allow(store, OTHER)
    assert memory_for(store, THIRD, pool_of(1)) is None
    assert memory_for(store, ME, pool_of(1)) is None


def open_again(store: Store) -> Store:
    """Return the same database, opened by somebody who has nothing in memory."""
    return open_store(store.url.render_as_string(hide_password=False))


def test_forgetting_a_person_takes_their_influence_away(store: Store, answered: Answering) -> None:
    rng = np.random.default_rng(0)
    crowd = [f"person {n}" for n in range(8)]
    for owner in crowd:
        answered(owner, pool_of(int(rng.integers(3))))
        allow(store, owner, remember=True, share=True)
    before = memory_for(store, ME, pool_of(1))
    assert before is not None
    store.persons.forget(crowd[0])
    after = memory_for(store, ME, pool_of(1))
    assert after != before
    again = open_again(store)
    assert after == memory_for(again, ME, pool_of(1))
    again.close()
    assert not memory_of(store, crowd[0])


def test_forgetting_one_session(store: Store, answered: Answering) -> None:
    allow(store, ME, remember=True)
    allow(store, OTHER, share=True)
    mine, others = answered(ME, pool_of(1)), answered(OTHER, pool_of(1))
    live = Interactions(store)
    assert memory_for(store, THIRD, pool_of(1)) is not None
    live.forget(others, OTHER)
    assert memory_for(store, THIRD, pool_of(1)) is None
    assert memory_for(store, ME, pool_of(1)) is not None
    live.forget(mine, ME)
    assert memory_for(store, ME, pool_of(1)) is None


def test_an_undone_answer_is_not_remembered(store: Store, answered: Answering) -> None:
    allow(store, ME, remember=True)
    session = answered(ME, pool_of(1))
    live = Interactions(store)
    live.open(session, ME).answer(live.open(session, ME).screen.step, UserResponse("undo"))
    (past,) = memory_of(store, ME).own
    assert len(past) == 4


def test_participants_of_studies_are_never_used(store: Store, answered: Answering) -> None:
    by_session, by_name = answered(ME, pool_of(1)), answered(OTHER, pool_of(1))
    for owner in (ME, OTHER):
        allow(store, owner, remember=True, share=True)
    assert memory_for(store, THIRD, pool_of(1)) is not None
    with store.writing() as connection:
        connection.execute(
            insert(studies).values(id="s", design={}, questions=[], key="k", created=0.0, open=True)
        )
        shared = {"study_id": "s", "source": "link", "recruitment": {}, "cell": 0}
        shared |= {"assignment": {}, "stage": "done", "created": 0.0, "seen": 0.0}
        rows = [
            {"id": "somebody", "number": 1, "session_id": by_session, **shared},
            {"id": OTHER, "number": 2, "session_id": None, **shared},
        ]
        connection.execute(insert(participants), rows)
        assert connection.execute(select(sessions.c.id)).scalars().all() != []
    assert by_name != by_session
    for owner in (ME, OTHER, THIRD):
        assert memory_for(store, owner, pool_of(1)) is None
        assert not memory_of(store, owner)


def test_features_of_another_kind(store: Store, answered: Answering) -> None:
    allow(store, ME, remember=True, share=True)
    answered(ME, pool_of(1))
    for owner in (ME, OTHER):
        assert memory_for(store, owner, pool_of(2, embedder="another")) is None
        assert memory_for(store, owner, pool_of(2, embedder=None)) is None


def test_without_an_embedder_only_the_same_pool_is_alike(store: Store, answered: Answering) -> None:
    allow(store, ME, remember=True, share=True)
    answered(ME, pool_of(1, embedder=None))
    for owner in (ME, OTHER):
        assert memory_for(store, owner, pool_of(1, embedder=None)) is not None
        assert memory_for(store, owner, pool_of(2, embedder=None)) is None


def test_what_is_added_may_lag_and_what_is_gone_may_not(store: Store, answered: Answering) -> None:
    for n in range(10):
        allow(store, f"person {n}", share=True)
        answered(f"person {n}", pool_of(n))
    before = memory_for(store, ME, pool_of(1))
    allow(store, "late", share=True)
    answered("late", pool_of(1))
    assert memory_for(store, ME, pool_of(1)) == before  # one more of ten: not learnt anew
    store.persons.forget("person 3")
    after = memory_for(store, ME, pool_of(1))
    again = open_again(store)
    assert after == memory_for(again, ME, pool_of(1))
    again.close()


def test_learning_goes_on_behind_a_request(
    store: Store, answered: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, began = Event(), Semaphore(0)

    def slow(sessions: Iterable[PastSession]) -> Memory:
        began.release()
        may_go_on.wait(60)
        return fit(sessions)

    monkeypatch.setattr(from_store, "fit", slow)
    for owner in (OTHER, THIRD):
        answered(owner, pool_of(1))
        allow(store, owner, share=True)

    def now() -> Prior | None:
        return memory_for(store, ME, pool_of(1), patience=0.0)

    assert [now() for _ in range(3)] == [None] * 3
    assert began.acquire(timeout=60)
    assert not began.acquire(blocking=False)  # once, however many ask
    may_go_on.set()
    prior = memory_for(store, ME, pool_of(1))
    assert now() == prior is not None
    may_go_on.clear()
    answered("late", pool_of(2))
    allow(store, "late", share=True)
    assert now() == prior  # the old one meanwhile
    assert began.acquire(timeout=60)
    store.persons.forget(OTHER)
    assert now() is None  # nothing of theirs, meanwhile none
    may_go_on.set()
    only_third = memory_for(store, ME, pool_of(1))
    assert only_third not in (None, prior)
    assert now() == only_third
