"""The paper's metrics over cells: win-rate, interaction cost, head-to-head (sections 5.1, 5.3).

Means are over questions, users and seeds, with the standard error that the paper's tables have:
the standard deviation over the square root of n, without Bessel's correction.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign import domains
from useralign.errors import OptionError
from useralign.lab.cells import embedder_of, pool_of, user_of
from useralign.lab.paper import Mean
from useralign.lab.results import at, at_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from useralign.pool import Candidate

    Cells = Sequence[Mapping[str, Any]]

_INTERACTION = ("domain", "style", "question", "user", "seed")


def mean_sem(values: Iterable[float]) -> Mean:
    """Return the mean of numbers and its standard error; both are NaN without any."""
    numbers = np.asarray(list(values), dtype=np.float64)
    if not len(numbers):
        return Mean(math.nan, math.nan)
    return Mean(float(numbers.mean()), float(numbers.std() / math.sqrt(len(numbers))))


def win_rate_at_epsilon(cells: Cells, epsilon: float) -> Mean:
    """Return the win-rate of sessions that stop at epsilon; cells of mode `epsilon`."""
    return mean_sem(at_epsilon(cell, epsilon).win for cell in cells)


def cost_at_epsilon(cells: Cells, epsilon: float) -> Mean:
    """Return the number of answers of sessions that stop at epsilon; cells of mode `epsilon`."""
    return mean_sem(float(at_epsilon(cell, epsilon).t) for cell in cells)


def win_rate_at(cells: Cells, t: int) -> Mean:
    """Return the win-rate after `t` answers; cells of mode `budget`."""
    return mean_sem(at(cell, t).win for cell in cells)


def bound_at(cells: Cells, t: int) -> Mean:
    """Return B(t); cells of any mode."""
    return mean_sem(at(cell, t).bound for cell in cells)


def questions_to(cells: Cells, level: float) -> int | None:
    """Return the smallest number of answers after which the mean win-rate is at least `level`.

    None if it never is, or there are no cells.
    """
    longest = max((cell["stopped_at"] for cell in cells), default=-1)
    for t in range(longest + 1):
        if win_rate_at(cells, t).mean >= level:
            return t
    return None


def head_to_head(
    cells_a: Cells,
    cells_b: Cells,
    t: int | None = None,
    *,
    epsilon: float | None = 0.0,
    embedders: Mapping[str, str] | None = None,
) -> Mean:
    """Return how often the user of an interaction prefers A's final answer to B's.

    Parameters
    ----------
    cells_a, cells_b : sequence of mapping
        Each interaction of the one is compared with the same interaction of the other.
    t : int, optional
        B's answer is that after `t` answers, as is A's if `epsilon` is None; the last ones when
        not given.
    epsilon : float or None
        A's answer is that at which it stops by this threshold.
    embedders : mapping of str to str, optional
        What made the features of each domain, as `Results` has it; for users with a taste in the
        features. The defaults of this machine when not given.

    Returns
    -------
    Mean
        In [0, 1]; the same answer from both counts as half a win.

    Raises
    ------
    OptionError
        If an interaction of A is not in B, or is there twice.
    """
    others = {_interaction(cell): cell for cell in cells_b}
    if len(others) < len(cells_b):
        raise OptionError("B has two cells of one interaction; select one method and mode")
    known = embedders or {}
    scores = []
    for cell in cells_a:
        other = others.get(_interaction(cell))
        if other is None:
            raise OptionError(f"{cell['key']} has no counterpart to be compared with")
        last = cell["stopped_at"] if t is None else t
        ours = at(cell, last) if epsilon is None else at_epsilon(cell, epsilon)
        theirs = at(other, other["stopped_at"] if t is None else t)
        scores.append(_score(cell, ours.best, theirs.best, known.get(cell["domain"])))
    return mean_sem(scores)


def _interaction(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[key] for key in _INTERACTION)


def _score(cell: Mapping[str, Any], ours: str, theirs: str, embedder: str | None) -> float:
    if ours == theirs:
        return 0.5
    embedder = embedder or embedder_of(domains.load(cell["domain"]))
    where = (cell["domain"], cell["style"], cell["question"], embedder)
    candidates = _by_id(*where)
    return user_of(cell, embedder).prefers(candidates[ours], candidates[theirs])


@lru_cache(maxsize=256)
def _by_id(domain: str, style: str, question: str, embedder: str) -> dict[str, Candidate]:
    return {candidate.label: candidate for candidate in pool_of(domain, style, question, embedder)}
