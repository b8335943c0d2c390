"""What memory reads from the database: who allows what, and the answers of their sessions."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, select

from useralign.store.interactions import fold
from useralign.store.pools import not_aside
from useralign.store.schema import participants, persons, sessions, steps

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement

    from useralign.store.store import Store


class SessionAnswers(NamedTuple):
    """The answers of a session."""

    owner: str
    pool_id: str  # the session's pool as it is now
    answers: list[Any]  # as a session saves them


def own_sessions(store: Store, owner: str, most: int) -> dict[str, int]:
    """Return how many steps are answered in each of somebody's sessions, the newest first.

    Those without an answer, and those of participants in a study, are left out.
    """
    return _answered(store, sessions.c.owner == owner, most)


def shared_sessions(store: Store, most: int) -> dict[str, int]:
    """Return the same of the sessions of everybody who allows sharing."""
    return _answered(store, persons.c.share.is_(True), most)


def _answered(store: Store, whose: ColumnElement[bool], most: int) -> dict[str, int]:
    in_studies = select(participants.c.session_id).where(participants.c.session_id.is_not(None))
    query = (
        select(sessions.c.id, func.count(steps.c.kind).label("answered"))
        .join(persons, persons.c.id == sessions.c.owner)
        .join(steps, steps.c.session_id == sessions.c.id)
        .where(whose, sessions.c.id.not_in(in_studies))
        .where(sessions.c.owner.not_in(select(participants.c.id)), not_aside(sessions.c.owner))
        .group_by(sessions.c.id, sessions.c.created)
        .order_by(sessions.c.created.desc(), sessions.c.id)
        .limit(most)
    )
    return {row.id: row.answered for row in store.rows(query) if row.answered}


def session_answers(store: Store, session_ids: Collection[str]) -> dict[str, SessionAnswers]:
    """Return the answers of sessions that are in force, by session; those that are gone are not."""
    if not session_ids:
        return {}
    query = (
        select(steps, sessions.c.owner)
        .join(sessions, sessions.c.id == steps.c.session_id)
        .where(steps.c.session_id.in_(session_ids))
        .order_by(steps.c.session_id, steps.c.number)
    )
    rows = groupby(store.rows(query), lambda row: str(row.session_id))
    groups = {name: list(group) for name, group in rows}
    return {
        name: SessionAnswers(group[0].owner, group[-1].view["pool_id"], fold(group)[0])
        for name, group in groups.items()
    }
