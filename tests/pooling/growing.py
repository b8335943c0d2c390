"""Sessions to grow, and what must hold of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign import Pool, Session

from .conftest import QUESTION, Answer, Fingerprints, answer, dish

if TYPE_CHECKING:
    from useralign.models import TextRequest

REFUSAL = "I'm sorry, but I can't help with that."


def begun(embedder: Fingerprints, answers: int = 4, **options: object) -> Session:
    texts = [dish(f"old {number}") for number in range(10)]
    pool = Pool.from_texts(QUESTION, texts, embedder=embedder)
    session = Session(pool, **options)  # type: ignore[arg-type]
    for _ in range(answers):
        tell(session)
    return session


def tell(session: Session) -> None:
    pair = session.ask()
    assert pair is not None
    session.tell(max(pair.first, pair.second, key=lambda c: c.text))


def said(*texts: str) -> Answer:
    """Say these in turn, then something sound of its own for each seed."""

    def says(request: TextRequest, number: int) -> str:
        return texts[number - 1] if number <= len(texts) else answer(request, number)

    return says


def check_whole(session: Session, before: Session) -> None:
    """Nothing was lost, doubled or changed."""
    old = before.pool
    assert [c.to_dict() for c in session.pool][: len(old)] == [c.to_dict() for c in old]
    np.testing.assert_array_equal(session.pool.raw_features[: len(old)], old.raw_features)
    assert session.answers[: len(before.answers)] == before.answers
    assert len({c.text for c in session.pool}) == len(session.pool)
    assert len({c.label for c in session.pool}) == len(session.pool)
    assert [c.index for c in session.pool] == list(range(len(session.pool)))
    assert np.isfinite(session.bound)


def copy_of(session: Session) -> Session:
    return Session.from_dict(session.pool, session.to_dict())
