"""Memory from the database: read from its rows each time, so that what is deleted is forgotten.

Somebody's own sessions count if they allow `remember`; other people's if those allow `share`.
Nobody who takes part in a study is ever remembered. What was learnt from other people is cached
in this process alone. It may lag behind what was added, never behind what was taken away: when
one of its sessions is gone, or its owner no longer shares, it is learnt anew.
"""

from __future__ import annotations

import zlib
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, proxy

from useralign.answers import read_answer
from useralign.errors import FileFormatError, NotFoundError
from useralign.memory.learning import fit
from useralign.memory.memory import Memory
from useralign.memory.past import PastSession
from useralign.store import memory as records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.memory.memory import Population
    from useralign.methods.frugal.prior import Prior
    from useralign.pool import Pool
    from useralign.store import Store

MOST_SESSIONS = 1000  # the newest of other people's
MOST_OWN = 50
LAG = 0.2  # learn anew when so large a share was added or has changed
BUCKETS = 5

Version = tuple[str, int]  # a session and how many of its steps are answered


class OwnedSession(NamedTuple):
    """A past session of the database, with its owner and the fingerprint of its pool."""

    owner: str
    fingerprint: str
    past: PastSession


class StoreMemory:
    """The memory of a database.

    Parameters
    ----------
    store : Store
        Whoever opened it keeps it.
    """

    def __init__(self, store: Store) -> None:
        self._store: Store = proxy(store)
        self._lock = Lock()
        self._shared: dict[Version, OwnedSession] = {}
        self._learnt: dict[tuple[object, ...], tuple[dict[str, int], Population | None]] = {}

    def own(self, owner: str) -> Memory:
        """Return somebody's own earlier sessions, if they want them remembered."""
        return Memory(tuple(one.past for one in self._own(owner) if len(one.past)))

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
        own = self._comparable(self._own(owner), pool)
        population = self._population(owner, pool) if others else None
        populations = () if population is None else (population,)
        return Memory(own, populations).prior_for(pool, grows=grows)

    def _own(self, owner: str) -> list[OwnedSession]:
        if not self._store.persons.get(owner).remember:
            return []
        versions = records.own_sessions(self._store, owner, MOST_OWN)
        return [one for session in reversed(versions) if (one := self._read(session))]

    def _population(self, owner: str, pool: Pool) -> Population | None:
        """Return what others share, learnt without this person."""
        bucket = _bucket(owner) if self._store.persons.get(owner).share else None
        with self._lock:
            # Twice as many as are used, to tell what is gone from what is merely old.
            present = records.shared_sessions(self._store, 2 * MOST_SESSIONS)
            self._shared = {
                version: one
                for version in list(present.items())[:MOST_SESSIONS]
                if (one := self._shared.get(version) or self._read(version[0]))
            }
            return self._fitted(pool, bucket, present)

    def _fitted(
        self, pool: Pool, bucket: int | None, present: Mapping[str, int]
    ) -> Population | None:
        usable = {
            version: one.past
            for version, one in self._shared.items()
            if _bucket(one.owner) != bucket and self._comparable([one], pool)
        }
        key = pool.embedder, pool.dimension, None if pool.embedder else pool.fingerprint, bucket
        before, population = self._learnt.get(key, ({}, None))
        if not before.keys() <= present.keys() or _much_added(before, dict(usable.keys())):
            populations = fit(reversed(usable.values())).populations
            population = populations[0] if populations else None
            self._learnt[key] = dict(usable.keys()), population
        return population

    @staticmethod
    def _comparable(sessions: list[OwnedSession], pool: Pool) -> tuple[PastSession, ...]:
        """Return what is about the same features; without an embedder's name, the same pool."""
        return tuple(
            one.past
            for one in sessions
            if len(one.past)
            and one.past.space == (pool.embedder, pool.dimension)
            and (pool.embedder is not None or one.fingerprint == pool.fingerprint)
        )

    def _read(self, session_id: str) -> OwnedSession | None:
        """Return a session as it is remembered; None if it is gone or cannot be read."""
        record = records.session_answers(self._store, session_id)
        if record is None:
            return None
        try:
            pool = self._store.pools.of_session(record.pool_id)
            answers = [read_answer(answer, *pool.features.shape) for answer in record.answers]
        except (NotFoundError, FileFormatError):
            return None
        past = PastSession.from_answers(pool, answers, record.owner)
        return OwnedSession(record.owner, pool.fingerprint, past)


_memories: WeakKeyDictionary[Store, StoreMemory] = WeakKeyDictionary()


def _memory(store: Store) -> StoreMemory:
    """Return the memory of a database, the same one for as long as it is open."""
    return _memories.setdefault(store, StoreMemory(store))


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
    return _memory(store).prior(owner, pool, others=others, grows=grows)


def memory_of(store: Store, owner: str) -> Memory:
    """Return what is remembered of somebody, for themselves to look at."""
    return _memory(store).own(owner)


def _much_added(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Return whether much was added since."""
    changed = sum(before.get(session) != answered for session, answered in now.items())
    return changed > LAG * len(before)


def _bucket(owner: str) -> int:
    """Return which of a few groups somebody belongs to; a group is left out as a whole."""
    return zlib.crc32(owner.encode()) % BUCKETS
