"""People who come back, what they allow, and what they may do with all that is stored of them.

They are known by the hash of the token in their browser, and by nothing else.

What somebody deletes is set aside under another owner's name, where no page, no session and no
memory finds it, and is deleted for good after a while. That name holds the time and a hash of the
owner's, so that nothing else has to be remembered to bring it back. Work that a model is still
doing for it is given up at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, or_, select, update

from useralign.errors import NotFoundError
from useralign.store.database import Part, insert_for
from useralign.store.keys import digest
from useralign.store.pool_jobs import forget_job
from useralign.store.pools import ASIDE, COPY, GROWN, MADE, delete_pools, not_aside
from useralign.store.schema import makings, persons, pools, sessions, steps

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Connection, Row, Select

_EVERY = 3600.0  # seconds: a visit is noted once an hour, not with each request
GRACE = 3600.0  # seconds in which deleting can be undone
_OWNERS: tuple[Column[str], ...] = (sessions.c.owner, pools.c.owner, persons.c.id)


@dataclass(frozen=True, slots=True)
class Person:
    """What someone allows."""

    id: str
    remember: bool = False  # their earlier answers may make their next session shorter
    share: bool = False  # their answers may make other people's sessions shorter


class Persons(Part):
    """The people of a database."""

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
        return self._database.first(select(persons).where(persons.c.id == person_id))

    def allow(self, person_id: str, *, remember: bool, share: bool) -> None:
        """Change what someone allows; they must have visited."""
        is_person = persons.c.id == person_id
        values = {"remember": remember, "share": share}
        self._database.change(update(persons).where(is_person).values(values))

    def others_share(self, person_id: str) -> bool:
        """Return whether anybody else lets others profit from their answers."""
        is_other = (persons.c.id != person_id) & not_aside(persons.c.id)
        others = select(persons.c.id).where(persons.c.share, is_other).limit(1)
        return self._database.first(others) is not None

    def forget(self, person_id: str) -> None:
        """Delete someone with all their sessions, pools, and pictures that nobody else has."""
        with self._database.writing() as connection:
            # Jobs first: who is about to store what a model made waits for us, or we for them.
            connection.execute(delete(makings).where(makings.c.owner == person_id))
            connection.execute(delete(sessions).where(sessions.c.owner == person_id))
            delete_pools(connection, pools.c.owner == person_id)
            connection.execute(delete(persons).where(persons.c.id == person_id))


def aside(owner: str, now: float) -> str:
    """Return the name under which what somebody deletes is set aside; 64 characters."""
    return f"{ASIDE}{int(now):010d}-{_mark(owner)}"


class PersonalData(Part):
    """What is stored of people, as far as they decide over it."""

    def delete_session(self, session_id: str, owner: str, now: float) -> None:
        """Set a session aside, with the pools that have grown in it."""
        with self._database.writing() as connection:
            own = (sessions.c.id == session_id) & (sessions.c.owner == owner)
            if not _set_sessions_aside(connection, own, owner, now):
                raise NotFoundError("there is no such session")

    def delete_sessions(self, owner: str, now: float) -> None:
        """Set all sessions of somebody aside, with the pools that have grown in them."""
        with self._database.writing() as connection:
            _set_sessions_aside(connection, sessions.c.owner == owner, owner, now)
            connection.execute(delete(makings).where(makings.c.owner == owner))

    def delete_all(self, owner: str, now: float) -> None:
        """Set everything of somebody aside: what they allow, their sessions and pools."""
        with self._database.writing() as connection:
            connection.execute(delete(makings).where(makings.c.owner == owner))
            for column in _OWNERS:
                table = update(column.table).where(column == owner)
                connection.execute(table.values({column.name: aside(owner, now)}))

    def waiting(self, owner: str) -> tuple[int, float] | None:
        """Return how many sessions were set aside, and when the first of all that goes for good.

        None if nothing was set aside.
        """
        with self._database.reading() as connection:
            names = _names_aside(connection, owner)
            count = connection.execute(
                select(func.count()).select_from(sessions).where(sessions.c.owner.in_(names))
            ).scalar_one()
        return (count, min(_time(name) for name in names) + GRACE) if names else None

    def restore(self, owner: str) -> bool:
        """Bring back what somebody deleted; return whether there was anything.

        Of what they allow, what they said since stays.
        """
        with self._database.writing() as connection:
            names = _names_aside(connection, owner)
            _set_copies_apart(connection, names, owner)
            for table in (sessions, pools):
                back = update(table).where(table.c.owner.in_(names))
                connection.execute(back.values(owner=owner))
            is_back = select(persons.c.id).where(persons.c.id == owner)
            if names and connection.execute(is_back).first() is None:
                back = update(persons).where(persons.c.id == max(names))
                connection.execute(back.values(id=owner))
        return bool(names)

    def purge(self, now: float, owner: str | None = None) -> int:
        """Delete for good what was set aside longer ago than can be undone, or all of one owner.

        Returns how many deletions were completed.
        """
        with self._database.reading() as connection:
            names = _names_aside(connection, owner)
        due = [name for name in names if owner is not None or _time(name) + GRACE <= now]
        for name in due:
            Persons(self._database).forget(name)
        if due:
            self._database.rinse()
        return len(due)

    def export(self, owner: str) -> dict[str, Any]:
        """Return all that is stored of somebody, as plain data; pictures by their addresses."""
        with self._database.reading() as connection:

            def plain(query: Select[Any], hidden: str) -> list[dict[str, Any]]:
                rows = [dict(row._mapping) for row in connection.execute(query)]
                return [{key: row[key] for key in row if key != hidden} for row in rows]

            person = plain(select(persons).where(persons.c.id == owner), "id")
            own = select(sessions).where(sessions.c.owner == owner).order_by(sessions.c.created)
            sessions_ = plain(own, "owner")
            for session in sessions_:
                of_it = select(steps).where(steps.c.session_id == session["id"])
                session["steps"] = plain(of_it.order_by(steps.c.number), "session_id")
            used = {step["view"]["pool_id"] for s in sessions_ for step in s["steps"]}
            readable = (pools.c.owner == owner) | pools.c.id.in_(used)
            pools_ = plain(select(pools).where(readable), "owner")
            jobs = plain(select(makings).where(makings.c.owner == owner), "owner")
        for pool in pools_:
            pool["pool"] = json.loads(pool.pop("data"))
        you = person[0] if person else {}
        return {"you": you, "sessions": sessions_, "pools": pools_, "makings": jobs}


def _set_sessions_aside(
    connection: Connection, which: ColumnElement[bool], owner: str, now: float
) -> int:
    """Set sessions aside with the pools that are theirs alone; return how many there were."""
    rows = connection.execute(select(sessions).where(which)).all()
    in_them = steps.c.session_id.in_(select(sessions.c.id).where(which))
    growths = connection.execute(select(steps.c.told).where(in_them, steps.c.kind == "growth"))
    theirs = {row.pool_id for row in rows} | {growth.told["pool"] for growth in growths}
    connection.execute(update(sessions).where(which).values(owner=aside(owner, now)))
    for row in rows:
        if (job := row.settings.get("page", {}).get("making")) is not None:
            forget_job(connection, job)
    marks = or_(*(pools.c.fingerprint.startswith(mark) for mark in (GROWN, MADE)))
    unused = pools.c.id.not_in(select(sessions.c.pool_id).where(sessions.c.owner == owner))
    alone = pools.c.id.in_(theirs) & (pools.c.owner == owner) & marks & unused
    connection.execute(update(pools).where(alone).values(owner=aside(owner, now)))
    return len(rows)


def _set_copies_apart(connection: Connection, names: list[str], owner: str) -> None:
    """Mark those pools of what was deleted that their owner has already, made again meanwhile."""
    own = select(pools.c.fingerprint).where(pools.c.owner == owner)
    present = set(connection.execute(own).scalars())
    deleted = select(pools.c.id, pools.c.fingerprint).where(pools.c.owner.in_(names))
    for row in connection.execute(deleted).all():
        if row.fingerprint in present and ":" not in row.fingerprint:
            values = {"fingerprint": f"{COPY}{row.fingerprint}"}
            connection.execute(update(pools).where(pools.c.id == row.id).values(values))
        present.add(row.fingerprint)


def _names_aside(connection: Connection, owner: str | None) -> list[str]:
    """Return the names under which something is set aside: somebody's, or everybody's."""
    pattern = f"{ASIDE}%" if owner is None else f"{ASIDE}%-{_mark(owner)}"
    names: set[str] = set()
    for column in _OWNERS:
        rows = select(column).where(column.like(pattern)).distinct()
        names |= set(connection.execute(rows).scalars())
    return sorted(names)


def _mark(owner: str) -> str:
    return digest(f"aside {owner}")[:48]


def _time(name: str) -> float:
    return float(name.removeprefix(ASIDE).partition("-")[0])
