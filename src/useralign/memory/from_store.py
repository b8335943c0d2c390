"""Memory from the database: read from its rows each time, so that what is deleted is forgotten.

Somebody's own sessions count if they allow `remember`; other people's if those allow `share`.
Nobody who takes part in a study is ever remembered. What was learnt from other people is cached
in this process alone. It may lag behind what was added, never behind what was taken away: when
one of its sessions is gone, or its owner no longer shares, it is learnt anew. That takes seconds
with a thousand sessions, so that who has no patience goes on with the old one if nothing was taken
away, else with none, while it is learnt in the background.
"""

from __future__ import annotations

import logging
import zlib
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, proxy

from useralign.answers import read_answer
from useralign.errors import FileFormatError, NotFoundError
from useralign.memory.learning import fit
from useralign.memory.memory import Memory
from useralign.memory.past import PastSession
from useralign.store import memory as records

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from useralign.memory.memory import Population
    from useralign.methods.frugal.prior import Prior
    from useralign.pool import Pool
    from useralign.store import Store

_log = logging.getLogger(__name__)
MOST_SESSIONS = 1000  # the newest of other people's
MOST_OWN = 50
LAG = 0.2  # learn anew when so large a share was added or has changed
BUCKETS = 5

Key = tuple[object, ...]  # what is learnt together: the features' space, and who is left out
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
        self._lock, self._starting = Lock(), Lock()
        self._learning: set[Key] = set()
        self._shared: dict[Version, OwnedSession] = {}
        self._learnt: dict[Key, tuple[dict[str, int], Population | None]] = {}
        self._examined: dict[Key, Mapping[str, int]] = {}  # what there was when it was last learnt

    def own(self, owner: str) -> Memory:
        """Return somebody's own earlier sessions, if they want them remembered."""
        return Memory(tuple(one.past for one in self._own(owner) if len(one.past)))

    def prior(
        self,
        owner: str,
        pool: Pool,
        *,
        others: bool = True,
        grows: bool = False,
        patience: float | None = None,
    ) -> Prior | None:
        """Return what is to be expected of somebody over a pool; see `memory_for`."""
        own = self._comparable(self._own(owner), pool)
        population = self._population(owner, pool, patience) if others else None
        populations = () if population is None else (population,)
        return Memory(own, populations).prior_for(pool, grows=grows)

    def _own(self, owner: str) -> list[OwnedSession]:
        if not self._store.persons.get(owner).remember:
            return []
        versions = records.own_sessions(self._store, owner, MOST_OWN)
        sessions = self._read(versions)
        return [sessions[name] for name in reversed(versions) if name in sessions]

    def _population(self, owner: str, pool: Pool, patience: float | None) -> Population | None:
        """Return what others share, learnt without this person, and from nobody who is gone."""
        # Twice as many as are used, to tell what is gone from what is merely old.
        present = records.shared_sessions(self._store, 2 * MOST_SESSIONS)
        if not present:
            return None
        bucket = _bucket(owner) if self._store.persons.get(owner).share else None
        key = pool.embedder, pool.dimension, None if pool.embedder else pool.fingerprint, bucket
        if self._examined.get(key) != present:
            self._learn_within(patience, key, pool, present)
        used, population = self._learnt.get(key, ({}, None))
        return population if used.keys() <= present.keys() else None

    def _learn_within(
        self, patience: float | None, key: Key, pool: Pool, present: Mapping[str, int]
    ) -> None:
        """Learn; after so many seconds go on learning in the background. None: until it is done."""
        if patience is None:
            self._learn(key, pool, present)
            return
        with self._starting:
            if key in self._learning:  # whoever began waits for it, nobody else does
                return
            self._learning.add(key)
        behind = Thread(target=self._learn_behind, args=(key, pool, present), daemon=True)
        behind.start()
        behind.join(patience)

    def _learn_behind(self, key: Key, pool: Pool, present: Mapping[str, int]) -> None:
        try:
            self._learn(key, pool, present)
        except Exception as error:  # noqa: BLE001 - the database may be closed or away; it is tried again
            _log.warning("nothing was learnt from shared sessions: %s", type(error).__name__)
        finally:
            self._learning.discard(key)

    def _learn(self, key: Key, pool: Pool, present: Mapping[str, int]) -> None:
        """Learn anew if one is gone or much was added; one after another, for it takes long."""
        with self._lock:
            newest = list(present.items())[:MOST_SESSIONS]
            added = self._read([version[0] for version in newest if version not in self._shared])
            self._shared = {
                version: one
                for version in newest
                if (one := self._shared.get(version) or added.get(version[0]))
            }
            usable = {
                version: one.past
                for version, one in self._shared.items()
                if _bucket(one.owner) != key[-1] and self._comparable([one], pool)
            }
            before, _ = self._learnt.get(key, ({}, None))
            if not before.keys() <= present.keys() or _much_added(before, dict(usable.keys())):
                populations = fit(reversed(usable.values())).populations
                population = populations[0] if populations else None
                self._learnt[key] = dict(usable.keys()), population
            self._examined[key] = present

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

    def _read(self, session_ids: Collection[str]) -> dict[str, OwnedSession]:
        """Return sessions as they are remembered; not those that are gone or cannot be read."""
        answers = records.session_answers(self._store, session_ids)
        return {name: one for name, record in answers.items() if (one := self._parse(record))}

    def _parse(self, record: records.SessionAnswers) -> OwnedSession | None:
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
    store: Store,
    owner: str,
    pool: Pool,
    *,
    others: bool = True,
    grows: bool = False,
    patience: float | None = None,
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
    patience : float, optional
        Seconds to wait for what is to be learnt from others; None waits until it is done.
    """
    memory = _memory(store)
    return memory.prior(owner, pool, others=others, grows=grows, patience=patience)


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
