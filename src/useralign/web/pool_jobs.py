"""Pools being made by a model, in the background, with their progress in the database.

The process that takes a request makes the pool; any process can report how far it is. While it is
at work it notes the time every few seconds. Should it die, the next process that is asked about
the job takes it over: what the model said so far is in the draft, and is not paid for twice.

Candidates are stored as they are written. The session begins when there are enough, or when the
person says so; whatever comes later joins it right after an answer (`JobRunner.arrivals`).
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign import models, registry
from useralign.errors import ConflictError, NotFoundError, StoreError, UseralignError
from useralign.models import embedder_for
from useralign.pool import Candidate, Pool
from useralign.pooling import (
    Growth,
    PoolRequest,
    Recipe,
    default_recipe,
    find_pool,
    generate_requested,
)
from useralign.pooling.select import Features, normalisation, twin_of
from useralign.store import Interactions, UserResponse
from useralign.web import logs, start_session
from useralign.web.problems import for_visitors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from useralign.models import Generator
    from useralign.pooling import Event
    from useralign.pooling.recipe import Kind
    from useralign.store import PoolJob, Screen, Store, StoredSession
    from useralign.web.settings import Settings

_log = logging.getLogger("useralign.web")
AT_ONCE = 2  # pools that one process makes side by side
MOST_OPEN = 3  # unfinished jobs of one visitor
PULSE = 5.0  # seconds between signs of life
DEAD = 30.0  # seconds without one
EXCERPT = 240  # characters of an answer that are shown while the others are being made
FEWEST = 4  # candidates from which on a person may begin
ENOUGH = 8  # from which on the session begins by itself
MORE = 6  # candidates that "more like this" asks for
MOST_MORE = 30  # that may be asked for in one session
SCREENS = 2  # to compare what has joined after the end
# Ends that new candidates do not change unless the person wants to go on.
OVER = ("stopped", "chosen", "budget", "limit", "indifferent")


class JobRunner:
    """Works on the pool jobs of a database."""

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

    def find_ready(self, owner: str, pool_request: PoolRequest) -> str | None:
        """Return the id of a pool that need not be made, now stored; None if it must be."""
        if (ready := find_pool(pool_request)) is None:
            return None
        pool, shipped = ready
        return self._store.pools.add(pool, owner if shipped is None else None)  # or everybody's

    def start(
        self,
        owner: str,
        pool_request: PoolRequest,
        begin: Mapping[str, Any] | None = None,
        most: int | None = None,
    ) -> str:
        """Begin to make a pool and return the job's id; `begin` are the options of its session.

        Raises `ConflictError` if the owner has `most` unfinished jobs already.
        """
        names = ("question", "kind", "model", "size")
        request: dict[str, Any] = {name: getattr(pool_request, name) for name in names}
        if begin is not None:
            request["begin"] = begin
        job_id = self._store.pool_jobs.add(owner, request, self._settings.now(), most)
        self._set_to_work(job_id)
        return job_id

    def get(self, job_id: str, owner: str) -> PoolJob:
        """Return how far a job is; take it over if whoever was at work on it is gone."""
        job = self._store.pool_jobs.get(job_id, owner)
        given_up = job.is_open and job.id not in self._running and abs(job.age) >= DEAD
        if given_up and self._store.pool_jobs.take_over(job.id, DEAD):
            self._set_to_work(job_id)
        return job

    def retry(self, job_id: str, owner: str) -> None:
        """Go on with a failed or cancelled one, from what is in its draft."""
        self.get(job_id, owner)
        again = {"state": "waiting", "note": "Trying again."}
        if self._store.pool_jobs.write(job_id, again, ("failed", "cancelled")):
            self._set_to_work(job_id)

    def cancel(self, job_id: str, owner: str) -> None:
        """Stop a job; what was made so far stays, and can be used, gone on with, or deleted."""
        self._store.pool_jobs.get(job_id, owner)
        ended = {"state": "cancelled", "note": "You cancelled it."}
        self._store.pool_jobs.write(job_id, ended)

    def begin(self, job_id: str, owner: str) -> str:
        """Begin the session of a job over the candidates that are there; return its id.

        There is one session for a job, whoever begins it, and however often. Raises `ConflictError`
        if there are too few candidates as yet.
        """
        for _ in range(10):
            job = self._store.pool_jobs.get(job_id, owner)
            if job.session_id is not None:
                return job.session_id
            if job.pool_id is None:
                raise ConflictError("there are too few answers to begin with")
            try:
                pool = self._store.pools.get(job.pool_id, owner)
                begin = job.request["begin"]
                settings = start_session.settings_for(self._store, pool, owner, begin)
                settings["page"]["making"] = job.id
                screen = self._live.create(
                    job.pool_id,
                    owner,
                    settings,
                    first=partial(self._check_unmoved, job),
                    also=partial(self._note_session, job),
                )
            except NotFoundError:
                continue  # one more candidate has arrived, or somebody else has begun
            return screen.session_id
        raise ConflictError("answers are arriving just now; try again")

    def arrivals(self, stored: StoredSession) -> Pool | None:
        """Return a session's pool with what was made for it since; None if there is nothing new."""
        job_id = stored.page.get("making")
        if job_id is None:
            return None
        try:
            job = self.get(job_id, stored.owner)
            if job.pool_id in (None, stored.screen.pool_id):
                return None
            larger = self._store.pools.of_session(str(job.pool_id))
        except NotFoundError:  # deleted, or replaced just now
            return None
        return _joined(stored.session.pool, larger)

    def join(self, stored: StoredSession) -> None:
        """Let what has arrived join a session; call it right after an answer.

        A session that is over for good stays so: its page offers to include the rest.
        """
        if stored.screen.finished not in OVER and (pool := self.arrivals(stored)) is not None:
            with suppress(ConflictError):  # the next screen was answered already, in another tab
                stored.grow(stored.screen.step, pool, start_session.options_for(stored, pool))

    def include(self, stored: StoredSession) -> None:
        """Let what has arrived join a session that is over, and ask a few more screens."""
        if (pool := self.arrivals(stored)) is not None:
            self._go_on_with(stored, pool)

    def can_grow(self, stored: StoredSession) -> bool:
        """Whether a model here can make more candidates like those that the person liked."""
        job = self._job_of(stored)
        if job is not None and job.is_open and "grow" not in job.request:
            return False  # the rest of the first ones is still to come
        pool = stored.session.pool
        kind = _kind(pool)
        grown = sum(candidate.source == "grown" for candidate in pool)
        return (
            self._settings.visitors_may_make
            and grown < MOST_MORE
            and pool.embedder in registry.names("embedders")
            and any(kind in choice.makes and not choice.too_small for choice in models.available())
        )

    def grow(self, stored: StoredSession) -> str:
        """Begin to make candidates like those that the person liked; return the job's id.

        One job for a session at a time: while one is at work, its id is returned. Raises
        `ConflictError` if no model can do that, or the owner has too many unfinished jobs.
        """
        job = self._job_of(stored)
        if job is not None and job.is_open:
            return job.id
        if not self.can_grow(stored):
            raise ConflictError("there is no model here that can make more")
        model = stored.session.pool.meta.get("generator")
        request = {
            "question": stored.session.pool.question,
            "model": model if isinstance(model, str) else None,
            "session": stored.id,
            "grow": MORE,
        }
        job_id = self._store.pool_jobs.add(stored.owner, request, self._settings.now(), MOST_OPEN)
        self._live.set_page(stored.id, stored.owner, making=job_id)
        self._set_to_work(job_id)
        return job_id

    def close(self, seconds: float = 2.0) -> None:
        """Stop what is at work; it goes on in another process, or after a restart.

        It is waited for a moment: a model is not stopped in the middle of a word.
        """
        self._closing.set()
        until = time.monotonic() + seconds
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - time.monotonic()))

    def write(self, job_id: str, **values: Any) -> None:
        """Note how far a job is; raise `_StoppedError` if it is not wanted any more."""
        if self._closing.is_set() or not self._store.pool_jobs.write(job_id, values):
            raise _StoppedError

    def keep(self, job_id: str, pool: Pool, **values: Any) -> None:
        """Store the candidates so far; raises as `write` does."""
        if self._closing.is_set() or not self._store.pool_jobs.keep(job_id, pool, values):
            raise _StoppedError

    def _job_of(self, stored: StoredSession) -> PoolJob | None:
        job_id = stored.page.get("making")
        return self._store.pool_jobs.find(job_id) if job_id else None

    def _check_unmoved(self, job: PoolJob, connection: Connection) -> None:
        now = self._store.pool_jobs.hold(connection, job.id)
        if now.session_id is not None or now.pool_id != job.pool_id:
            raise NotFoundError("the job has another pool by now, or a session")

    def _note_session(self, job: PoolJob, connection: Connection, screen: Screen) -> None:
        request = {**job.request, "session": screen.session_id}
        self._store.pool_jobs.set_pool(connection, job, job.pool_id, {"request": request})

    def _set_to_work(self, job_id: str) -> None:
        # Daemons: a model in the middle of a text must not hold up the end of the process.
        with self._lock:
            if job_id in self._running:
                return  # whoever is at work on it sees that it is open again
            self._running.add(job_id)
            if self._pulse is None:
                self._pulse = threading.Thread(target=self._beat, daemon=True)
                self._pulse.start()
            worker = threading.Thread(target=self._work, args=(job_id,), daemon=True)
            self._threads = [thread for thread in self._threads if thread.is_alive()] + [worker]
            worker.start()

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
                    self._store.pool_jobs.write(job_id, {})
                except Exception:  # noqa: BLE001 - the database may be away for a while
                    _log.warning("a making could not be noted")

    def _work(self, job_id: str) -> None:
        try:
            with self._room:
                job = self._store.pool_jobs.find(job_id)
                if job is not None and job.is_open and not self._closing.is_set():
                    (self._make_more if "grow" in job.request else self._make)(job)
        except _StoppedError:
            # If it is this process that ends, whoever is asked next takes it over at once.
            with suppress(StoreError):
                self._store.pool_jobs.write(job_id, {"updated": 0.0})
        except UseralignError as error:
            self._fail(job_id, for_visitors(error, self._settings))
        except Exception as error:  # noqa: BLE001 - whatever it was, the person must be told
            _log.error("making a pool failed: %s", logs.brief(error))
            note = "Something went wrong on this server; what the model said so far is kept."
            self._fail(job_id, note)
        finally:
            self._running.discard(job_id)

    def _fail(self, job_id: str, note: str) -> None:
        try:
            self._store.pool_jobs.write(job_id, {"state": "failed", "note": note})
        except StoreError:  # logged already; another process takes the job over
            _log.warning("that a making failed could not be noted")

    def _make(self, job: PoolJob) -> None:
        self.write(job.id, state="making", note="Looking for answers that are there already.")
        request = job.request
        pool_request = PoolRequest(
            request["question"],
            model=request.get("model"),
            size=request.get("size"),
            images=request.get("kind") == "image",
        )
        pool, shipped = find_pool(pool_request) or (self._generated(job, pool_request), None)
        done = {"state": "ready", "note": "Ready.", "made": len(pool), "wanted": len(pool)}
        if shipped is not None:  # it is everybody's
            self.write(job.id, **done, pool_id=self._store.pools.add(pool))
        elif not self._store.pool_jobs.keep(job.id, pool, done, part=False):
            raise _StoppedError
        if "begin" in request:
            self.begin(job.id, job.owner)

    def _generated(self, job: PoolJob, pool_request: PoolRequest) -> Pool:
        with self._model(job.id, pool_request.model) as generator:
            recipe = default_recipe(generator, kind=pool_request.kind, size=pool_request.size)
            arrivals = _Arrivals(self, job, recipe)
            if job.pool_id is not None:
                arrivals.resume(self._store.pools.of_session(job.pool_id))
            return generate_requested(pool_request, generator, arrivals.see)

    def _make_more(self, job: PoolJob) -> None:
        """Make candidates for a session; they join at once if the person waits at its end."""
        self.write(job.id, state="making", note="Thinking of what you liked.")
        stored = self._live.open(str(job.session_id), job.owner)
        session = stored.session
        session.go_on(SCREENS)  # in this copy: new candidates join what is not over

        def see(event: Event) -> None:
            values: dict[str, Any] = {"made": event.made, "wanted": event.wanted}
            if event.kind == "candidate":
                values["note"] = "Answers are arriving."
            self.write(job.id, **values)

        with self._model(job.id, job.request.get("model")) as generator:
            growth = Growth(generator, batch=int(job.request["grow"]), most=MOST_MORE)
            proposal = growth.propose(growth.snapshot(session), see)
            if not growth.join(session, proposal).joined:
                raise ConflictError(
                    proposal.problem or "the model had nothing new to say; try again later"
                )
        done = {"state": "ready", "note": "Ready."}
        stored = self._live.open(stored.id, stored.owner)
        if stored.screen.finished is not None:
            pool = _joined(stored.session.pool, session.pool)

            def note(connection: Connection, _: Screen) -> None:
                # In one transaction, so that whoever takes the job over does not grow it again.
                now = self._store.pool_jobs.hold(connection, job.id)
                self._store.pool_jobs.set_pool(connection, now, None, done)

            if pool is not None and self._go_on_with(stored, pool, note):
                return
        self.keep(job.id, session.pool, **done)

    def _go_on_with(
        self,
        stored: StoredSession,
        pool: Pool,
        also: Callable[[Connection, Screen], None] | None = None,
    ) -> bool:
        """Ask a few more screens, over a larger pool; return whether nobody was faster."""
        try:
            if stored.screen.finished is not None:
                stored.answer(stored.screen.step, UserResponse("go_on"))
            options = start_session.options_for(stored, pool)
            stored.grow(stored.screen.step, pool, options, also=also)
        except ConflictError:
            return False  # what has arrived joins after their next answer
        return True

    @contextmanager
    def _model(self, job_id: str, name: str | None) -> Iterator[Generator]:
        generator = self._settings.generator(name)
        if generator.name != "local":
            self.write(job_id, note=f"Asking {generator.model}.")
            yield generator
            return
        # One model in memory, and one question at a time: side by side they would both crawl.
        with self._local_turn:
            self.write(job_id, note=f"Waking {generator.model} on this machine.")
            yield self._loaded.setdefault(generator.model, generator)


