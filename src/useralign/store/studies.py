"""Studies in the database: their designs, participants, matchups, counts and exports.

`reading` and `writing` open a transaction and give the records of one study in it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, case, delete, func, insert, select, update

from useralign.store.schema import matchups, participants, sessions, stages, steps, studies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Update

    from useralign.store.store import Store

LATER, EARLIER, RANDOM, ATTENTION = "later", "earlier", "random", "attention"
CHUNK = 250  # rows of an export in memory at once
_PSEUDONYM = 12  # characters of the hash that make a pseudonym


class StudyRow(NamedTuple):
    """A study as it is stored; `key` keys its pseudonyms and its participants' tokens."""

    id: str
    design: Mapping[str, Any]
    questions: Mapping[str, Mapping[str, Any]]
    key: str
    created: float
    open: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a participant was assigned to.

    Parameters
    ----------
    cell : int
        The index among the design's cells.
    domain, method, condition, question : str
    persona : str or None
        Its name, in the with-persona condition.
    """

    cell: int
    domain: str
    method: str
    condition: str
    question: str
    persona: str | None


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
    return f"p-{participant_id[:_PSEUDONYM]}"


@dataclass(frozen=True, slots=True)
class Matchup:
    """One comparison of the evaluation: a candidate against the baseline.

    Parameters
    ----------
    number : int
        The order on the screen, from 0.
    role : {"later", "earlier", "random", "attention"}
        What is set against the baseline.
    candidate : int
        Its index in the pool.
    side : {"left", "right"}
        Where it stands.
    asked, answered : float or None
    chosen : {"left", "right"} or None
        The side that was chosen, once it is answered.
    milliseconds : int or None
        How long it took, as the page measured it.
    """

    number: int
    role: str
    candidate: int
    side: str
    asked: float | None = None
    chosen: str | None = None
    answered: float | None = None
    milliseconds: int | None = None

    @property
    def won(self) -> bool | None:
        """Whether the candidate was chosen; None until it is answered."""
        return None if self.chosen is None else self.chosen == self.side


class Author(NamedTuple):
    """Who gave an answer that is exported."""

    participant_id: str
    assignment: Assignment
    finished: bool


class ComparisonAnswer(NamedTuple):
    """An answered comparison: the indices of its candidates from left to right, and the choice."""

    number: int
    candidates: Sequence[int]
    position: int
    asked: float
    answered: float
    milliseconds: int | None


@dataclass(frozen=True, slots=True)
class CellCounts:
    """How many participants of a cell there are.

    Parameters
    ----------
    finished, active : int
    dropped : int
        Who began and has done nothing for longer than the window.
    fresh : float
        The active ones, each counted the less the longer nothing was heard of them.
    """

    finished: int = 0
    active: int = 0
    dropped: int = 0
    fresh: float = 0.0

    @property
    def occupied(self) -> int:
        """How many places are taken."""
        return self.finished + self.active


@contextmanager
def reading(store: Store, slug: str) -> Iterator[StudyRecords]:
    """Yield the records of a study for reading."""
    with store.reading() as connection:
        yield StudyRecords(connection, slug)


@contextmanager
def writing(store: Store, slug: str) -> Iterator[StudyRecords]:
    """Yield the records of a study for one transaction: all of it is written, or nothing."""
    with store.writing() as connection:
        yield StudyRecords(connection, slug)


@contextmanager
def streaming(store: Store, slug: str) -> Iterator[StudyRecords]:
    """Yield the records of a study for reading more rows than memory should hold at once."""
    with store.reading() as connection:
        options = {"stream_results": True, "yield_per": CHUNK}
        yield StudyRecords(connection.execution_options(**options), slug)


def list_slugs(store: Store) -> list[str]:
    """List the studies, the newest first."""
    with store.reading() as connection:
        query = select(studies.c.id).order_by(studies.c.created.desc())
        return list(connection.execute(query).scalars())


class StudyRecords:
    """The records of one study, in a transaction that is open.

    Parameters
    ----------
    connection : Connection
    slug : str
    """

    def __init__(self, connection: Connection, slug: str) -> None:
        self._connection = connection
        self._slug = slug

    @property
    def _study(self) -> ColumnElement[bool]:
        return studies.c.id == self._slug

    @property
    def _members(self) -> ColumnElement[bool]:
        return participants.c.study_id == self._slug

    @property
    def _finished(self) -> ColumnElement[bool]:
        return self._members & participants.c.finished.is_not(None)

    # The study itself.

    def version(self) -> tuple[float, bool] | None:
        """Return when the study was added and whether it is open; None if there is none."""
        query = select(studies.c.created, studies.c.open).where(self._study)
        row = self._connection.execute(query).first()
        return None if row is None else (row.created, row.open)

    def study(self) -> StudyRow:
        """Return the study, which must be there."""
        row = self._connection.execute(select(studies).where(self._study)).one()
        return StudyRow(**row._mapping)

    def replace_study(self, row: StudyRow) -> None:
        """Write the study in place of what was there."""
        self.delete_study()
        self._connection.execute(insert(studies).values(row._asdict()))

    def delete_study(self) -> None:
        """Delete the study."""
        self._connection.execute(delete(studies).where(self._study))

    def set_open(self, value: bool) -> None:
        """Set whether the study takes new participants."""
        self._connection.execute(update(studies).where(self._study).values(open=value))

    def lock(self) -> None:
        """Lock the study until the end of the transaction, across all servers.

        SQLite's writing transactions are alone in any case.
        """
        query = select(studies.c.id).where(self._study).with_for_update(key_share=True)
        self._connection.execute(query)

    def count_participants(self) -> int:
        """Return how many have begun."""
        query = select(func.count()).where(self._members)
        return int(self._connection.execute(query).scalar_one())

    # Participants.

    def participant(self, participant_id: str) -> Participant | None:
        """Return the participant of this id, if there is one."""
        return self._find(participants.c.id == participant_id)

    def participant_named(self, pseudonym: str) -> Participant | None:
        """Return the participant of this pseudonym, if there is one."""
        start = pseudonym.removeprefix("p-")
        if len(start) != _PSEUDONYM or not start.isalnum():
            return None
        return self._find(participants.c.id.startswith(start))

    def participant_of_worker(self, *hashes: str) -> Participant | None:
        """Return the participant whose worker has one of these hashes, if there is one."""
        return self._find(participants.c.worker.in_(hashes))

    def _find(self, condition: ColumnElement[bool]) -> Participant | None:
        query = select(participants).where(self._members, condition)
        row = self._connection.execute(query).first()
        return None if row is None else _participant(row)

    def recent_participants(self, most: int) -> list[Participant]:
        """Return the latest participants, the newest first."""
        query = select(participants).where(self._members)
        rows = self._connection.execute(query.order_by(participants.c.number.desc()).limit(most))
        return [_participant(row) for row in rows]

    def add_participant(self, participant: Participant, worker: str | None) -> None:
        """Write a new participant, who gets the next number; `worker` is the hash of their id."""
        query = select(func.max(participants.c.number)).where(self._members)
        row = asdict(participant) | {
            "number": (self._connection.execute(query).scalar() or 0) + 1,
            "worker": worker,
            "cell": participant.assignment.cell,
        }
        self._connection.execute(insert(participants).values(row))
        self._enter_stage(participant.id, participant.stage, participant.created)

    def set_recruitment(self, participant_id: str, recruitment: Mapping[str, str]) -> None:
        """Replace the recruiting service's names for a participant."""
        self._connection.execute(_update(participant_id).values(recruitment=dict(recruitment)))

    def leave_stage(self, participant_id: str, stage: str, following: str) -> bool:
        """Set the following stage; return whether they still were in the first one."""
        query = _update(participant_id).where(participants.c.stage == stage)
        return self._connection.execute(query.values(stage=following)).rowcount == 1

    def enter_stage(self, participant_id: str, stage: str, now: float, **values: Any) -> None:
        """Write that a participant has come to a stage, and other columns with it."""
        self._connection.execute(_update(participant_id).values(stage=stage, seen=now, **values))
        self._enter_stage(participant_id, stage, now)

    def _enter_stage(self, participant_id: str, stage: str, now: float) -> None:
        row = {"participant_id": participant_id, "stage": stage, "entered": now}
        self._connection.execute(insert(stages).values(row))

    def touch(self, participant_id: str, now: float) -> None:
        """Write that a participant is active."""
        self._connection.execute(_update(participant_id).values(seen=now))

    def delete_participant(self, participant: Participant) -> None:
        """Delete a participant with their session and all answers."""
        whom = participants.c.id == participant.id
        self._connection.execute(delete(participants).where(whom))
        if participant.session_id is not None:
            session = sessions.c.id == participant.session_id
            self._connection.execute(delete(sessions).where(session))

    def clear_recruitment(self) -> int:
        """Delete the recruiting services' names for all; return how many participants there are."""
        everybody = update(participants).where(self._members)
        return self._connection.execute(everybody.values(recruitment={})).rowcount

    # The evaluation.

    def recommendations(self, session_id: str | None) -> list[int]:
        """Return the best candidate after 0, 1, 2, ... answers of a session."""
        query = select(steps.c.view).where(steps.c.session_id == session_id)
        views = self._connection.execute(query.order_by(steps.c.number)).scalars()
        return [view["best"] for view in views]

    def add_matchups(self, participant_id: str, plan: Sequence[Matchup], now: float) -> None:
        """Write the matchups of a participant."""
        rows = [
            {
                "participant_id": participant_id,
                "number": matchup.number,
                "role": matchup.role,
                "candidate": matchup.candidate,
                "side": matchup.side,
                "asked": now,
            }
            for matchup in plan
        ]
        self._connection.execute(insert(matchups), rows)

    def matchups(self, participant_id: str) -> list[Matchup]:
        """Return the matchups of a participant in their order."""
        query = select(matchups).where(matchups.c.participant_id == participant_id)
        return [
            _matchup(row) for row in self._connection.execute(query.order_by(matchups.c.number))
        ]

    def locked_matchups(self, participant_id: str) -> list[Matchup]:
        """Return the same, and lock the participant until the end of the transaction."""
        query = select(participants.c.id).where(participants.c.id == participant_id)
        self._connection.execute(query.with_for_update())
        return self.matchups(participant_id)

    def set_matchup(self, participant_id: str, number: int, **values: Any) -> None:
        """Change columns of a matchup."""
        is_matchup = (matchups.c.participant_id == participant_id) & (matchups.c.number == number)
        self._connection.execute(update(matchups).where(is_matchup).values(values))

    # Counts.

    def count_cells(self, now: float, window: float) -> dict[int, CellCounts]:
        """Count the participants of each cell; who did nothing for `window` seconds dropped out."""
        done = participants.c.finished.is_not(None)
        active = ~done & (participants.c.seen > now - window)
        fresh = 1.0 - (now - participants.c.seen) / window
        query = (
            select(
                participants.c.cell,
                func.sum(case((done, 1), else_=0)),
                func.sum(case((active, 1), else_=0)),
                func.count(),
                func.sum(case((active, fresh), else_=0.0)),
            )
            .where(self._members)
            .group_by(participants.c.cell)
        )
        return {
            cell: CellCounts(finished, active, total - finished - active, float(fresh))
            for cell, finished, active, total, fresh in self._connection.execute(query)
        }

    def assignments(self, cell: int, now: float, window: float) -> list[Assignment]:
        """Return what those were assigned to who finished or are active in a cell."""
        counted = participants.c.finished.is_not(None) | (participants.c.seen > now - window)
        query = select(participants.c.assignment).where(
            self._members, participants.c.cell == cell, counted
        )
        return [Assignment(**data) for data in self._connection.execute(query).scalars()]

    def count_wins(self) -> dict[tuple[int, str], tuple[int, int]]:
        """Count by cell and role how often the candidate won, and of how many finished."""
        wins = func.sum(case((matchups.c.chosen == matchups.c.side, 1), else_=0))
        query = (
            select(participants.c.cell, matchups.c.role, wins, func.count())
            .join_from(participants, matchups)
            .where(self._finished)
            .group_by(participants.c.cell, matchups.c.role)
        )
        rows = self._connection.execute(query)
        return {(cell, role): (int(wins), count) for cell, role, wins, count in rows}

    def count_sides(self) -> tuple[int, int, int]:
        """Count the matchups of finished participants: left chosen, selection left, and all."""
        query = (
            select(
                func.sum((matchups.c.chosen == "left").cast(Integer)),
                func.sum((matchups.c.side == "left").cast(Integer)),
                func.count(),
            )
            .join_from(matchups, participants)
            .where(self._finished, matchups.c.role != ATTENTION)
        )
        choices, selections, count = self._connection.execute(query).one()
        return int(choices or 0), int(selections or 0), count

    def count_coinciding(self) -> int:
        """Count the finished participants with one candidate in two of the three roles."""
        coinciding = (
            select(matchups.c.participant_id)
            .join_from(matchups, participants)
            .where(self._finished, matchups.c.role != ATTENTION)
            .group_by(matchups.c.participant_id)
            .having(func.count(matchups.c.candidate.distinct()) < 3)
        )
        query = select(func.count()).select_from(coinciding.subquery())
        return int(self._connection.execute(query).scalar_one())

    def finish_times(self) -> list[float]:
        """List when participants finished, in order."""
        column = participants.c.finished
        query = select(column).where(self._finished).order_by(column)
        return list(self._connection.execute(query).scalars())

    def stage_times(self, ids: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
        """Return when participants entered each stage, by id: these, or all who finished."""
        whose = self._finished if ids is None else stages.c.participant_id.in_(ids)
        query = select(stages).join_from(stages, participants).where(whose)
        times: dict[str, dict[str, float]] = {}
        for row in self._connection.execute(query):
            times.setdefault(row.participant_id, {})[row.stage] = row.entered
        return times

    # Exports.

    def participants(self) -> Iterator[list[Participant]]:
        """Iterate over all participants in the order they came, some at a time."""
        query = select(participants).where(self._members).order_by(participants.c.number)
        for rows in self._connection.execute(query).partitions(CHUNK):
            yield [_participant(row) for row in rows]

    def matchups_by_role(self, ids: Sequence[str]) -> dict[str, dict[str, Matchup]]:
        """Return the matchups of participants by id and role."""
        query = select(matchups).where(matchups.c.participant_id.in_(ids))
        roles: dict[str, dict[str, Matchup]] = {}
        for row in self._connection.execute(query):
            roles.setdefault(row.participant_id, {})[row.role] = _matchup(row)
        return roles

    def comparison_answers(
        self, participant_id: str | None = None
    ) -> Iterator[tuple[Author, ComparisonAnswer]]:
        """Iterate over the answered comparisons of all participants, or of one."""
        whose = self._members if participant_id is None else participants.c.id == participant_id
        query = (
            select(*_AUTHOR, steps)
            .join_from(participants, steps, steps.c.session_id == participants.c.session_id)
            .where(whose, steps.c.kind.is_not(None))
            .order_by(participants.c.number, steps.c.number)
        )
        for row in self._connection.execute(query):
            position = row.told["request"]["position"]
            times = row.asked, row.answered, row.milliseconds
            yield _author(row), ComparisonAnswer(row.number, row.shown, position, *times)

    def matchup_answers(self) -> Iterator[tuple[Author, Matchup]]:
        """Iterate over the answered matchups of all participants."""
        query = (
            select(*_AUTHOR, matchups)
            .join_from(participants, matchups)
            .where(self._members, matchups.c.chosen.is_not(None))
            .order_by(participants.c.number, matchups.c.number)
        )
        for row in self._connection.execute(query):
            yield _author(row), _matchup(row)


_PARTICIPANT = tuple(field.name for field in fields(Participant))
_MATCHUP = tuple(field.name for field in fields(Matchup))
_AUTHOR = (participants.c.id.label("author"), participants.c.assignment, participants.c.finished)


def _author(row: Row[Any]) -> Author:
    return Author(row.author, Assignment(**row.assignment), row.finished is not None)


def _participant(row: Row[Any]) -> Participant:
    values = {name: getattr(row, name) for name in _PARTICIPANT}
    return Participant(**values | {"assignment": Assignment(**row.assignment)})


def _matchup(row: Row[Any]) -> Matchup:
    return Matchup(*(getattr(row, name) for name in _MATCHUP))


def _update(participant_id: str) -> Update:
    return update(participants).where(participants.c.id == participant_id)
