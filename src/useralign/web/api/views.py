"""From the library's objects to the API's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from useralign.web import words
from useralign.web.api.models import (
    CandidateOut,
    ComparisonOut,
    MakingOut,
    PoolOut,
    ResultOut,
    SessionOut,
    Shown,
    Sure,
    Told,
)

if TYPE_CHECKING:
    from useralign.pool import Candidate, Pool
    from useralign.session import Session
    from useralign.store import Screen
    from useralign.web.makings import Making


def candidate_out(candidate: Candidate) -> CandidateOut:
    """Return a candidate; where it comes from is nobody's business while it is compared."""
    media = candidate.meta.get("media")
    return CandidateOut(
        index=candidate.index,
        id=candidate.label,
        text=candidate.text,
        picture=f"/media/{media}" if media else None,
    )


def pool_out(pool_id: str, pool: Pool) -> PoolOut:
    """Return a pool."""
    return PoolOut(
        id=pool_id,
        question=pool.question,
        dimension=pool.dimension,
        embedder=pool.embedder,
        candidates=[candidate_out(candidate) for candidate in pool],
        baseline=candidate_out(pool.baseline) if pool.baseline else None,
    )


def making_out(making: Making) -> MakingOut:
    """Return a making."""
    return MakingOut.model_validate(
        {
            "id": making.id,
            "state": making.state,
            "made": making.made,
            "wanted": making.wanted,
            "note": making.note,
            "pool": making.pool_id,
        }
    )


def comparison_out(screen: Screen, session: Session) -> ComparisonOut:
    """Return what to show now."""
    shown = [
        Shown(position=place, **candidate_out(session.pool[k]).model_dump())
        for place, k in enumerate(screen.shown)
    ]
    return ComparisonOut(
        session=screen.session_id,
        step=screen.step,
        question=session.pool.question,
        candidates=shown,
        takes=sorted(session.takes),
        cost=screen.cost,
        bound=finite(screen.bound),
        viable=screen.viable,
        sure=Sure(probability=screen.sure[0], top=screen.sure[1]) if screen.sure else None,
        finished=screen.finished,
    )


def session_out(screen: Screen, session: Session) -> SessionOut:
    """Return a session."""
    return SessionOut(
        id=screen.session_id,
        pool=screen.pool_id,
        method=session.method.name,
        epsilon=session.epsilon,
        budget=session.budget,
        shown=session.per_screen,
        seed=session.seed,
        comparison=comparison_out(screen, session),
    )


def result_out(screen: Screen, session: Session) -> ResultOut:
    """Return how a session ended, or how it stands."""
    label = [candidate.label for candidate in session.pool]
    return ResultOut(
        session=screen.session_id,
        question=session.pool.question,
        answer=candidate_out(session.pool[screen.best]),
        finished=screen.finished,
        certainty=words.ending(screen, session),
        cost=screen.cost,
        bound=finite(screen.bound),
        viable=[candidate.label for candidate in session.viable],
        preferred_to=[label[k] for k in words.beaten(session, most=len(label))],
        scores=[finite(float(score)) for score in session.scores],
        transcript=[
            Told(
                kind=answer.kind,
                shown=[label[k] for k in answer.candidates],
                winner=None if answer.winner is None else label[answer.winner],
            )
            for answer in session.answers
        ],
    )


def finite(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None
