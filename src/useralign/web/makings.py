"""Pools being made by a model, in the background, with their progress in the database.

The process that takes a request makes the pool; any process can tell how far it is. While it is at
work it notes the time every few seconds. Should it die, the next process that is asked about the
making takes it over: what the model said so far is in the draft, and is not paid for twice.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from useralign.errors import NotFoundError, UseralignError
from useralign.pooling import PoolRequest, find_pool, generate_requested
from useralign.store import Interactions, token
from useralign.store.schema import makings
from useralign.web import beginning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Row

    from useralign.models.generators import Generator
    from useralign.pool import Pool
    from useralign.pooling import Event
    from useralign.store import Store
    from useralign.web.settings import Settings

_log = logging.getLogger("useralign.web")
AT_ONCE = 2  # pools that one process makes side by side
PULSE = 5.0  # seconds between signs of life
DEAD = 30.0  # seconds without one
SHOWN = 240  # characters of an answer that are shown while the others are being made


@dataclass(frozen=True, slots=True)
class Making:
    """How far a pool has come.

    Parameters
    ----------
    id : str
    request : dict
        What was asked for: `question`, `kind`, `model`, `size`; `begin`: the wish for a
        session to begin when it is ready; `session`: that session's id.
    state : {"waiting", "making", "ready", "failed"}
    made, wanted : int
        How many of how many candidates there are.
    note : str
        What it is doing, or why it failed.
    arrived : list of str
        The beginnings of the candidates so far.
    pool_id : str or None
    """

    id: str
    request: dict[str, Any]
    state: str
    made: int
    wanted: int
    note: str
    arrived: list[str]
    pool_id: str | None

    @property
    def session_id(self) -> str | None:
        """The session that was begun on the pool, if one was asked for."""
        return self.request.get("session")


class Makings:
    """The makings of a database, and those that this process is at work on.

    Parameters
    ----------
    store : Store
    settings : Settings
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._live = Interactions(store, settings.now)
        self._room = threading.Semaphore(AT_ONCE)
        self._mine: set[str] = set()
        self._lock = threading.Lock()
        self._pulse: threading.Thread | None = None
        self._threads: list[threading.Thread] = []
        self._awake: dict[str, Generator] = {}
        self._local_turn = threading.Lock()
        self._closing = threading.Event()

    def begin(self, owner: str, request: Mapping[str, Any]) -> str:
        """Begin to make a pool and return the making's id.

        Parameters
        ----------
        owner : str
        request : mapping
            See `Making`.
        """
        now = self._settings.now()
        row: dict[str, Any] = {
            "id": token(),
            "owner": owner,
            "request": dict(request),
            "state": "waiting",
            "made": 0,
            "wanted": request.get("size") or 0,
            "note": "Waiting for its turn.",
            "arrived": [],
            "created": now,
            "updated": now,
        }
        with self._store.writing() as connection:
            connection.execute(insert(makings).values(row))
        self._set_to_work(str(row["id"]))
        return str(row["id"])

    def get(self, making_id: str, owner: str) -> Making:
        """Return how far a making is; take it over if whoever was at work on it is gone.

        Raises
        ------
        NotFoundError
            If there is none of that id, or it is somebody else's.
        """
        mine = (makings.c.id == making_id) & (makings.c.owner == owner)
        with self._store.reading() as connection:
            row = connection.execute(select(makings).where(mine)).first()
        if row is None:
            raise NotFoundError("there is no such making")
        if row.state in ("waiting", "making") and self._take_over(row):
            self._set_to_work(making_id)
        return _making(row)

    def retry(self, making_id: str, owner: str) -> None:
        """Make a failed one again, from what is in its draft."""
        self.get(making_id, owner)
        failed = (makings.c.id == making_id) & (makings.c.state == "failed")
        values = {"state": "waiting", "note": "Trying again.", "updated": self._settings.now()}
        with self._store.writing() as connection:
            again = connection.execute(update(makings).where(failed).values(values)).rowcount == 1
        if again:
            self._set_to_work(making_id)

    def forget(self, making_id: str, owner: str) -> None:
        """Delete a making; the pool it made stays."""
        with self._store.writing() as connection:
            mine = (makings.c.id == making_id) & (makings.c.owner == owner)
            connection.execute(delete(makings).where(mine))

    def close(self, seconds: float = 2.0) -> None:
        """Stop what is at work; it goes on in another process, or after a restart.

        Parameters
        ----------
        seconds : float
            How long to wait for it: a model is not stopped in the middle of a word.
        """
        self._closing.set()
        until = time.monotonic() + seconds
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - time.monotonic()))

    def stopping(self) -> bool:
        """Return whether what is at work shall stop."""
        return self._closing.is_set()

    def write(self, making_id: str, **values: Any) -> None:
        """Note how far a making is, and that someone is at work on it."""
        values["updated"] = values.get("updated", self._settings.now())
        with self._store.writing() as connection:
            here = makings.c.id == making_id
            connection.execute(update(makings).where(here).values(values))

    def _set_to_work(self, making_id: str) -> None:
        # Daemons: a model in the middle of a text must not hold up the end of the process.
        with self._lock:
            self._mine.add(making_id)
            if self._pulse is None:
                self._pulse = threading.Thread(target=self._beat, daemon=True)
                self._pulse.start()
            worker = threading.Thread(target=self._work, args=(making_id,), daemon=True)
            self._threads = [thread for thread in self._threads if thread.is_alive()] + [worker]
            worker.start()

    def _take_over(self, row: Row[Any]) -> bool:
        now = self._settings.now()
        if row.id in self._mine or now - row.updated < DEAD:
            return False
        stale = (makings.c.id == row.id) & (makings.c.updated == row.updated)
        with self._store.writing() as connection:
            taken = connection.execute(update(makings).where(stale).values(updated=now))
            return bool(taken.rowcount == 1)

    def _beat(self) -> None:
        """Give signs of life for as long as there is something to do."""
        while not self._closing.wait(PULSE):
            with self._lock:
                mine = tuple(self._mine)
                if not mine:
                    self._pulse = None
                    return
            for making_id in mine:
                try:
                    self.write(making_id)
                except Exception:  # noqa: BLE001 - the database may be away for a while
                    _log.warning("a making could not be noted")

    def _work(self, making_id: str) -> None:
        try:
            with self._room:
                with self._store.reading() as connection:
                    chosen = select(makings).where(makings.c.id == making_id)
                    row = connection.execute(chosen).first()
                if row is not None and not self.stopping():
                    self._make(making_id, row.owner, dict(row.request))
        except _StoppedError:
            self.write(making_id, updated=0.0)  # whoever is asked next takes it over at once
        except UseralignError as error:
            self.write(making_id, state="failed", note=str(error))
        except Exception:  # noqa: BLE001 - whatever it was, the person must be told
            _log.exception("making a pool failed")
            note = "Something went wrong on this server; what the model said so far is kept."
            self.write(making_id, state="failed", note=note)
        finally:
            self._mine.discard(making_id)

    def _make(self, making_id: str, owner: str, request: dict[str, Any]) -> None:
        watch = _Watch(self, making_id)
        self.write(making_id, state="making", note="Looking for answers that are there already.")
        pool, shared = self._obtain(request, watch)
        pool_id = self._store.pools.add(pool, None if shared else owner)
        begin = request.get("begin")
        if begin is not None and "session" not in request:
            screen = beginning.begin(self._store, self._live, pool_id, owner, begin)
            request["session"] = screen.session_id
        size = len(pool)
        self.write(
            making_id,
            state="ready",
            note="Ready.",
            pool_id=pool_id,
            request=request,
            made=size,
            wanted=size,
        )

    def _obtain(self, request: Mapping[str, Any], watch: _Watch) -> tuple[Pool, bool]:
        """Return the pool, and whether it comes with the package and so is everybody's."""
        wanted = PoolRequest(
            request["question"],
            model=request.get("model"),
            size=request.get("size"),
            images=request.get("kind") == "image",
        )
        if wanted.accepts_existing and (found := find_pool(wanted)) is not None:
            return found[0], found[1] is not None
        generator = self._settings.generator(wanted.model)
        if generator.name != "local":
            watch.note(f"Asking {generator.model}.")
            return generate_requested(wanted, generator, watch.see), False
        # One model in memory, and one question at a time: side by side they would both crawl.
        with self._local_turn:
            watch.note(f"Waking {generator.model} on this machine; that takes a moment.")
            generator = self._awake.setdefault(generator.model, generator)
            return generate_requested(wanted, generator, watch.see), False


