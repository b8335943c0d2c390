"""The paper's metrics over cells: win-rate, interaction cost, head-to-head (sections 5.1, 5.3).

Means are over questions, users and seeds, with the standard error that the paper's tables have:
the standard deviation over the square root of n, without Bessel's correction. That error takes the
seeds of one user, and the users of one question, as independent; `clustered` does not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import OptionError
from useralign.lab.cell import pool_of, user_of
from useralign.lab.journal import at, at_epsilon, select
from useralign.lab.paper import Mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


def clustered(cells: Cells, numbers: Iterable[float]) -> Mean:
    """Return the mean of a number per cell, with a standard error clustered by question.

    Users are people of one question, so that clusters of questions contain those of users: what
    two-way clustering by user and question comes to here. People who are asked every question, as
    the domains of the DSP file are, count as given, not as drawn. With one question alone, users
    are the clusters. NaN stands for an error that one cluster cannot give.
    """
    values = np.array(list(numbers), dtype=np.float64)
    if not len(values):
        return Mean(math.nan, math.nan)
    several = len({(cell["domain"], cell["question"]) for cell in cells}) > 1
    names = [(c["domain"], c["question"], "" if several else c["user"]) for c in cells]
    sums: dict[tuple[str, str, str], float] = {}
    for name, rest in zip(names, values - values.mean(), strict=True):
        sums[name] = sums.get(name, 0.0) + float(rest)
    count = len(sums)
    if count < 2:
        return Mean(float(values.mean()), math.nan)
    spread = math.sqrt(count / (count - 1) * sum(total**2 for total in sums.values()))
    return Mean(float(values.mean()), spread / len(values))


def interaction(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two methods' cells of the same user, question and seed have in common."""
    return tuple(cell[key] for key in _INTERACTION)


def favourites(cells: Cells) -> dict[tuple[Any, ...], str]:
    """Return the candidate of the pool that the user of each interaction likes best.

    It is what Oracle recommends, so that only interactions that Oracle was run on are there.
    """
    return {interaction(c): at(c, 0).best for c in select(cells, method="oracle")}


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


def head_to_head(cells_a: Cells, cells_b: Cells, t: int, embedders: Mapping[str, str]) -> Mean:
    """Return how often users prefer what A ends with at epsilon = 0 to what B has after t answers.

    It is in [0, 1]; the same answer from both counts as half a win. `embedders` are those of
    `Results`, for users with a taste in the features. Raises OptionError if an interaction of A is
    not in B, or is there twice.
    """
    others = {interaction(cell): cell for cell in cells_b}
    if len(others) < len(cells_b):
        raise OptionError("B has two cells of one interaction; select one method and mode")
    scores = []
    for cell in cells_a:
        other = others.get(interaction(cell))
        if other is None:
            raise OptionError(f"{cell['key']} has no counterpart to be compared with")
        ours, theirs = at_epsilon(cell, 0.0).best, at(other, t).best
        scores.append(_score(cell, ours, theirs, embedders[cell["domain"]]))
    return mean_sem(scores)


def _score(cell: Mapping[str, Any], ours: str, theirs: str, embedder: str) -> float:
    if ours == theirs:
        return 0.5
    candidates = {
        candidate.label: candidate
        for candidate in pool_of(cell["domain"], cell["style"], cell["question"], embedder)
    }
    return user_of(cell, embedder).win_rate(candidates[ours], candidates[theirs])
