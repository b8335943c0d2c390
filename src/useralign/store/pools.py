"""Pools in the database, and pools that have grown in a session."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import delete, or_, select

from useralign.errors import NotFoundError, PoolError
from useralign.pool import Pool
from useralign.store import media
from useralign.store.database import Part, insert_for
from useralign.store.keys import token
from useralign.store.schema import pools, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Column, ColumnElement, Connection, Row

    from useralign.pool import Candidate
    from useralign.store.database import Database

GROWN = "grown:"  # how the fingerprint of a grown pool begins
MADE = "made:"  # how that of a pool begins that is still being made
COPY = "copy:"  # how that of a pool begins that was brought back beside an equal one
ASIDE = "gone-"  # how the owner of what was deleted begins; hashes have no such letters
_CACHED = 64  # a stored pool never changes, so that a cached one is never stale


class Pools(Part):
    """Pools that people and studies compare over."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        # Of a session whose owner was checked already.
        self.of_session = lru_cache(maxsize=_CACHED)(self._load)

    def add(self, pool: Pool, owner: str | None = None) -> str:
        """Store a pool and return its id; the same pool of the same owner is stored once.

        Pictures are decoded and encoded anew; what is no picture is refused. Only the owner may see
        it, or everybody if there is none.
        """
        with self._database.reading() as connection:
            pool_id = find(connection, pool.fingerprint, owner)
        if pool_id is not None:
            return pool_id
        row, pictures = row_of(pool, owner)
        with self._database.writing() as connection:
            return insert_pool(connection, row, pictures)

    def get(self, pool_id: str, *owners: str | None) -> Pool:
        """Return a pool that is everybody's or one of the owners'; else raise NotFoundError."""
        readable = or_(pools.c.owner.is_(None), pools.c.owner.in_(owners))
        query = select(pools.c.id).where(pools.c.id == pool_id, readable)
        if self._database.first(query) is None:
            raise NotFoundError("there is no such pool")
        return self.of_session(pool_id)

    def delete(self, pool_id: str, owner: str) -> None:
        """Delete somebody's own pool, with all sessions over it and its pictures."""
        own = (pools.c.id == pool_id) & (pools.c.owner == owner)
        with self._database.writing() as connection:
            if not delete_pools(connection, own):
                raise NotFoundError("there is no such pool")
        self._database.rinse()

    def _load(self, pool_id: str) -> Pool:
        row = self._database.first(select(pools.c.data).where(pools.c.id == pool_id))
        if row is None:
            raise NotFoundError("there is no such pool")
        return Pool.from_dict(json.loads(row.data))


def row_of(pool: Pool, owner: str | None) -> tuple[dict[str, Any], list[media.Media]]:
    """Return a pool as a new row of the table, and the pictures that go with it."""
    stored, pictures = _with_media(pool)
    row = {
        "id": token(),
        "owner": owner,
        "fingerprint": pool.fingerprint,
        "kind": "image" if any("media" in c.meta for c in stored.candidates) else "text",
        "question": pool.question,
        "data": json.dumps(stored.to_dict(), ensure_ascii=False),
        "created": time.time(),
    }
    return row, pictures


def insert_pool(connection: Connection, row: dict[str, Any], pictures: list[media.Media]) -> str:
    """Write what `row_of` returned, in a transaction that is open; return the pool's id.

    If the owner has the same pool already it is that one's, whichever server stored it.
    """
    media.insert_missing(connection, pictures)
    new = insert_for(connection, pools).values(row).on_conflict_do_nothing()
    inserted = connection.execute(new.returning(pools.c.id)).scalar()
    return inserted or str(find(connection, row["fingerprint"], row["owner"]))


def find(connection: Connection, fingerprint: str, owner: str | None) -> str | None:
    """Return the id of the pool of that fingerprint and owner, or None."""
    same = pools.c.owner.is_(None) if owner is None else pools.c.owner == owner
    hits = select(pools.c.id).where(pools.c.fingerprint == fingerprint, same)
    return connection.execute(hits).scalar()


def _with_media(pool: Pool) -> tuple[Pool, list[media.Media]]:
    """Return the pool with its picture files replaced by ids, and the pictures."""
    pictures: dict[str, media.Media] = {}

    def stored(candidate: Candidate) -> Candidate:
        if candidate.image is None:
            return candidate
        picture = media.read(candidate.image)
        pictures[picture.id] = picture
        return replace(candidate, image=None, meta={**candidate.meta, "media": picture.id})

    candidates = [stored(candidate) for candidate in pool.candidates]
    baseline = None if pool.baseline is None else stored(pool.baseline)
    if not pictures:
        return pool, []
    return pool.with_candidates(candidates, baseline), list(pictures.values())


def grown_row(present: Pool, grown: Pool, owner: str) -> tuple[dict[str, Any], list[media.Media]]:
    """Check a grown pool, and return it as a new row with the pictures that go with it.

    Its fingerprint is set apart: it belongs to one session and goes with it, so that nobody who
    adds an equal pool gets this one.
    """
    _check_grown(present, grown)
    row, pictures = row_of(grown, owner)
    return row | {"fingerprint": f"{GROWN}{row['fingerprint']}"}, pictures


def _check_grown(present: Pool, grown: Pool) -> None:
    """Raise PoolError unless one pool is the other with more candidates behind."""
    size = len(present)
    fixed = ("question", "normalise", "embedder", "dimension")
    if changed := [name for name in fixed if getattr(present, name) != getattr(grown, name)]:
        raise PoolError(f"a pool cannot grow into one with another {changed[0]}")
    if len(grown) < size:
        raise PoolError(f"a pool of {size} candidates cannot grow into one of {len(grown)}")
    for index in range(size):
        if _identity(present[index]) != _identity(grown[index]):
            raise PoolError(
                f"candidate {index} of the grown pool is another than before; those there keep "
                "their places, and new ones stand behind them"
            )
    if not np.array_equal(present.raw_features, grown.raw_features[:size]):
        raise PoolError("the features of candidates must stay when a pool grows")
    labels = [candidate.label for candidate in grown]
    if len(set(labels)) < len(labels):
        raise PoolError("the grown pool has two candidates of one id")


def not_aside(owner: Column[str]) -> ColumnElement[bool]:
    """Return the condition that a row was not deleted, by its owner (see `store.personal`)."""
    return ~owner.startswith(ASIDE, autoescape=True)


def delete_pools(connection: Connection, which: ColumnElement[bool]) -> int:
    """Delete pools, and the pictures that are in no other; return how many pools there were."""
    pictures = media.pictures_of(connection, which)
    count = connection.execute(delete(pools).where(which)).rowcount
    media.delete_unused(connection, pictures)
    return count


def delete_unused(connection: Connection, which: ColumnElement[bool]) -> None:
    """Delete pools that no session uses."""
    delete_pools(connection, which & pools.c.id.not_in(select(sessions.c.pool_id)))


def forget_grown(connection: Connection, rows: Iterable[Row[Any]], owner: str) -> None:
    """Delete the pools that a session has grown to, unless another session began with one.

    Their prompts hold what the person liked.
    """
    grown = [row.told["pool"] for row in rows if row.kind == "growth"]
    if grown:
        delete_unused(connection, pools.c.id.in_(grown) & (pools.c.owner == owner))


def _identity(candidate: Candidate) -> tuple[Any, ...]:
    """Return what identifies a candidate; a picture by its id in the database."""
    return candidate.text, candidate.image, candidate.label, candidate.meta.get("media")
