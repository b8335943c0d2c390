"""People who come back, known by the hash of the token in their browser and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from useralign.store.database import insert_for
from useralign.store.pools import delete_pools, not_aside
from useralign.store.schema import makings, persons, pools, sessions

if TYPE_CHECKING:
    from sqlalchemy import Row

    from useralign.store.database import Database

_EVERY = 3600.0  # seconds: a visit is noted once an hour, not with each request


@dataclass(frozen=True, slots=True)
class Person:
    """What someone allows."""

    id: str
    remember: bool = False  # their earlier answers may make their next session shorter
    share: bool = False  # their answers may make other people's sessions shorter


class Persons:
    """The people of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, person_id: str) -> Person:
        """Return what someone allows; of a stranger, nothing."""
        row = self._find(person_id)
        return Person(person_id) if row is None else Person(row.id, row.remember, row.share)

    def visit(self, person_id: str, now: float) -> Person:
        """Note that someone is here, and return what they allow."""
        row = self._find(person_id)
        if row is not None and now - row.seen < _EVERY:
            return Person(row.id, row.remember, row.share)
        first = {"created": now, "seen": now, "remember": False, "share": False}
        with self._database.writing() as connection:
            visit = (
                insert_for(connection, persons)
                .values(id=person_id, **first)
                .on_conflict_do_update(index_elements=["id"], set_={"seen": now})
                .returning(persons.c.remember, persons.c.share)
            )
            row = connection.execute(visit).one()
        return Person(person_id, row.remember, row.share)

    def _find(self, person_id: str) -> Row[Any] | None:
        with self._database.reading() as connection:
            return connection.execute(select(persons).where(persons.c.id == person_id)).first()

    def allow(self, person_id: str, *, remember: bool, share: bool) -> None:
        """Change what someone allows; they must have visited."""
        with self._database.writing() as connection:
            is_person = persons.c.id == person_id
            values = {"remember": remember, "share": share}
            connection.execute(update(persons).where(is_person).values(**values))

    def others_share(self, person_id: str) -> bool:
        """Return whether anybody else lets others profit from their answers."""
        is_other = (persons.c.id != person_id) & not_aside(persons.c.id)
        others = select(persons.c.id).where(persons.c.share, is_other).limit(1)
        with self._database.reading() as connection:
            return connection.execute(others).first() is not None

    def forget(self, person_id: str) -> None:
        """Delete someone with all their sessions, pools, and pictures that nobody else has."""
        with self._database.writing() as connection:
            # Jobs first: who is about to store what a model made waits for us, or we for them.
            connection.execute(delete(makings).where(makings.c.owner == person_id))
            connection.execute(delete(sessions).where(sessions.c.owner == person_id))
            delete_pools(connection, pools.c.owner == person_id)
            connection.execute(delete(persons).where(persons.c.id == person_id))
