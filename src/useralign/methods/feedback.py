"""From what a person said to what a run is told."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import FeedbackError

if TYPE_CHECKING:
    from useralign.answers import Answer
    from useralign.methods.base import Run


def teach(run: Run, answer: Answer) -> None:
    """Tell a run what was answered; a replay does the same.

    Choices and rankings are one `add` for every pair that they decide: the best over each other,
    or each over the next. What is said of a whole screen is said of every pair on it; what will
    not do is said of every candidate, and its pairs are not asked again even if all return.

    Raises
    ------
    FeedbackError
        If the run has no use for it. Nothing has changed.
    """
    for winner, loser in answer.wins:
        one, other = (winner, loser) if answer.first != loser else (loser, winner)
        run.add(one, other, winner)
    if answer.kind not in ("choice", "ranking"):
        _teach_other(run, answer)


def _teach_other(run: Run, answer: Answer) -> None:
    """Tell a run what says nothing of which is better."""
    if answer.kind not in run.takes:
        raise FeedbackError(
            f"this method has no use for {answer.kind!r}; it takes {', '.join(sorted(run.takes))}"
        )
    if answer.kind == "remark":
        run.lean(unit(answer.direction), answer.weight)
        return
    say = run.equal if answer.kind == "equal" else run.skip
    for first, second in combinations(answer.shown, 2):
        say(first, second)
    if answer.kind == "neither":
        for candidate in answer.shown:
            run.dislike(candidate)


def unit(direction: tuple[float, ...]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a direction of raw features as one of normalised features: itself, of length 1.

    Normalising multiplies features by a common factor, or each row by its own, so a direction
    stays what it is; how far it reaches is the weight's business, not its length's.
    """
    row = np.array(direction, dtype=np.float64)
    row /= np.abs(row).max()  # so that no square over- or underflows
    return row / np.linalg.norm(row)
