"""Studies in the database: their designs, participants, matchups, counts and exports.

`reading` and `writing` open a transaction and give the records of one study in it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import case, delete, func, insert, select, update

from useralign.errors import ConflictError
from useralign.store.schema import (
    matchups,
    page_answers,
    participants,
    sessions,
    stages,
    steps,
    studies,
)

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
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a participant was assigned to."""

    cell: int  # the index among the design's cells
    domain: str
    method: str  # the name of the arm
    condition: str
    question: str
    persona: str | None  # its name, in the with-persona condition


@dataclass(frozen=True, slots=True)
class Participant:
    """Someone who takes part."""

    id: str  # the hash of their token, and the owner of their session
    study_id: str
    source: str  # link, prolific or mturk
    recruitment: Mapping[str, str]  # the recruiting service's names for them
    assignment: Assignment  # of the first round
    session_id: str | None  # of the latest round, once its comparisons have begun
    # The page or part of the task they are at, with the round behind a full stop from the second
    # one on; where somebody's part ended otherwise, the one that they left.
    stage: str
    code: str | None  # the completion code, once all is answered
    created: float
    seen: float
    finished: float | None  # when they completed the study
    # How their part ended (`useralign.study.pages.OUTCOMES`); None while it has not.
    outcome: str | None = None
    language: str | None = None  # that their pages are in
    rounds: tuple[Assignment, ...] = ()  # one for each question, if there are several

    def assigned(self, number: int) -> Assignment:
        """Return what they were assigned to in a round."""
        return self.rounds[number] if self.rounds else self.assignment

    @property
    def pseudonym(self) -> str:
        """What they are called in exports and on the administration pages."""
        return pseudonym_of(self.id)


def pseudonym_of(participant_id: str) -> str:
    """Return the name of a participant in exports: the beginning of a hash of a random token."""
    return f"p-{participant_id[:_PSEUDONYM]}"


@dataclass(frozen=True, slots=True)
class Matchup:
    """One comparison of the evaluation: a candidate against the baseline."""

    number: int  # the order on the screen, from 0
    role: str  # later, earlier, random or attention: what is set against the baseline
    candidate: int  # its index in the pool
    side: str  # left or right: where it stands
    asked: float | None = None
    chosen: str | None = None  # left or right: the side that was chosen, once it is answered
    answered: float | None = None
    milliseconds: int | None = None  # how long it took, as the page measured it
    round: int = 0  # which of the participant's questions it is about, from 0

    @property
    def won(self) -> bool | None:
        """Whether the candidate was chosen; None until it is answered."""
        return None if self.chosen is None else self.chosen == self.side


class MatchupCount(NamedTuple):
    """How many matchups of a cell and a round there are with this choice."""

    cell: int
    round: int
    role: str
    side: str
    chosen: str
    total: int

    @property
    def wins(self) -> int:
        """In how many of them the candidate was chosen."""
        return self.total if self.chosen == self.side else 0


class Author(NamedTuple):
    """Who gave an answer that is exported."""

    participant_id: str
    assignment: Assignment
    finished: bool


class ComparisonAnswer(NamedTuple):
    """An answered comparison: the indices of its candidates in reading order, and the choice."""

    number: int
    candidates: Sequence[int]
    position: int
    asked: float
    answered: float
    milliseconds: int | None
    round: int = 0
    seed: int | None = None


class Choice(NamedTuple):
    """One choice of a participant: its position on the screen from 0, and how long it took."""

    position: int
    seconds: float


class PageAnswer(NamedTuple):
    """What was answered to one field of a page, with the number of the attempt from 0."""

    page: str
    attempt: int
    field: str
    value: str | None
    answered: float


@dataclass(frozen=True, slots=True)
class CellCounts:
    """How many participants of a cell there are."""

    finished: int = 0
    active: int = 0
    dropped: int = 0  # who began and has done nothing for longer than the window
    # The active ones, each counted the less the longer nothing was heard of them.
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
    query = select(studies.c.id).order_by(studies.c.created.desc())
    return [row.id for row in store.rows(query)]


