"""People who come back, known by the hash of the token in their browser and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, update

from useralign.store import media
from useralign.store.pools import GROWN
from useralign.store.schema import makings, persons, pools, sessions

if TYPE_CHECKING:
    from useralign.store.database import Database

_EVERY = 3600.0  # seconds: a visit is noted once an hour, not with each request


@dataclass(frozen=True, slots=True)
class Person:
    """What someone allows.

    Parameters
    ----------
    id : str
    remember : bool
        Their earlier answers may make their next session shorter.
    share : bool
        Their answers may make other people's sessions shorter.
    """

    id: str
    remember: bool = False
    share: bool = False


class Persons:
    """The people of a database.

    Parameters
    ----------
    database : Database
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, person_id: str) -> Person:
        """Return what someone allows; of a stranger, nothing."""
        with self._database.reading() as connection:
            row = connection.execute(select(persons).where(persons.c.id == person_id)).first()
        return Person(person_id) if row is None else Person(row.id, row.remember, row.share)

    def visit(self, person_id: str, now: float) -> Person:
        """Note that someone is here, and return what they allow."""
        with self._database.reading() as connection:
            row = connection.execute(select(persons).where(persons.c.id == person_id)).first()
        if row is not None and now - row.seen < _EVERY:
            return Person(row.id, row.remember, row.share)
        with self._database.writing() as connection:
            is_person = persons.c.id == person_id
            if not connection.execute(update(persons).where(is_person).values(seen=now)).rowcount:
                fresh = {"id": person_id, "created": now, "seen": now}
                connection.execute(insert(persons).values(**fresh, remember=False, share=False))
        return self.get(person_id)

    def allow(self, person_id: str, *, remember: bool, share: bool) -> None:
        """Change what someone allows; they must have visited."""
        with self._database.writing() as connection:
            is_person = persons.c.id == person_id
            values = {"remember": remember, "share": share}
            connection.execute(update(persons).where(is_person).values(**values))

    def others_share(self, person_id: str) -> bool:
        """Return whether anybody else lets others profit from their answers."""
        others = select(persons.c.id).where(persons.c.share, persons.c.id != person_id).limit(1)
        with self._database.reading() as connection:
            return connection.execute(others).first() is not None

    def forget(self, person_id: str) -> None:
        """Delete someone with all their sessions, pools, and pictures that nobody else has."""
        with self._database.writing() as connection:
            pictures = media.pictures_of(connection, pools.c.owner == person_id)
            for table in (makings, sessions, pools):
                connection.execute(delete(table).where(table.c.owner == person_id))
            media.delete_unused(connection, pictures)
            connection.execute(delete(persons).where(persons.c.id == person_id))

    def forget_sessions(self, person_id: str) -> None:
        """Delete all sessions of someone, and the pools that have grown in them."""
        with self._database.writing() as connection:
            grown = (pools.c.owner == person_id) & pools.c.fingerprint.startswith(GROWN)
            pictures = media.pictures_of(connection, grown)
            connection.execute(delete(sessions).where(sessions.c.owner == person_id))
            connection.execute(delete(pools).where(grown))
            media.delete_unused(connection, pictures)
