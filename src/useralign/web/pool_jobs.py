"""Pools being made by a model, in the background, with their progress in the database.

The process that takes a request makes the pool; any process can report how far it is. While it is
at work it notes the time every few seconds. Should it die, the next process that is asked about
the job takes it over: what the model said so far is in the draft, and is not paid for twice.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from useralign.errors import UseralignError
from useralign.pooling import PoolRequest, find_pool, generate_requested
from useralign.store import Interactions
from useralign.web import start_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.models import Generator
    from useralign.pool import Pool
    from useralign.pooling import Event
    from useralign.store import PoolJob, Store
    from useralign.web.settings import Settings

_log = logging.getLogger("useralign.web")
AT_ONCE = 2  # pools that one process makes side by side
PULSE = 5.0  # seconds between signs of life
DEAD = 30.0  # seconds without one
EXCERPT = 240  # characters of an answer that are shown while the others are being made


class JobRunner:
    """Works on the pool jobs of a database.

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
        self._running: set[str] = set()
        self._lock = threading.Lock()
        self._pulse: threading.Thread | None = None
        self._threads: list[threading.Thread] = []
        self._loaded: dict[str, Generator] = {}
        self._local_turn = threading.Lock()
        self._closing = threading.Event()

    def start(self, owner: str, request: Mapping[str, Any]) -> str:
        """Begin to make a pool and return the job's id.

        Parameters
        ----------
        owner : str
        request : mapping
            See `PoolJob`.
        """
        job_id = self._store.pool_jobs.add(owner, request, self._settings.now())
        self._set_to_work(job_id)
        return job_id

    def get(self, job_id: str, owner: str) -> PoolJob:
        """Return how far a job is; take it over if whoever was at work on it is gone.

        Raises
        ------
        NotFoundError
            If there is none of that id, or it is somebody else's.
        """
        job = self._store.pool_jobs.get(job_id, owner)
        if job.state in ("waiting", "making") and self._take_over(job):
            self._set_to_work(job_id)
        return job

    def retry(self, job_id: str, owner: str) -> None:
        """Make a failed one again, from what is in its draft."""
        self.get(job_id, owner)
        if self._store.pool_jobs.retry(job_id, self._settings.now()):
            self._set_to_work(job_id)

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

    def write(self, job_id: str, **values: Any) -> None:
        """Note how far a job is, and that someone is at work on it."""
        self._store.pool_jobs.write(job_id, {"updated": self._settings.now()} | values)

    def _set_to_work(self, job_id: str) -> None:
        # Daemons: a model in the middle of a text must not hold up the end of the process.
        with self._lock:
            self._running.add(job_id)
            if self._pulse is None:
                self._pulse = threading.Thread(target=self._beat, daemon=True)
                self._pulse.start()
            worker = threading.Thread(target=self._work, args=(job_id,), daemon=True)
            self._threads = [thread for thread in self._threads if thread.is_alive()] + [worker]
            worker.start()

    def _take_over(self, job: PoolJob) -> bool:
        now = self._settings.now()
        if job.id in self._running or now - job.updated < DEAD:
            return False
        return self._store.pool_jobs.take_over(job, now)

    def _beat(self) -> None:
        """Write the time into every running job, now and then, until none is left."""
        while not self._closing.wait(PULSE):
            with self._lock:
                running = tuple(self._running)
                if not running:
                    self._pulse = None
                    return
            for job_id in running:
                try:
                    self.write(job_id)
                except Exception:  # noqa: BLE001 - the database may be away for a while
                    _log.warning("a making could not be noted")

    def _work(self, job_id: str) -> None:
        try:
            with self._room:
                job = self._store.pool_jobs.find(job_id)
                if job is not None and not self.stopping():
                    self._make(job)
        except _StoppedError:
            self.write(job_id, updated=0.0)  # whoever is asked next takes it over at once
        except UseralignError as error:
            self.write(job_id, state="failed", note=str(error))
        except Exception:  # noqa: BLE001 - whatever it was, the person must be told
            _log.exception("making a pool failed")
            note = "Something went wrong on this server; what the model said so far is kept."
            self.write(job_id, state="failed", note=note)
        finally:
            self._running.discard(job_id)

    def _make(self, job: PoolJob) -> None:
        watch = _Watch(self, job.id)
        self.write(job.id, state="making", note="Looking for answers that are there already.")
        request = dict(job.request)
        pool, shared = self._obtain(request, watch)
        pool_id = self._store.pools.add(pool, None if shared else job.owner)
        begin = request.get("begin")
        if begin is not None and "session" not in request:
            screen = start_session.begin(self._store, self._live, pool_id, job.owner, begin)
            request["session"] = screen.session_id
        size = len(pool)
        self.write(
            job.id,
            state="ready",
            note="Ready.",
            pool_id=pool_id,
            request=request,
            made=size,
            wanted=size,
        )

    def _obtain(self, request: Mapping[str, Any], watch: _Watch) -> tuple[Pool, bool]:
        """Return the pool, and whether it comes with the package and so is everybody's."""
        pool_request = PoolRequest(
            request["question"],
            model=request.get("model"),
            size=request.get("size"),
            images=request.get("kind") == "image",
        )
        if pool_request.accepts_existing and (ready := find_pool(pool_request)) is not None:
            return ready[0], ready[1] is not None
        generator = self._settings.generator(pool_request.model)
        if generator.name != "local":
            watch.note(f"Asking {generator.model}.")
            return generate_requested(pool_request, generator, watch.see), False
        # One model in memory, and one question at a time: side by side they would both crawl.
        with self._local_turn:
            watch.note(f"Waking {generator.model} on this machine; that takes a moment.")
            generator = self._loaded.setdefault(generator.model, generator)
            return generate_requested(pool_request, generator, watch.see), False


class _StoppedError(Exception):
    """The process ends while a pool is being made."""


class _Watch:
    """Writes the events of one job into the database."""

    def __init__(self, runner: JobRunner, job_id: str) -> None:
        self._runner = runner
        self._id = job_id
        self._arrived: dict[str, str] = {}

    def note(self, text: str) -> None:
        """Note what is going on."""
        self._runner.write(self._id, note=text)

    def see(self, event: Event) -> None:
        """Take in one event; the end of the process ends the job at the next one."""
        if self._runner.stopping():
            raise _StoppedError
        values: dict[str, Any] = {"made": event.made, "wanted": event.wanted}
        if event.kind == "candidate" and event.candidate is not None:
            excerpt = str(event.candidate.text or "a picture")[:EXCERPT]
            self._arrived[event.candidate.id or str(len(self._arrived))] = excerpt
            values |= {"arrived": list(self._arrived.values()), "note": "Answers are arriving."}
        elif event.kind == "duplicate" and event.candidate is not None:
            self._arrived.pop(event.candidate.id or "", None)
            values |= {"arrived": list(self._arrived.values())}
        elif event.kind == "ideas" and not self._arrived:
            values["note"] = f"Thinking of different answers: {event.note}."
        elif event.kind == "embedded":
            values["note"] = "Measuring how the answers differ."
        self._runner.write(self._id, **values)
