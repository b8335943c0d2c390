"""The paper's proposition and theorems, checked by simulation (section 4.2; docs/theory.md).

All three are statements about users who answer by the Bradley-Terry-Luce model. Coverage is looked
at after every answer; the PAC statement and the stopping time at the end of whole interactions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains import synthetic
from useralign.geometry import beta, fit
from useralign.geometry.mle import loss
from useralign.lab.tables import Table
from useralign.methods.base import DELTA, NORM_BOUND
from useralign.session import Session
from useralign.users import BTL, converse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DIMENSIONS = (2, 8)
ANSWERS = 200
COVERAGE_RUNS = 100
COUNT = 10  # candidates of the pools on which whole interactions are held
PAC_RUNS = {2.0: 100, 1.5: 40, 1.0: 10}  # by epsilon; a smaller one takes thousands of answers
LIMIT = 100_000  # answers, after which a run that has not stopped is cut off


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far above the smallest loss that of the truth lies, answer by answer."""

    dimension: int
    # shape (runs, t); `L_t(theta*) - L_t(estimate)` after each number of answers from 1
    excess: NDArray[np.float64]
    # shape (t,); beta_t, which it must not exceed in more than a share delta of runs
    width: NDArray[np.float64]

    @property
    def covered(self) -> int:
        """The number of runs whose set held the truth after every answer."""
        return int((self.excess <= self.width).all(axis=1).sum())


def measure_coverage(dimension: int, runs: int = COVERAGE_RUNS, answers: int = ANSWERS) -> Coverage:
    """Let BTL users answer random pairs, and compare the loss of their taste with the least loss.

    Features are uniform on the sphere of radius 0.5, the taste on that of radius 3.
    """
    rows = [_excess(dimension, answers, seed) for seed in range(runs)]
    width = [beta(t, dimension, NORM_BOUND, DELTA) for t in range(1, answers + 1)]
    return Coverage(dimension, np.array(rows), np.array(width))


def _excess(dimension: int, answers: int, seed: int) -> list[float]:
    draw = np.random.default_rng([seed, dimension, 17])
    taste = NORM_BOUND * _on_sphere(draw, 1, dimension)[0]
    ends = 0.5 * _on_sphere(draw, 2 * answers, dimension)
    gaps = ends[:answers] - ends[answers:]
    chances = 1.0 / (1.0 + np.exp(-(gaps @ taste)))
    signs = np.where(draw.random(answers) < chances, 1.0, -1.0)
    rows = np.ascontiguousarray(gaps * signs[:, None])
    excess, start = [], None
    for t in range(1, answers + 1):
        start = fit(rows[:t], NORM_BOUND, start=start)
        excess.append(loss(rows[:t] @ taste) - start.loss)
    return excess


def _on_sphere(draw: np.random.Generator, count: int, dimension: int) -> NDArray[np.float64]:
    points = draw.normal(size=(count, dimension))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Ending:
    """One whole interaction of UserAlign_loss with a BTL user."""

    epsilon: float
    regret: float  # how much less than the best the answer is worth
    answers: int  # tau, when it stopped
    most: float  # the bound on tau of Theorem 2, with the constants of its proof


def measure_endings(runs: dict[float, int] | None = None, count: int = COUNT) -> list[Ending]:
    """Run UserAlign_loss to its end in the plane, so many times for each epsilon."""
    numbers = PAC_RUNS if runs is None else runs
    return [
        _ending(epsilon, seed, count)
        for epsilon, number in numbers.items()
        for seed in range(number)
    ]


def _ending(epsilon: float, seed: int, count: int) -> Ending:
    pool = synthetic.pool(seed, count)
    user = BTL(pool, seed=seed)
    session = Session(pool, "useralign_loss", epsilon=epsilon, seed=seed, limit=LIMIT)
    converse(session, user)
    worth = user.utilities
    regret = float(worth.max() - worth[session.best.index])
    return Ending(epsilon, regret, session.cost, latest_stop(worth, pool.dimension, epsilon))


def latest_stop(worth: NDArray[np.float64], dimension: int, epsilon: float) -> float:
    """Return the bound on the stopping time of Theorem 2: 24 Omega K^2 log(8 S Omega K^2 / d).

    The worth of the candidates has shape (K,).
    """
    gaps = np.abs(worth[:, None] - worth[None, :])
    kappa = float((2.0 + 2.0 * np.cosh(gaps)).max())  # 1 / mu', at the largest gap
    least = float(gaps[~np.eye(len(worth), dtype=bool)].min())
    omega = (
        NORM_BOUND**2 * kappa / max(epsilon, least) ** 2 * (dimension + math.log(1.0 / DELTA))
    ) * len(worth) ** 2
    return 24.0 * omega * math.log(8.0 * NORM_BOUND * omega / dimension)


def coverage_table(coverages: Sequence[Coverage]) -> Table:
    """Build the table of Proposition 1."""
    rows = []
    for one in coverages:
        share = one.excess / one.width
        high = np.quantile(one.excess.max(axis=1), 1.0 - DELTA)
        rows.append((one.dimension, len(one.excess), one.covered, float(high), float(share.max())))
    return Table.worded("theory-coverage", rows, answers=ANSWERS, delta=DELTA)


def endings_table(endings: Sequence[Ending]) -> Table:
    """Build the table of Theorems 1 and 2."""
    rows = []
    for epsilon in sorted({e.epsilon for e in endings}, reverse=True):
        ours = [e for e in endings if e.epsilon == epsilon]
        good = sum(e.regret <= epsilon for e in ours)
        exact = sum(e.regret == 0.0 for e in ours)
        answers = [e.answers for e in ours]
        share = f"{100 * max(e.answers / e.most for e in ours):.3f}%"
        rows.append((epsilon, len(ours), good, exact, float(np.mean(answers)), max(answers), share))
    return Table.worded("theory-pac", rows, count=COUNT, delta=DELTA)
