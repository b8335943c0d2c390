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


_SPARE = 4  # up to one in so many more than are wanted may be under way
T = TypeVar("T")


def choose_cell(
    design: Design, counts: Mapping[int, CellCounts], rng: Random, *, waiting: bool
) -> int | None:
    """Choose the cell of the next participant; None when there is no place.

    `counts` is by the index among the design's cells; `rng` breaks ties. Somebody who cannot be
    asked to come back later (not `waiting`: a crowd worker has accepted the task already) is taken
    in as long as the study lacks finished participants, in the cell that is likeliest to have lost
    some; up to a quarter more than are wanted.
    """
    quota = design.quota
    cells = {number: counts.get(number, CellCounts()) for number in range(len(quota))}
    occupied = {number: count.occupied for number, count in cells.items()}
    vacant = [number for number, count in occupied.items() if count < quota[number]]
    if vacant:
        shares = {number: occupied[number] / quota[number] for number in vacant}
        return _fewest(vacant, shares, rng)
    if waiting or sum(count.finished for count in cells.values()) >= design.wanted:
        return None
    if sum(occupied.values()) >= design.wanted + max(2, design.wanted // _SPARE):
        return None
    lacking = [number for number in cells if quota[number]]
    expected = {n: (cells[n].finished + cells[n].fresh) / quota[n] for n in lacking}
    return _fewest(expected, expected, rng)


def choose_within(
    study: Study, number: int, others: Sequence[Assignment], rng: Random
) -> list[Assignment]:
    """Choose the questions and personas of the next participant of a cell, round by round.

    `others` are the assignments of those who hold the places of the cell; `rng` breaks ties.
    """
    design = study.design
    questions = study.questions[design.cells[number].domain]
    counts = Counter((other.method, other.question) for other in others)
    rounds: list[Assignment] = []
    for cell in design.sequence(number, len(questions)):
        seen = [one for one in rounds if one.method == cell.method or not design.crossed]
        taken = {one.question for one in seen}
        options = [name for name in questions if name not in taken]
        question = _fewest(options, {name: counts[cell.method, name] for name in options}, rng)
        persona = None
        if cell.condition == WITH_PERSONA:
            played = Counter(other.persona for other in others if other.question == question)
            persona = _fewest(questions[question].personas, played, rng)
        rounds.append(Assignment(number, *cell, question, persona))
    return rounds


def _fewest(options: Iterable[T], counts: Mapping[T, float], rng: Random) -> T:
    """Return the option with the lowest count, one of them at random where several have it."""
    numbers = {option: counts.get(option, 0) for option in options}
    least = min(numbers.values())
    return rng.choice([option for option, count in numbers.items() if count == least])
