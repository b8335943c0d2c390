"""Pools that have grown in a session: what they must be, and how they are kept and forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import delete, select

from useralign.errors import PoolError
from useralign.store import media
from useralign.store.pools import row_of
from useralign.store.schema import pools, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from useralign.pool import Candidate, Pool
    from useralign.store.media import Media

GROWN = "grown:"  # how the fingerprint of a grown pool begins


def grown_row(present: Pool, grown: Pool, owner: str) -> tuple[dict[str, Any], list[Media]]:
    """Return a grown pool as a new row, once it is checked, and the pictures that go with it.

    Its fingerprint is set apart: it belongs to one session and goes with it, so that nobody who
    adds an equal pool may be given this one.

    Parameters
    ----------
    present : Pool
        The session's pool so far.
    grown : Pool
        The same with more candidates behind.
    owner : str

    Raises
    ------
    PoolError
        If a candidate was lost, changed or moved, or the question is another.
    """
    check_grown(present, grown)
    row, pictures = row_of(grown, owner)
    return row | {"fingerprint": f"{GROWN}{row['fingerprint']}"}, pictures


def check_grown(present: Pool, grown: Pool) -> None:
    """Raise PoolError unless one pool is the other with more candidates behind."""
    size = len(present)
    same = ("question", "normalise", "embedder", "dimension")
    if other := [name for name in same if getattr(present, name) != getattr(grown, name)]:
        raise PoolError(f"a pool cannot grow into one with another {other[0]}")
    if len(grown) < size:
        raise PoolError(f"a pool of {size} candidates cannot grow into one of {len(grown)}")
    for place in range(size):
        if _what(present[place]) != _what(grown[place]):
            raise PoolError(
                f"candidate {place} of the grown pool is another than before; those there keep "
                "their places, and new ones stand behind them"
            )
    if not np.array_equal(present.raw_features, grown.raw_features[:size]):
        raise PoolError("the features of candidates must stay when a pool grows")
    labels = [candidate.label for candidate in grown]
    if len(set(labels)) < len(labels):
        raise PoolError("the grown pool has two candidates of one id")


def forget_grown(connection: Connection, rows: Iterable[Row[Any]], owner: str) -> None:
    """Delete the pools that a session has grown to, unless another session began with one.

    Their prompts tell what the person liked.
    """
    grown = [row.told["pool"] for row in rows if row.kind == "growth"]
    if grown:
        begun_with = select(sessions.c.pool_id)
        mine = (pools.c.id.in_(grown)) & (pools.c.owner == owner)
        unused = mine & pools.c.id.not_in(begun_with)
        pictures = media.shown_in(connection, unused)
        connection.execute(delete(pools).where(unused))
        media.drop_unused(connection, pictures)


def _what(candidate: Candidate) -> tuple[Any, ...]:
    """Return what makes a candidate this one; a picture by its id in the database."""
    return candidate.text, candidate.image, candidate.label, candidate.meta.get("media")
