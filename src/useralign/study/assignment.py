"""Which cell, question and persona the next participant gets.

Balance is over those who finished and those who are active: someone who has done nothing for the
design's window no longer counts, so that the place of a drop-out is given again. Within a cell,
questions are balanced in the same way, and personas within a question.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import case, func, select

from useralign.store.schema import participants
from useralign.study.design import WITH_PERSONA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from sqlalchemy import ColumnElement, Connection

    from useralign.study.design import Design
    from useralign.study.studies import Study


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Count:
    """How many places of a cell are taken.

    Parameters
    ----------
    finished : int
    active : int
        Those who are still at it.
    fresh : float
        The same, each counted the less the longer nothing was heard of them.
    """

    finished: int = 0
    active: int = 0
    fresh: float = 0.0

    @property
    def taken(self) -> int:
        """All places that are taken."""
        return self.finished + self.active


class Given(NamedTuple):
    """What somebody in a cell was given."""

    question: str
    persona: str | None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a participant was given.

    Parameters
    ----------
    cell : int
        The place among the design's cells.
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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Assignment:
        """Build it from plain data."""
        return cls(**data)


def count_places(connection: Connection, design: Design, now: float) -> dict[int, Count]:
    """Count the places of each cell that are taken: finished, or active within the window."""
    columns = participants.c
    done = columns.finished.is_not(None)
    fresh = 1.0 - (now - columns.seen) / design.window
    rows = connection.execute(
        select(
            columns.cell,
            func.sum(case((done, 1), else_=0)),
            func.count(),
            func.sum(case((done, 0.0), else_=fresh)),
        )
        .where(columns.study_id == design.slug, _taken(design, now))
        .group_by(columns.cell)
    )
    return {row[0]: Count(row[1], row[2] - row[1], float(row[3])) for row in rows}


def given_in(connection: Connection, design: Design, cell: int, now: float) -> list[Given]:
    """List what those were given who hold the places of a cell."""
    columns = participants.c
    chosen = select(columns.assignment).where(
        columns.study_id == design.slug, columns.cell == cell, _taken(design, now)
    )
    rows = connection.execute(chosen).scalars()
    return [Given(row["question"], row["persona"]) for row in rows]


def _taken(design: Design, now: float) -> ColumnElement[bool]:
    columns = participants.c
    return columns.finished.is_not(None) | (columns.seen > now - design.window)


def choose_cell(
    design: Design, counts: Mapping[int, Count], rng: Random, *, waiting: bool
) -> int | None:
    """Choose the cell of the next participant; None when there is no place.

    Parameters
    ----------
    design : Design
    counts : mapping of int to Count
        By the place among the design's cells.
    rng : Random
        Breaks ties.
    waiting : bool
        Whether somebody can be asked to come back later. Where not (a crowd worker has accepted
        the task already), they are taken in as long as the study lacks finished participants,
        in the cell that is likeliest to have lost some.
    """
    known = {number: counts.get(number, Count()) for number in range(len(design.cells))}
    taken = {number: count.taken for number, count in known.items() if count.taken < design.places}
    if taken:
        return fewest(taken, taken, rng)
    if waiting or sum(count.finished for count in known.values()) >= design.participants:
        return None
    expected = {number: count.finished + count.fresh for number, count in known.items()}
    return fewest(expected, expected, rng)


def choose_within(study: Study, number: int, given: Sequence[Given], rng: Random) -> Assignment:
    """Choose the question and the persona of the next participant of a cell."""
    cell = study.design.cells[number]
    questions = study.questions[cell.domain]
    question = fewest(questions, Counter(one.question for one in given), rng)
    persona = None
    if cell.condition == WITH_PERSONA:
        met = Counter(one.persona for one in given if one.question == question)
        persona = fewest(questions[question].personas, met, rng)
    return Assignment(number, *cell, question, persona)


def fewest(options: Iterable[T], counts: Mapping[T, float], rng: Random) -> T:
    """Return the option with the lowest count, one of them at random where several have it."""
    known = {option: counts.get(option, 0) for option in options}
    least = min(known.values())
    return rng.choice([option for option, count in known.items() if count == least])