class _StoppedError(Exception):
    """The job was cancelled or deleted, or the process ends."""


class _Arrivals:
    """The candidates of one job as they are written, none too much like another."""

    def __init__(self, runner: JobRunner, job: PoolJob, recipe: Recipe) -> None:
        self._runner = runner
        self._job = job
        self._recipe = recipe
        self._features = Features(embedder_for(None, recipe.kind), recipe.kind)
        self._candidates: list[Candidate] = []
        self._rows: list[NDArray[np.float64]] = []
        self._begun = "begin" not in job.request or job.session_id is not None

    def resume(self, pool: Pool) -> None:
        """Go on from what another process stored."""
        self._candidates, self._rows = list(pool), list(pool.raw_features)

    def see(self, event: Event) -> None:
        """Take in one event; a job that was cancelled, or whose process ends, ends here."""
        values: dict[str, Any] = {"wanted": event.wanted, "made": len(self._candidates)}
        if event.kind == "candidate" and event.candidate is not None:
            self._take(event.candidate, values)
            return
        if event.kind == "ideas" and not self._candidates:
            values["note"] = f"Thinking of different answers: {event.note}."
        elif event.kind == "embedded":
            values["note"] = "Measuring how the answers differ."
        self._runner.write(self._job.id, **values)

    def _take(self, candidate: Candidate, values: dict[str, Any]) -> None:
        if candidate.id in {other.id for other in self._candidates}:
            self._runner.write(self._job.id, **values)
            return
        self._features.embed([candidate])
        row = self._features.of(candidate)
        rows = np.array(self._rows).reshape(len(self._rows), len(row))
        if twin_of(candidate, row, self._candidates, rows, self._recipe) is None:
            self._candidates.append(candidate)
            self._rows.append(row)
        values |= {
            "made": len(self._candidates),
            "arrived": [str(c.text or "a picture")[:EXCERPT] for c in self._candidates],
            "note": "Answers are arriving.",
        }
        if len(self._candidates) < FEWEST:
            self._runner.write(self._job.id, **values)
            return
        self._runner.keep(self._job.id, self._pool(), **values)
        if not self._begun and len(self._candidates) >= ENOUGH:
            self._runner.begin(self._job.id, self._job.owner)
            self._begun = True

    def _pool(self) -> Pool:
        rows = np.array(self._rows)
        return Pool(
            self._job.request["question"],
            self._candidates,
            rows,
            normalise=normalisation(rows),
            embedder=self._features.embedder.name,
            meta={"kind": self._recipe.kind, "recipe": self._recipe.identity()},
        )


def _kind(pool: Pool) -> Kind:
    return "image" if all(candidate.is_picture for candidate in pool) else "text"


def _joined(pool: Pool, other: Pool) -> Pool | None:
    """Return a pool with those of another that are unlike all it has; None if there are none."""
    if (other.embedder, other.dimension) != (pool.embedder, pool.dimension):
        return None
    recipe = Recipe(kind=_kind(pool))  # says what is too much alike
    labels = {candidate.label for candidate in pool}
    candidates, rows = list(pool), pool.raw_features
    for candidate, row in zip(other, other.raw_features, strict=True):
        if candidate.label in labels or twin_of(candidate, row, candidates, rows, recipe):
            continue
        candidates.append(candidate)
        rows = np.vstack([rows, row])
    new = candidates[len(pool) :]
    return pool.extended(new, rows[len(pool) :]) if new else None