class _StoppedError(Exception):
    """The process ends while a pool is being made."""


class _Watch:
    """Writes the events of one making into the database."""

    def __init__(self, makings_: Makings, making_id: str) -> None:
        self._makings = makings_
        self._id = making_id
        self._arrived: dict[str, str] = {}

    def note(self, text: str) -> None:
        """Say what is going on."""
        self._makings.write(self._id, note=text)

    def see(self, event: Event) -> None:
        """Take in one event; the end of the process ends the making at the next one."""
        if self._makings.stopping():
            raise _StoppedError
        values: dict[str, Any] = {"made": event.made, "wanted": event.wanted}
        if event.kind == "candidate" and event.candidate is not None:
            shown = str(event.candidate.text or "a picture")[:SHOWN]
            self._arrived[event.candidate.id or str(len(self._arrived))] = shown
            values |= {"arrived": list(self._arrived.values()), "note": "Answers are arriving."}
        elif event.kind == "duplicate" and event.candidate is not None:
            self._arrived.pop(event.candidate.id or "", None)
            values |= {"arrived": list(self._arrived.values())}
        elif event.kind == "ideas" and not self._arrived:
            values["note"] = f"Thinking of different answers: {event.note}."
        elif event.kind == "embedded":
            values["note"] = "Measuring how the answers differ."
        self._makings.write(self._id, **values)


def _making(row: Row[Any]) -> Making:
    names = ("id", "request", "state", "made", "wanted", "note", "arrived", "pool_id")
    return Making(**{name: getattr(row, name) for name in names})
