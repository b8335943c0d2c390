"""What is asked, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from useralign.checks import is_whole
from useralign.errors import AnswerError, FileFormatError
from useralign.pool import Candidate


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question to a person: which of these two candidates is better.

    Parameters
    ----------
    first, second : Candidate
    step : int
        How many comparisons were answered or skipped before it.
    bound : float
        The bound before it is answered.
    """

    first: Candidate
    second: Candidate
    step: int
    bound: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a session was told.

    Parameters
    ----------
    first, second : int
        The candidates compared, as places in the pool.
    winner : int or None
        The better one; None when the person skipped the pair.
    """

    first: int
    second: int
    winner: int | None


def winner_of(asked: Comparison, winner: object) -> int:
    """Return the winner's place in the pool, if it is one of the two that were asked about.

    Parameters
    ----------
    asked : Comparison
    winner : Candidate or int
        The candidate as the pool has it or as it was given to the pool, or its place.

    Raises
    ------
    AnswerError
        If it is neither.
    """
    for candidate in (asked.first, asked.second):
        if isinstance(winner, Candidate):
            same = winner == candidate or replace(winner, index=candidate.index) == candidate
            if same and winner.index in (candidate.index, -1):
                return candidate.index
        elif is_whole(winner) and winner == candidate.index:
            return candidate.index
    raise AnswerError(
        f"the winner must be one of the two candidates asked about, {asked.first.index} or "
        f"{asked.second.index} (or the Candidate itself); got {_short(winner)}"
    )


def _short(value: object) -> str:
    if isinstance(value, Candidate):
        return f"candidate {value.index} ({value.text[:40]!r})"
    return repr(value)[:60]


def read_answer(item: Any, count: int) -> Answer:
    """Read an answer from its saved form `[first, second, winner]`, over `count` candidates.

    Raises
    ------
    FileFormatError
        If it is something else.
    """
    try:
        first, second, winner = item
        places = range(count)
        inside = all(is_whole(k) and k in places for k in (first, second))
        known = winner is None or (is_whole(winner) and winner in (first, second))
        if inside and known and first != second:
            return Answer(first, second, winner)
    except (TypeError, ValueError):
        pass
    raise FileFormatError(
        f"the session's data are damaged: {item!r} is not an answer [first, second, winner] over "
        f"{count} candidates"
    )
