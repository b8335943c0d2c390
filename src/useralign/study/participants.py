"""Participants in the database: rows as objects, and finding them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from useralign.errors import NotFoundError
from useralign.store.schema import participants
from useralign.study.assignment import Assignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection, Row

_SHOWN = 12  # characters of the hash that make a pseudonym


@dataclass(frozen=True, slots=True)
class Participant:
    """Someone who takes part.

    Parameters
    ----------
    id : str
        The hash of their token, and the owner of their session.
    study_id : str
    source : {"link", "prolific", "mturk"}
    recruitment : mapping of str to str
        The recruiting service's names for them.
    assignment : Assignment
    session_id : str or None
        Once the comparisons have begun.
    stage : str
    code : str or None
        The completion code, once all is answered.
    created, seen : float
    finished : float or None
    """

    id: str
    study_id: str
    source: str
    recruitment: Mapping[str, str]
    assignment: Assignment
    session_id: str | None
    stage: str
    code: str | None
    created: float
    seen: float
    finished: float | None

    @property
    def pseudonym(self) -> str:
        """What they are called in exports and on the administration pages."""
        return pseudonym_of(self.id)


def pseudonym_of(participant_id: str) -> str:
    """Return the name of a participant in exports: the beginning of a hash of a random token."""
    return f"p-{participant_id[:_SHOWN]}"


def find(connection: Connection, *conditions: ColumnElement[bool]) -> Participant | None:
    """Return the participant that meets the conditions, if there is one."""
    row = connection.execute(select(participants).where(*conditions)).first()
    return None if row is None else participant_of(row)


def find_pseudonym(connection: Connection, slug: str, pseudonym: str) -> Participant:
    """Return the participant of a study who has this pseudonym.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    start = pseudonym.removeprefix("p-")
    if len(start) == _SHOWN and start.isalnum():
        found = find(
            connection, participants.c.study_id == slug, participants.c.id.startswith(start)
        )
        if found is not None:
            return found
    raise NotFoundError(f"study {slug!r} has no participant {pseudonym!r}; names look like p-1a2b…")


def participant_of(row: Row[Any]) -> Participant:
    """Return a row as an object."""
    return Participant(
        row.id,
        row.study_id,
        row.source,
        row.recruitment,
        Assignment.from_dict(row.assignment),
        row.session_id,
        row.stage,
        row.code,
        row.created,
        row.seen,
        row.finished,
    )
