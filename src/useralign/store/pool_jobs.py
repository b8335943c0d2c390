"""Pools being made by a model: requests and progress, as rows that any process can read.

Who works on a job notes the time now and then, by the clock of the database, which all processes
share. A job without such a sign for a while, or with one from the future (the clock was set back),
may be taken over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from useralign.errors import ConflictError, NotFoundError
from useralign.store.database import Part, take_turns
from useralign.store.keys import token
from useralign.store.pools import MADE, delete_unused, insert_pool, row_of
from useralign.store.schema import makings, pools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection, Row

    from useralign.pool import Pool

OPEN = ("waiting", "making")


@dataclass(frozen=True, slots=True)
class PoolJob:
    """How far a pool has come."""

    id: str
    owner: str
    # What was asked for: `question`, `kind`, `model`, `size`; `begin`: the settings of a session to
    # begin when there are enough candidates; `session`: that session's id, or the one that `grow`
    # says new candidates are for.
    request: dict[str, Any]
    state: str  # waiting, making, ready, failed or cancelled
    made: int  # how many candidates there are
    wanted: int  # and how many there are to be
    note: str  # what the job is doing, or why it failed
    arrived: list[str]  # the beginnings of the candidates so far
    # The pool: of the candidates so far, once there are a few, and in the end the whole of it.
    pool_id: str | None
    age: float  # seconds since the process at work last wrote

    @property
    def session_id(self) -> str | None:
        """The session that was begun on the pool, or is to get the candidates."""
        return self.request.get("session")

    @property
    def is_open(self) -> bool:
        """Whether it is still being worked on, or waits to be."""
        return self.state in OPEN


class PoolJobs(Part):
    """The jobs of a database."""

    def add(
        self, owner: str, request: Mapping[str, Any], now: float, most: int | None = None
    ) -> str:
        """Write a new job and return its id.

        A ConflictError if the owner has `most` unfinished jobs already.
        """
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
            "updated": self._database.time,
        }
        with self._database.writing() as connection:
            if most is not None:
                take_turns(connection, owner)
                unfinished = (makings.c.owner == owner) & makings.c.state.in_(OPEN)
                count = connection.execute(select(func.count()).where(unfinished)).scalar_one()
                if count >= most:
                    raise ConflictError(f"{count} questions are being worked on for you")
            connection.execute(insert(makings).values(row))
        return str(row["id"])

    def get(self, job_id: str, owner: str) -> PoolJob:
        """Return a job; a NotFoundError if there is none of that id, or it is somebody else's."""
        job = self.find(job_id)
        if job is None or job.owner != owner:
            raise NotFoundError("there is no such making")
        return job

    def find(self, job_id: str) -> PoolJob | None:
        """Return a job of anybody's, or None if it was deleted."""
        row = self._database.first(self._one(job_id))
        return None if row is None else _job(row)

    def write(self, job_id: str, values: Mapping[str, Any], states: tuple[str, ...] = OPEN) -> bool:
        """Note how far a job is if it is in one of some states; return whether it was."""
        which = (makings.c.id == job_id) & makings.c.state.in_(states)
        new = {"updated": self._database.time} | dict(values)
        return self._database.change(update(makings).where(which).values(new)) == 1

    def delete(self, job_id: str, owner: str) -> None:
        """Delete a job and what it made so far, unless a session uses that."""
        with self._database.writing() as connection:
            job = self.hold(connection, job_id)
            if job.owner != owner:
                raise NotFoundError("there is no such making")
            forget_job(connection, job_id)

    def take_over(self, job_id: str, dead: float) -> bool:
        """Claim a job whose process is gone; return False if it is not, or another was faster.

        After `dead` seconds without a sign a process is gone.
        """
        now = self._database.time
        stale = func.abs(now - makings.c.updated) >= dead
        which = (makings.c.id == job_id) & makings.c.state.in_(OPEN) & stale
        return self._database.change(update(makings).where(which).values(updated=now)) == 1

    def hold(self, connection: Connection, job_id: str) -> PoolJob:
        """Return a job, which nobody else changes or deletes before the transaction ends."""
        row = connection.execute(self._one(job_id).with_for_update()).first()
        if row is None:
            raise NotFoundError("there is no such making")
        return _job(row)

    def keep(
        self, job_id: str, pool: Pool, values: Mapping[str, Any], *, part: bool = True
    ) -> bool:
        """Store the candidates so far as the job's pool; return whether it is still open.

        The pool before it goes, unless a session uses it. All in one transaction: who deletes the
        job, or all that a person has, deletes its pool, too. `values` are what else to note; a
        `part` goes with the job, else it is a pool like any other.
        """
        job = self.find(job_id)
        if job is None:
            return False
        row, pictures = row_of(pool, job.owner)
        row |= {"fingerprint": f"{MADE}{row['fingerprint']}"} if part else {}
        with self._database.writing() as connection:
            try:
                job = self.hold(connection, job_id)
            except NotFoundError:
                return False
            if not job.is_open:
                return False
            pool_id = insert_pool(connection, row, pictures)
            self.set_pool(connection, job, pool_id, values)
        return True

    def set_pool(
        self, connection: Connection, job: PoolJob, pool_id: str | None, values: Mapping[str, Any]
    ) -> None:
        """Give a job that is held another pool; the one before goes unless a session uses it."""
        which = makings.c.id == job.id
        new = {"updated": self._database.time, **values, "pool_id": pool_id}
        connection.execute(update(makings).where(which).values(new))
        if pool_id != job.pool_id:
            _delete_part(connection, job.pool_id)

    def _one(self, job_id: str) -> Any:
        columns = [makings.c[name] for name in PoolJob.__slots__ if name != "age"]
        age: ColumnElement[float] = self._database.time - makings.c.updated
        return select(*columns, age.label("age")).where(makings.c.id == job_id)


def forget_job(connection: Connection, job_id: str) -> None:
    """Delete a job, and its pool if that goes with it; nothing if it is gone already."""
    which = makings.c.id == job_id
    pool_id = connection.execute(select(makings.c.pool_id).where(which)).scalar()
    connection.execute(delete(makings).where(which))
    _delete_part(connection, pool_id)


def _delete_part(connection: Connection, pool_id: str | None) -> None:
    """Delete a pool that was stored while it was being made, unless a session uses it."""
    delete_unused(connection, (pools.c.id == pool_id) & pools.c.fingerprint.startswith(MADE))


def _job(row: Row[Any]) -> PoolJob:
    return PoolJob(**{name: getattr(row, name) for name in PoolJob.__slots__})