class StudyRecords:
    """The records of one study, in a transaction that is open."""

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

    def version(self) -> tuple[float, bool, bool] | None:
        """Return when the study was added, whether it is open, or paused; None if there is none."""
        query = select(studies.c.created, studies.c.open, studies.c.paused).where(self._study)
        row = self._connection.execute(query).first()
        return None if row is None else (row.created, row.open, row.paused)

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

    def set_open(self, value: bool, paused: bool) -> None:
        """Set whether the study takes new participants, or will again."""
        values = {"open": value, "paused": paused}
        self._connection.execute(update(studies).where(self._study).values(values))

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

    def locked_participant(self, participant_id: str) -> Participant | None:
        """Return a participant, and lock them until the end of the transaction."""
        self._lock_participant(participant_id)
        return self.participant(participant_id)

    def _lock_participant(self, participant_id: str) -> None:
        query = select(participants.c.id).where(participants.c.id == participant_id)
        self._connection.execute(query.with_for_update())

    def recent_participants(self, most: int) -> list[Participant]:
        """Return the latest participants, the newest first."""
        query = select(participants).where(self._members)
        rows = self._connection.execute(query.order_by(participants.c.number.desc()).limit(most))
        return [_participant(row) for row in rows]

    def add_participant(self, participant: Participant, worker: str | None) -> None:
        """Write a new participant, who gets the next number; `worker` is the hash of their id."""
        row = asdict(participant) | {
            "number": self.next_number(),
            "worker": worker,
            "cell": participant.assignment.cell,
            "rounds": [asdict(one) for one in participant.rounds] or None,
        }
        self._connection.execute(insert(participants).values(row))
        self._enter_stage(participant.id, participant.stage, participant.created)

    def number_of(self, participant_id: str) -> int | None:
        """Return the number of a participant, if there is one of this id."""
        query = select(participants.c.number).where(participants.c.id == participant_id)
        return self._connection.execute(query).scalar()

    def next_number(self) -> int:
        """Return the number that the next participant gets."""
        query = select(func.max(participants.c.number)).where(self._members)
        return (self._connection.execute(query).scalar() or 0) + 1

    def set_recruitment(self, participant_id: str, recruitment: Mapping[str, str]) -> None:
        """Replace the recruiting service's names for a participant."""
        self._connection.execute(_update(participant_id).values(recruitment=dict(recruitment)))

    def leave_stage(self, participant_id: str, stage: str, following: str) -> bool:
        """Set the following stage; return whether they still were in the first one."""
        query = _update(participant_id).where(participants.c.stage == stage)
        return self._connection.execute(query.values(stage=following)).rowcount == 1

    def enter_stage(self, participant_id: str, stage: str, now: float, **values: Any) -> None:
        """Write that a participant has come to a stage, and other columns with it.

        A ConflictError if their part has ended.
        """
        self._go_on(participant_id, stage=stage, seen=now, **values)
        self._enter_stage(participant_id, stage, now)

    def _go_on(self, participant_id: str, **values: Any) -> None:
        """Change somebody who takes part; what ended meanwhile stays as it is."""
        under_way = _update(participant_id).where(participants.c.outcome.is_(None))
        if self._connection.execute(under_way.values(values)).rowcount == 0:
            raise ConflictError("this participant's part has ended")

    def _enter_stage(self, participant_id: str, stage: str, now: float) -> None:
        row = {"participant_id": participant_id, "stage": stage, "entered": now}
        self._connection.execute(insert(stages).values(row))

    def end(self, participant_id: str, outcome: str, now: float) -> None:
        """Write how somebody's part ended before the last stage."""
        ended = _update(participant_id).where(participants.c.outcome.is_(None))
        self._connection.execute(ended.values(outcome=outcome, seen=now))

    def touch(self, participant_id: str, now: float) -> None:
        """Write that a participant is active; raises as `enter_stage` does."""
        self._go_on(participant_id, seen=now)

    def delete_participant(self, participant: Participant) -> None:
        """Delete a participant with their sessions and all answers."""
        whom = participants.c.id == participant.id
        self._connection.execute(delete(participants).where(whom))
        self._connection.execute(delete(sessions).where(sessions.c.owner == participant.id))

    def delete_answers(self, participant_id: str) -> None:
        """Delete all that a participant answered; that they were there stays."""
        # First the link: a participant goes with their session.
        self._connection.execute(_update(participant_id).values(session_id=None))
        self._connection.execute(delete(sessions).where(sessions.c.owner == participant_id))
        for table in (matchups, page_answers):
            theirs = table.c.participant_id == participant_id
            self._connection.execute(delete(table).where(theirs))

    def clear_recruitment(self) -> int:
        """Delete the recruiting services' names for all; return how many participants there are."""
        everybody = update(participants).where(self._members)
        return self._connection.execute(everybody.values(recruitment={})).rowcount

    # Pages.

    def add_page_answers(
        self,
        participant_id: str,
        page: str,
        attempt: int,
        answers: Mapping[str, str | None],
        now: float,
    ) -> None:
        """Write what was answered on a page, or said by its script."""
        common = {"participant_id": participant_id, "page": page, "attempt": attempt}
        rows = [
            common | {"field": field, "value": value, "answered": now}
            for field, value in answers.items()
        ]
        if rows:
            self._connection.execute(insert(page_answers), rows)

    def page_answers(self, participant_id: str) -> list[PageAnswer]:
        """Return what a participant answered on pages, in order."""
        return self.page_answers_of([participant_id]).get(participant_id, [])

    def page_answers_of(self, ids: Sequence[str]) -> dict[str, list[PageAnswer]]:
        """Return the same of several participants, by id."""
        columns = [page_answers.c[name] for name in PageAnswer._fields]
        query = select(page_answers.c.participant_id, *columns)
        order = (page_answers.c.answered, page_answers.c.attempt, page_answers.c.field)
        theirs = query.where(page_answers.c.participant_id.in_(ids)).order_by(*order)
        answers: dict[str, list[PageAnswer]] = {}
        for whose, *row in self._connection.execute(theirs):
            answers.setdefault(whose, []).append(PageAnswer(*row))
        return answers

    def count_page_answer(
        self, page: str, field: str, value: str, now: float, window: float
    ) -> int:
        """Count who gave an answer on a page and has completed the study or is active."""
        query = (
            select(func.count(participants.c.id.distinct()))
            .join_from(page_answers, participants)
            .where(self._members, self._present(now, window))
            .where(page_answers.c.page == page, page_answers.c.field == field)
            .where(page_answers.c.value == value)
        )
        return int(self._connection.execute(query).scalar_one())

    # The evaluation.

    def recommendations(self, session_id: str | None) -> list[int]:
        """Return the best candidate after 0, 1, 2, ... answers of a session."""
        query = select(steps.c.view).where(steps.c.session_id == session_id)
        views = self._connection.execute(query.order_by(steps.c.number)).scalars()
        return [view["best"] for view in views]

    def add_matchups(self, participant_id: str, plan: Sequence[Matchup], now: float) -> None:
        """Write the matchups of a participant."""
        common = {"participant_id": participant_id, "asked": now}
        self._connection.execute(insert(matchups), [asdict(one) | common for one in plan])

    def matchups(self, participant_id: str) -> list[Matchup]:
        """Return the matchups of a participant in their order."""
        return self.matchups_of([participant_id]).get(participant_id, [])

    def locked_matchups(self, participant_id: str) -> list[Matchup]:
        """Return the same, and lock the participant until the end of the transaction."""
        self._lock_participant(participant_id)
        return self.matchups(participant_id)

    def set_matchup(self, participant_id: str, number: int, **values: Any) -> None:
        """Change columns of a matchup."""
        is_matchup = (matchups.c.participant_id == participant_id) & (matchups.c.number == number)
        self._connection.execute(update(matchups).where(is_matchup).values(values))

    # Counts.

    @staticmethod
    def _present(now: float, window: float) -> ColumnElement[bool]:
        """Return the condition that somebody holds a place: completed, or under way and active."""
        active = participants.c.outcome.is_(None) & (participants.c.seen > now - window)
        return participants.c.finished.is_not(None) | active

    def count_cells(self, now: float, window: float) -> dict[int, CellCounts]:
        """Count the participants of each cell; who did nothing for `window` seconds dropped out."""
        done = participants.c.finished.is_not(None)
        active = ~done & self._present(now, window)
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
        """Return what those were assigned to, in all rounds, who hold the places of a cell."""
        query = select(participants.c.assignment, participants.c.rounds).where(
            self._members, participants.c.cell == cell, self._present(now, window)
        )
        rows = self._connection.execute(query)
        return [Assignment(**one) for first, rounds in rows for one in rounds or [first]]

    def count_matchups(self) -> list[MatchupCount]:
        """Count the matchups of finished participants by what a table needs."""
        names = [name for name in MatchupCount._fields if name not in ("cell", "total")]
        columns = (participants.c.cell, *(matchups.c[name] for name in names))
        query = select(*columns, func.count()).join_from(participants, matchups)
        rows = self._connection.execute(query.where(self._finished).group_by(*columns))
        return [MatchupCount._make(row) for row in rows]

    def count_coinciding(self) -> int:
        """Count the finished participants with one candidate in two roles, in any round."""
        coinciding = (
            select(matchups.c.participant_id)
            .join_from(matchups, participants)
            .where(self._finished, matchups.c.role != ATTENTION)
            .group_by(matchups.c.participant_id, matchups.c.round)
            .having(func.count(matchups.c.candidate.distinct()) < func.count())
        ).subquery()
        query = select(func.count(coinciding.c.participant_id.distinct()))
        return int(self._connection.execute(query).scalar_one())

    def count_outcomes(self) -> dict[str, int]:
        """Count how the parts of participants ended."""
        query = select(participants.c.outcome, func.count().label("number")).where(
            self._members, participants.c.outcome.is_not(None)
        )
        rows = self._connection.execute(query.group_by(participants.c.outcome))
        return {row.outcome: row.number for row in rows}

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

    def matchups_of(self, ids: Sequence[str]) -> dict[str, list[Matchup]]:
        """Return the matchups of participants by id."""
        query = select(matchups).where(matchups.c.participant_id.in_(ids))
        theirs: dict[str, list[Matchup]] = {}
        for row in self._connection.execute(query.order_by(matchups.c.number)):
            theirs.setdefault(row.participant_id, []).append(_matchup(row))
        return theirs

    def choices_of(self, ids: Sequence[str]) -> dict[str, list[Choice]]:
        """Return the choices of participants by id, attention checks left out."""
        times = ("asked", "answered", "milliseconds")
        compared = (
            select(sessions.c.owner, steps.c.told, *(steps.c[name] for name in times))
            .join_from(sessions, steps)
            .where(sessions.c.owner.in_(ids), steps.c.kind.is_not(None))
        )
        judged = select(
            matchups.c.participant_id, matchups.c.chosen, *(matchups.c[name] for name in times)
        ).where(
            matchups.c.participant_id.in_(ids),
            matchups.c.chosen.is_not(None),
            matchups.c.role != ATTENTION,
        )
        choices: dict[str, list[Choice]] = {}
        for query in (compared, judged):
            for whose, what, asked, answered, milliseconds in self._connection.execute(query):
                judgement = isinstance(what, str)
                position = int(what == "right") if judgement else what["request"]["position"]
                seconds = answered - asked if milliseconds is None else milliseconds / 1000
                choices.setdefault(whose, []).append(Choice(position, seconds))
        return choices

    def comparison_answers(
        self, participant_id: str | None = None
    ) -> Iterator[tuple[Author, ComparisonAnswer]]:
        """Iterate over the answered comparisons of all participants, or of one."""
        whose = self._members if participant_id is None else participants.c.id == participant_id
        query = (
            select(*_AUTHOR, sessions.c.settings, steps)
            .join_from(participants, sessions, sessions.c.owner == participants.c.id)
            .join(steps, steps.c.session_id == sessions.c.id)
            .where(whose, steps.c.kind.is_not(None))
            .order_by(participants.c.number, sessions.c.created, steps.c.number)
        )
        for row in self._connection.execute(query):
            number = row.settings.get("page", {}).get("round", 0)
            position = row.told["request"]["position"]
            times = row.asked, row.answered, row.milliseconds
            seed = row.settings.get("seed")
            answer = ComparisonAnswer(row.number, row.shown, position, *times, number, seed)
            yield _author(row, number), answer

    def matchup_answers(self) -> Iterator[tuple[Author, Matchup]]:
        """Iterate over the answered matchups of all participants."""
        query = (
            select(*_AUTHOR, matchups)
            .join_from(participants, matchups)
            .where(self._members, matchups.c.chosen.is_not(None))
            .order_by(participants.c.number, matchups.c.number)
        )
        for row in self._connection.execute(query):
            yield _author(row, row.round), _matchup(row)


_PARTICIPANT = tuple(field.name for field in fields(Participant))
_MATCHUP = tuple(field.name for field in fields(Matchup))
_AUTHOR = (
    participants.c.id.label("author"),
    participants.c.assignment,
    participants.c.rounds,
    participants.c.finished,
)


def _author(row: Row[Any], number: int) -> Author:
    assigned = row.rounds[number] if row.rounds else row.assignment
    return Author(row.author, Assignment(**assigned), row.finished is not None)


def _participant(row: Row[Any]) -> Participant:
    values = {name: getattr(row, name) for name in _PARTICIPANT}
    rounds = tuple(Assignment(**one) for one in row.rounds or ())
    return Participant(**values | {"assignment": Assignment(**row.assignment), "rounds": rounds})


def _matchup(row: Row[Any]) -> Matchup:
    return Matchup(*(getattr(row, name) for name in _MATCHUP))


def _update(participant_id: str) -> Update:
    return update(participants).where(participants.c.id == participant_id)
