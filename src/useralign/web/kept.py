"""What is kept of a person's sessions, for the pages that list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from useralign.store.schema import pools, sessions, steps

if TYPE_CHECKING:
    from useralign.store import Store


@dataclass(frozen=True, slots=True)
class Kept:
    """One session in a list.

    Parameters
    ----------
    id, question : str
    created : float
        Seconds since 1970.
    answered : int
        How many comparisons were answered.
    finished : bool
    """

    id: str
    question: str
    created: float
    answered: int
    finished: bool


def sessions_of(store: Store, owner: str, most: int = 200) -> list[Kept]:
    """List someone's sessions, the newest first."""
    newest = steps.alias()
    last = select(func.max(newest.c.number)).where(newest.c.session_id == sessions.c.id)
    here = (steps.c.session_id == sessions.c.id) & (steps.c.number == last.scalar_subquery())
    chosen = (
        select(sessions.c.id, sessions.c.created, pools.c.question, steps.c.view)
        .join(pools, pools.c.id == sessions.c.pool_id)
        .join(steps, here)
        .where(sessions.c.owner == owner)
        .order_by(sessions.c.created.desc())
        .limit(most)
    )
    with store.reading() as connection:
        rows = connection.execute(chosen).all()
    return [
        Kept(row.id, row.question, row.created, row.view["cost"], row.view["finished"] is not None)
        for row in rows
    ]


def unfinished(store: Store, owner: str, most: int) -> list[Kept]:
    """List the newest of someone's sessions that wait for an answer."""
    return [kept for kept in sessions_of(store, owner, 20) if not kept.finished][:most]
