"""Pools in the database."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, or_, select

from useralign.errors import NotFoundError
from useralign.pool import Pool
from useralign.store import media
from useralign.store.schema import pools
from useralign.store.tokens import token

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from useralign.pool import Candidate
    from useralign.store.database import Database

_KEPT = 64  # pools are the same for ever, so that keeping them needs no care


class Pools:
    """Pools that people and studies compare over.

    Parameters
    ----------
    database : Database
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read = lru_cache(maxsize=_KEPT)(self._load)

    def add(self, pool: Pool, owner: str | None = None) -> str:
        """Keep a pool and return its id; the same pool of the same owner is kept once.

        Parameters
        ----------
        pool : Pool
            Pictures are decoded and encoded anew; what is no picture is refused.
        owner : str, optional
            Who may see it; None is everybody.
        """
        with self._database.reading() as connection:
            known = _find(connection, pool.fingerprint, owner)
        if known is not None:
            return known
        row, pictures = row_of(pool, owner)
        with self._database.writing() as connection:
            known = _find(connection, pool.fingerprint, owner)
            if known is not None:
                return known
            keep(connection, row, pictures)
            return str(row["id"])

    def get(self, pool_id: str, owner: str | None = None) -> Pool:
        """Return a pool.

        Raises
        ------
        NotFoundError
            If there is none of that id, or it is somebody else's.
        """
        mine = or_(pools.c.owner.is_(None), pools.c.owner == owner)
        with self._database.reading() as connection:
            found = connection.execute(select(pools.c.id).where(pools.c.id == pool_id, mine))
            if found.first() is None:
                raise NotFoundError("there is no such pool")
        return self._read(pool_id)

    def of_session(self, pool_id: str) -> Pool:
        """Return the pool of a session that was already shown to be the owner's."""
        return self._read(pool_id)

    def _load(self, pool_id: str) -> Pool:
        with self._database.reading() as connection:
            data = connection.execute(select(pools.c.data).where(pools.c.id == pool_id)).scalar()
        if data is None:
            raise NotFoundError("there is no such pool")
        return Pool.from_dict(json.loads(data))


def row_of(pool: Pool, owner: str | None) -> tuple[dict[str, Any], list[media.Media]]:
    """Return a pool as a new row of the table, and the pictures that go with it."""
    kept, pictures = _with_media(pool)
    row = {
        "id": token(),
        "owner": owner,
        "fingerprint": pool.fingerprint,
        "kind": "image" if any("media" in c.meta for c in kept.candidates) else "text",
        "question": pool.question,
        "data": json.dumps(kept.to_dict(), ensure_ascii=False),
        "created": time.time(),
    }
    return row, pictures


def keep(connection: Connection, row: dict[str, Any], pictures: list[media.Media]) -> None:
    """Write what `row_of` returned, in a transaction that is open."""
    media.keep(connection, pictures)
    connection.execute(insert(pools).values(row))


def _find(connection: Connection, fingerprint: str, owner: str | None) -> str | None:
    same = pools.c.owner.is_(None) if owner is None else pools.c.owner == owner
    chosen = select(pools.c.id).where(pools.c.fingerprint == fingerprint, same)
    return connection.execute(chosen).scalar()


def _with_media(pool: Pool) -> tuple[Pool, list[media.Media]]:
    """Return the pool with its picture files replaced by ids, and the pictures."""
    pictures: dict[str, media.Media] = {}

    def kept(candidate: Candidate) -> Candidate:
        if candidate.image is None:
            return candidate
        picture = media.read(candidate.image)
        pictures[picture.id] = picture
        return replace(candidate, image=None, meta={**candidate.meta, "media": picture.id})

    candidates = [kept(candidate) for candidate in pool.candidates]
    baseline = None if pool.baseline is None else kept(pool.baseline)
    if not pictures:
        return pool, []
    return pool.with_candidates(candidates, baseline), list(pictures.values())
