"""Pools being made by a model: requests and progress, as rows that any process can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from useralign.errors import NotFoundError
from useralign.store.keys import token
from useralign.store.schema import makings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Row

    from useralign.store.database import Database


@dataclass(frozen=True, slots=True)
class PoolJob:
    """How far a pool has come.

    Parameters
    ----------
    id, owner : str
    request : dict
        What was asked for: `question`, `kind`, `model`, `size`; `begin`: the settings of a session
        to begin when the pool is ready; `session`: that session's id.
    state : {"waiting", "making", "ready", "failed"}
    made, wanted : int
        How many of how many candidates there are.
    note : str
        What the job is doing, or why it failed.
    arrived : list of str
        The beginnings of the candidates so far.
    pool_id : str or None
    updated : float
        When the process at work last wrote, in seconds since 1970.
    """

    id: str
    owner: str
    request: dict[str, Any]
    state: str
    made: int
    wanted: int
    note: str
    arrived: list[str]
    pool_id: str | None
    updated: float

    @property
    def session_id(self) -> str | None:
        """The session that was begun on the pool, if one was asked for."""
        return self.request.get("session")


class PoolJobs:
    """The jobs of a database.

    Parameters
    ----------
    database : Database
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, owner: str, request: Mapping[str, Any], now: float) -> str:
        """Write a new job and return its id."""
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
        with self._database.writing() as connection:
            connection.execute(insert(makings).values(row))
        return str(row["id"])

    def get(self, job_id: str, owner: str) -> PoolJob:
        """Return a job.

        Raises
        ------
        NotFoundError
            If there is none of that id, or it is somebody else's.
        """
        job = self.find(job_id)
        if job is None or job.owner != owner:
            raise NotFoundError("there is no such making")
        return job

    def find(self, job_id: str) -> PoolJob | None:
        """Return a job of anybody's, or None if it was deleted."""
        with self._database.reading() as connection:
            row = connection.execute(select(makings).where(makings.c.id == job_id)).first()
        return None if row is None else _job(row)

    def write(self, job_id: str, values: Mapping[str, Any]) -> None:
        """Note how far a job is."""
        with self._database.writing() as connection:
            connection.execute(update(makings).where(makings.c.id == job_id).values(dict(values)))

    def retry(self, job_id: str, now: float) -> bool:
        """Set a failed job to waiting; return whether it had failed."""
        failed = (makings.c.id == job_id) & (makings.c.state == "failed")
        values = {"state": "waiting", "note": "Trying again.", "updated": now}
        with self._database.writing() as connection:
            return connection.execute(update(makings).where(failed).values(values)).rowcount == 1

    def take_over(self, job: PoolJob, now: float) -> bool:
        """Claim a job whose process is gone; return False if another process was faster."""
        stale = (makings.c.id == job.id) & (makings.c.updated == job.updated)
        with self._database.writing() as connection:
            claimed = connection.execute(update(makings).where(stale).values(updated=now))
            return claimed.rowcount == 1


def _job(row: Row[Any]) -> PoolJob:
    return PoolJob(**{name: getattr(row, name) for name in PoolJob.__slots__})
