"""Memory from the database: read from its rows each time, so that what is deleted is forgotten.

Somebody's own sessions count if they said `remember`; other people's if those said `share`. Nobody
who takes part in a study is ever remembered. What was learnt from other people is kept for a
while, in this process alone. It may lag behind what was added, never behind what was taken away:
when one of its sessions is gone, or its owner no longer shares, it is learnt anew.
"""

from __future__ import annotations

import zlib
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, proxy

from sqlalchemy import func, select

from useralign.answers import read_answer
from useralign.errors import FileFormatError, NotFoundError
from useralign.memory.fit import fit
from useralign.memory.memory import Memory
from useralign.memory.past import Past
from useralign.store.replay import fold
from useralign.store.schema import participants, persons, sessions, steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection

    from useralign.memory.population import Population
    from useralign.methods.frugal.prior import Prior
    from useralign.pool import Pool
    from useralign.store import Store

MOST_SESSIONS = 1000  # the newest of other people's
MOST_OWN = 50
LAG = 0.2  # learn anew when so large a share was added or has changed
BUCKETS = 5

Seen = tuple[str, int]  # a session and how many of its steps are answered


class Kept(NamedTuple):
    """A session as it is remembered, with the fingerprint of its pool."""

    owner: str
    fingerprint: str
    past: Past


class Recollection:
    """The memory of a database.

    Parameters
    ----------
    store : Store
        Whoever opened it keeps it.
    """

    def __init__(self, store: Store) -> None:
        self._store: Store = proxy(store)
        self._lock = Lock()
        self._kept: dict[Seen, Kept] = {}
        self._learnt: dict[tuple[object, ...], tuple[dict[str, int], Population | None]] = {}

    def own(self, owner: str) -> Memory:
        """Return somebody's own earlier sessions, if they want them remembered."""
        return Memory(tuple(one.past for one in self._mine(owner) if len(one.past)))

    def prior(
        self, owner: str, pool: Pool, *, others: bool = True, grows: bool = False
    ) -> Prior | None:
        """Return what is to be expected of somebody over a pool; None if nothing is known.

        Parameters
        ----------
        owner : str
        pool : Pool
        others : bool
            Whether to make use of what other people share.
        grows : bool
            Whether more candidates may join the pool.
        """
        mine = self._alike(self._mine(owner), pool)
        known = self._population(owner, pool) if others else None
        return Memory(mine, () if known is None else (known,)).prior_for(pool, grows=grows)

    def _mine(self, owner: str) -> list[Kept]:
        if not self._store.persons.get(owner).remember:
            return []
        with self._store.reading() as connection:
            mine = _seen(connection, sessions.c.owner == owner, MOST_OWN)
        return [kept for seen in reversed(mine.items()) if (kept := self._read(seen))]

    def _population(self, owner: str, pool: Pool) -> Population | None:
        """Return what others share, learnt without this person."""
        bucket = _bucket(owner) if self._store.persons.get(owner).share else None
        with self._lock:
            with self._store.reading() as connection:
                # Twice as many as are used, to tell what is gone from what is merely old.
                there = _seen(connection, persons.c.share.is_(True), 2 * MOST_SESSIONS)
            self._kept = {
                seen: kept
                for seen in list(there.items())[:MOST_SESSIONS]
                if (kept := self._kept.get(seen) or self._read(seen))
            }
            return self._fitted(pool, bucket, there)

    def _fitted(
        self, pool: Pool, bucket: int | None, there: Mapping[str, int]
    ) -> Population | None:
        usable = {
            seen: kept.past
            for seen, kept in self._kept.items()
            if _bucket(kept.owner) != bucket and self._alike([kept], pool)
        }
        place = pool.embedder, pool.dimension, None if pool.embedder else pool.fingerprint, bucket
        before, known = self._learnt.get(place, ({}, None))
        if not before.keys() <= there.keys() or _grown(before, dict(usable.keys())):
            found = fit(reversed(usable.values())).populations
            known = found[0] if found else None
            self._learnt[place] = dict(usable.keys()), known
        return known

    @staticmethod
    def _alike(kept: list[Kept], pool: Pool) -> tuple[Past, ...]:
        """Return what is about the same features; without an embedder's name, the same pool."""
        return tuple(
            one.past
            for one in kept
            if len(one.past)
            and one.past.space == (pool.embedder, pool.dimension)
            and (pool.embedder is not None or one.fingerprint == pool.fingerprint)
        )

    def _read(self, seen: Seen) -> Kept | None:
        """Return a session as it is remembered; None if it is gone or nobody can read it."""
        session, _ = seen
        about = select(sessions.c.owner, sessions.c.pool_id).where(sessions.c.id == session)
        rows = select(steps).where(steps.c.session_id == session).order_by(steps.c.number)
        with self._store.reading() as connection:
            found = connection.execute(about).first()
            told = connection.execute(rows).all()
        if found is None or not told:
            return None
        answers, _ = fold(told)
        try:
            pool = self._store.pools.of_session(told[-1].view["pool_id"])
            said = [read_answer(answer, *pool.features.shape) for answer in answers]
        except (NotFoundError, FileFormatError):
            return None
        return Kept(found.owner, pool.fingerprint, Past.said(pool, said, found.owner))


_recollections: WeakKeyDictionary[Store, Recollection] = WeakKeyDictionary()


def recollection(store: Store) -> Recollection:
    """Return the memory of a database, the same one for as long as it is open."""
    return _recollections.setdefault(store, Recollection(store))


def memory_for(
    store: Store, owner: str, pool: Pool, *, others: bool = True, grows: bool = False
) -> Prior | None:
    """Return what is to be expected of somebody over a pool; None if nothing is known.

    Parameters
    ----------
    store : Store
    owner : str
    pool : Pool
    others : bool
        Whether to make use of what other people share.
    grows : bool
        Whether more candidates may join the pool: then nothing is said of single ones.
    """
    return recollection(store).prior(owner, pool, others=others, grows=grows)


def memory_of(store: Store, owner: str) -> Memory:
    """Return what is remembered of somebody, for themselves to look at."""
    return recollection(store).own(owner)


def _seen(connection: Connection, whose: ColumnElement[bool], most: int) -> dict[str, int]:
    """Return the sessions of some people with how many steps are answered, newest first."""
    studied = select(participants.c.session_id).where(participants.c.session_id.is_not(None))
    chosen = (
        select(sessions.c.id, func.count(steps.c.kind))
        .join(persons, persons.c.id == sessions.c.owner)
        .join(steps, steps.c.session_id == sessions.c.id)
        .where(whose, sessions.c.id.not_in(studied))
        .where(sessions.c.owner.not_in(select(participants.c.id)))
        .group_by(sessions.c.id, sessions.c.created)
        .order_by(sessions.c.created.desc(), sessions.c.id)
        .limit(most)
    )
    return {session: answered for session, answered in connection.execute(chosen) if answered}


def _grown(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Return whether much was added since."""
    changed = sum(before.get(session) != answered for session, answered in now.items())
    return changed > LAG * len(before)


def _bucket(owner: str) -> int:
    """Return which of a few groups somebody belongs to; a group is left out as a whole."""
    return zlib.crc32(owner.encode()) % BUCKETS
