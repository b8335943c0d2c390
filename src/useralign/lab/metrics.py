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
from useralign.lab.cell import embedder_of, pool_of, user_of
from useralign.lab.journal import at, at_epsilon, select
from useralign.lab.paper import Mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from useralign.pool import Candidate

Cells = list[dict[str, Any]]
_INTERACTION = ("domain", "style", "question", "user", "seed")


def mean_sem(values: Iterable[float]) -> Mean:
    """Return the mean of numbers and its standard error; both are NaN without any."""
    numbers = np.asarray(list(values), dtype=np.float64)
    if not len(numbers):
        return Mean(math.nan, math.nan)
    return Mean(float(numbers.mean()), float(numbers.std() / math.sqrt(len(numbers))))


def percent(wins: Iterable[float]) -> Mean:
    """Return the mean and standard error of win-rates, in percent."""
    return mean_sem(100.0 * win for win in wins)


def at_threshold(cells: Cells, method: str, epsilon: float) -> tuple[Mean, Mean] | None:
    """Return win-rate and cost of a method that stops at epsilon; None without such cells."""
    steps = [at_epsilon(c, epsilon) for c in select(cells, method=method, mode="epsilon")]
    if not steps:
        return None
    return percent(s.win for s in steps), mean_sem(float(s.t) for s in steps)


def at_budget(cells: Cells, method: str, t: int) -> Mean | None:
    """Return the win-rate of a method after t questions; None without such cells."""
    ours = select(cells, method=method, mode="budget") or select(cells, method=method)
    return percent(at(cell, t).win for cell in ours) if ours else None


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
    cells_a, cells_b : list of dict
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
    scores = []
    for cell in cells_a:
        other = others.get(_interaction(cell))
        if other is None:
            raise OptionError(f"{cell['key']} has no counterpart to be compared with")
        last = cell["stopped_at"] if t is None else t
        ours = at(cell, last) if epsilon is None else at_epsilon(cell, epsilon)
        theirs = at(other, other["stopped_at"] if t is None else t)
        scores.append(_score(cell, ours.best, theirs.best, (embedders or {}).get(cell["domain"])))
    return mean_sem(scores)


def _interaction(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[key] for key in _INTERACTION)


def _score(cell: Mapping[str, Any], ours: str, theirs: str, embedder: str | None) -> float:
    if ours == theirs:
        return 0.5
    embedder = embedder or embedder_of(domains.load(cell["domain"]))
    candidates = _by_id(cell["domain"], cell["style"], cell["question"], embedder)
    return user_of(cell, embedder).prefers(candidates[ours], candidates[theirs])


@lru_cache(maxsize=256)
def _by_id(domain: str, style: str, question: str, embedder: str) -> dict[str, Candidate]:
    return {candidate.label: candidate for candidate in pool_of(domain, style, question, embedder)}
