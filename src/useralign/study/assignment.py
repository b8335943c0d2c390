"""Which cell, question and persona the next participant gets.

Balance is over those who finished and those who are active: someone who has done nothing for the
design's window no longer counts, so that the place of a drop-out is given again. Within a cell,
questions are balanced in the same way, and personas within a question.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from useralign.store.studies import Assignment, CellCounts
from useralign.study.design import WITH_PERSONA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from useralign.study.design import Design
    from useralign.study.studies import Study


T = TypeVar("T")


def choose_cell(
    design: Design, counts: Mapping[int, CellCounts], rng: Random, *, waiting: bool
) -> int | None:
    """Choose the cell of the next participant; None when there is no place.

    Parameters
    ----------
    design : Design
    counts : mapping of int to CellCounts
        By the index among the design's cells.
    rng : Random
        Breaks ties.
    waiting : bool
        Whether somebody can be asked to come back later. Where not (a crowd worker has accepted
        the task already), they are taken in as long as the study lacks finished participants,
        in the cell that is likeliest to have lost some.
    """
    cells = {number: counts.get(number, CellCounts()) for number in range(len(design.cells))}
    occupied = {number: count.occupied for number, count in cells.items()}
    vacant = [number for number, count in occupied.items() if count < design.places]
    if vacant:
        return _fewest(vacant, occupied, rng)
    if waiting or sum(count.finished for count in cells.values()) >= design.participants:
        return None
    expected = {number: count.finished + count.fresh for number, count in cells.items()}
    return _fewest(expected, expected, rng)


def choose_within(
    study: Study, number: int, others: Sequence[Assignment], rng: Random
) -> Assignment:
    """Choose the question and the persona of the next participant of a cell.

    Parameters
    ----------
    study : Study
    number : int
        The index among the design's cells.
    others : sequence of Assignment
        Of those who hold the places of the cell.
    rng : Random
        Breaks ties.
    """
    cell = study.design.cells[number]
    questions = study.questions[cell.domain]
    question = _fewest(questions, Counter(other.question for other in others), rng)
    persona = None
    if cell.condition == WITH_PERSONA:
        played = Counter(other.persona for other in others if other.question == question)
        persona = _fewest(questions[question].personas, played, rng)
    return Assignment(number, *cell, question, persona)


def _fewest(options: Iterable[T], counts: Mapping[T, float], rng: Random) -> T:
    """Return the option with the lowest count, one of them at random where several have it."""
    numbers = {option: counts.get(option, 0) for option in options}
    least = min(numbers.values())
    return rng.choice([option for option, count in numbers.items() if count == least])
