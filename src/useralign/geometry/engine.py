"""One interaction's geometry: from the answers so far to the estimate and the bound B(t).

This is Algorithm 3 (Solve) and lines 6 to 9 of Algorithm 2, exact and lazy. A challenger's value
against the incumbent is `max <theta, phi_k - phi_1>` over the confidence set. Values are found in
decreasing order of cheap upper bounds, and the search stops when no bound can beat the best:

- adding an answer only shrinks the cone, so yesterday's value bounds today's from above;
- for a new incumbent j in place of i, `value(k | j) <= value(k | i) + value(i | j)`, and the last
  term is 0 when j has just beaten i;
- projecting onto the newest half-space alone is a bound in closed form.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from useralign.geometry.cone import project
from useralign.geometry.confidence import LossLevel
from useralign.geometry.evidence import AnswerRows
from useralign.geometry.mle import LOG2, Fit, beta, fit

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

ZERO = 1e-7  # a value at most this times S counts as zero: below what the features can resolve
TIE = 1e-9  # values this close, relative to S, are equal; the lower index is taken
SMALL = 1e-4  # below this the Gram matrix has lost digits, and the vector itself is measured
_FIRST_BLOCK = 64


class Engine(ABC):
    """What a method needs of the geometry. `Exact` is the product's; `Reference` the paper's.

    Parameters
    ----------
    features : ndarray, shape (K, d)
        Normalised features.
    norm_bound : float
        S.
    delta : float
        The confidence level of the loss-based set.
    cone : bool
        Whether answers are taken as consistent, i.e. half-spaces cut the set (Eq. 4).
    """

    def __init__(
        self, features: NDArray[np.float64], norm_bound: float, delta: float, cone: bool
    ) -> None:
        self.features = features
        self.norm_bound = norm_bound
        self.delta = delta
        self.cone = cone
        self.count = 0
        self.retired: NDArray[np.bool_] | None = None  # those out of the running, if any

    def add(self, winner: int, loser: int) -> None:
        """Take in one answer."""
        self.add_row(self.features[winner] - self.features[loser])

    @abstractmethod
    def add_row(self, row: NDArray[np.float64]) -> None:
        """Take in that a preference agrees with this difference of features, shape (d,)."""

    @abstractmethod
    def agrees(self, row: NDArray[np.float64]) -> bool:
        """Return whether some preference agrees with a difference and with all taken in so far.

        Without the cone nothing can disagree.
        """

    @property
    @abstractmethod
    def rows(self) -> NDArray[np.float64]:
        """The differences taken in so far, shape (t, d)."""

    def retire(self, indices: Collection[int]) -> None:
        """Leave these candidates out of challengers, values and bounds; none brings all back."""
        self.retired = None
        if indices:
            self.retired = np.zeros(len(self.features), dtype=bool)
            self.retired[list(indices)] = True

    @abstractmethod
    def estimate(self) -> NDArray[np.float64]:
        """Return the norm-constrained MLE (Eq. 2), shape (d,)."""

    @abstractmethod
    def challenge(self, incumbent: int, barred: Collection[int] = ()) -> tuple[int | None, float]:
        """Find the candidate with the largest possible regret of the incumbent (lines 8 and 9).

        Parameters
        ----------
        incumbent : int
        barred : collection of int
            Candidates that may not be chosen now; they count for the bound all the same.

        Returns
        -------
        challenger : int or None
            None when no candidate that may be chosen has a value above zero.
        bound : float
            The largest value over all candidates that are not retired, B(t).
        """

    @abstractmethod
    def values(self, incumbent: int) -> NDArray[np.float64]:
        """Return every candidate's value against the incumbent, shape (K,)."""

    def scores(self) -> NDArray[np.float64]:
        """Return the estimated utility of every candidate, shape (K,)."""
        return np.asarray(self.features @ self.estimate())

    def level(self, least: float) -> float:
        """Return the largest loss that the loss-based set allows (Eq. 3)."""
        return least + beta(self.count, self.features.shape[1], self.norm_bound, self.delta)

    def choose(
        self, values: NDArray[np.float64], barred: Collection[int]
    ) -> tuple[int | None, float]:
        """Pick the largest of the values, as `challenge` returns it."""
        zero, tie = ZERO * self.norm_bound, TIE * self.norm_bound
        if self.retired is not None:
            values = np.where(self.retired, 0.0, values)
        bound = max(float(values.max()), 0.0)
        allowed = values
        if barred:
            allowed = values.copy()
            allowed[list(barred)] = -np.inf
        top = float(allowed.max())
        if top <= zero:
            return None, bound if bound > zero else 0.0
        return int((allowed >= top - tie).argmax()), bound


class Exact(Engine):
    """Exact values by non-negative least squares, lazily; the general solve only where it matters.

    The arrays it keeps from step to step only save work: the results are those of a new engine
    that is given the same answers.
    """

    def __init__(
        self, features: NDArray[np.float64], norm_bound: float, delta: float, cone: bool
    ) -> None:
        super().__init__(features, norm_bound, delta, cone)
        self.evidence = AnswerRows(features.shape[1])
        self._fit: Fit | None = None
        self._warm: Fit | None = None
        self._limit: LossLevel | None = None
        self._squares = np.einsum("kd,kd->k", features, features)
        self._incumbent = -1
        self._gaps = self._ceilings = self._squares  # |c_k|^2 and bounds on |P(c_k)|

    @property
    def rows(self) -> NDArray[np.float64]:
        """The differences taken in so far, shape (t, d)."""
        return self.evidence.rows

    def agrees(self, row: NDArray[np.float64]) -> bool:
        """Return whether it can be taken in; see `Engine.agrees`."""
        length = float(np.linalg.norm(row))
        if not self.cone or not self.count or length == 0.0:
            return True
        return float(np.linalg.norm(self._projection(row))) > SMALL * length

    def add_row(self, row: NDArray[np.float64]) -> None:
        """Take in one difference; see `Engine.add_row`."""
        self.evidence.add(row)
        self.count += 1
        self._warm, self._fit = self._fit or self._warm, None
        if self.cone and self._incumbent >= 0:
            self._cut(row)

    def estimate(self) -> NDArray[np.float64]:
        """Return the norm-constrained MLE (Eq. 2), shape (d,)."""
        if not self.evidence.rank:
            return np.zeros(self.features.shape[1])
        return np.asarray(self._solve().w @ self.evidence.basis)

    def challenge(self, incumbent: int, barred: Collection[int] = ()) -> tuple[int | None, float]:
        """Find the challenger, exactly and lazily; see `Engine.challenge`."""
        self._set_incumbent(incumbent)
        limit = self._loss_limit()
        if limit is not None and limit.is_empty():  # Theta = {mle}
            scores = self.scores()
            return self.choose(scores - scores[incumbent], barred)
        if limit is not None:
            values = self._limited_values(limit, barred)
        elif self.cone and self.count:
            self._search(barred)
            values = self._ceilings * self.norm_bound
        else:
            values = self._distances()
        return self.choose(values, barred)

    def values(self, incumbent: int) -> NDArray[np.float64]:
        """Return every candidate's value against the incumbent, shape (K,)."""
        self._set_incumbent(incumbent)
        limit = self._loss_limit()
        if limit is not None:
            if limit.is_empty():
                scores = self.scores()
                return np.asarray(scores - scores[incumbent])
            return np.array([self._limited_value(k, limit) for k in range(len(self.features))])
        if not (self.cone and self.count):
            return self._distances()
        remaining = np.arange(len(self.features))
        if self.retired is not None:
            remaining = np.flatnonzero(~self.retired)
        for start in range(0, len(remaining), 4096):
            self._project(remaining[start : start + 4096], 0.0, math.inf)
        return np.asarray(self._ceilings * self.norm_bound)

    def retire(self, indices: Collection[int]) -> None:
        """Leave candidates out; see `Engine.retire`."""
        super().retire(indices)
        self._incumbent = -1  # so that the bounds on their values are made anew

    def _distances(self) -> NDArray[np.float64]:
        """Return the values over the whole ball: S times the distance from the incumbent."""
        return np.asarray(np.sqrt(self._gaps) * self.norm_bound)

    def _solve(self) -> Fit:
        if self._fit is None:
            if not self.evidence.rank:
                self._fit = Fit(np.zeros(0), self.count * LOG2, 0.0)
            else:
                self._fit = fit(self.evidence.coordinates, self.norm_bound, start=self._warm)
        return self._fit

    def _loss_limit(self) -> LossLevel | None:
        """Return the loss constraint, or None where it cannot matter.

        In the cone every term of the loss is at most log 2, hence so is `t log 2` the whole.
        Without the cone a term is at most log(1 + exp(S)), differences having norm at most 1.
        """
        if not self.count:
            return None
        solved = self._solve()
        level = self.level(solved.loss)
        worst = LOG2 if self.cone else self.norm_bound + math.log1p(math.exp(-self.norm_bound))
        if self.count * worst <= level:
            return None
        near = self._limit.near if self._limit else 0.0
        self._limit = LossLevel(self.evidence, level, self.norm_bound, self.cone, solved, near=near)
        return self._limit

    def _set_incumbent(self, incumbent: int) -> None:
        """Bound every challenger's value against a new incumbent."""
        before = self._incumbent
        if incumbent == before:
            return
        gaps = self._squares + self._squares[incumbent]
        gaps -= 2.0 * (self.features @ self.features[incumbent])
        np.maximum(gaps, 0.0, out=gaps)
        gaps[incumbent] = 0.0
        ceilings = np.sqrt(gaps)
        if self.cone and before >= 0 and self.count:
            detour = self._projection(self.features[before] - self.features[incumbent])
            np.minimum(ceilings, self._ceilings + np.linalg.norm(detour), out=ceilings)
        if self.retired is not None:
            ceilings[self.retired] = 0.0
        self._incumbent, self._gaps, self._ceilings = incumbent, gaps, ceilings

    def _projection(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(c), the nearest point of the cone, shape (d,)."""
        square = np.array([c @ c])
        products = (self.evidence.rows @ c)[None, :]
        _, _, duals = project(
            self.evidence.gram, products, square, np.sqrt(square), best=0.0, slack=math.inf
        )
        return np.asarray(c + duals[0] @ self.evidence.rows)

    def _cut(self, row: NDArray[np.float64]) -> None:
        """Lower the bounds by the newest half-space alone."""
        square = float(row @ row)
        if square == 0.0:
            return
        outside = self.features @ row
        outside -= outside[self._incumbent]
        np.minimum(outside, 0.0, out=outside)
        np.square(outside, out=outside)
        outside /= -square
        outside += self._gaps
        np.maximum(outside, 0.0, out=outside)
        np.sqrt(outside, out=outside)
        np.minimum(self._ceilings, outside, out=self._ceilings)

    def _search(self, barred: Collection[int]) -> None:
        """Make the largest ceilings exact, both over all candidates and over those allowed."""
        done, best = np.zeros(len(self.features), dtype=bool), 0.0
        for excluded in ([], list(barred)) if barred else ([],):
            reached, best, size = best, 0.0, _FIRST_BLOCK
            if done.any():
                # The first round left what fell below its best with a bound, not with a value.
                done &= self._ceilings >= reached - TIE
                exact = done.copy()
                exact[excluded] = False
                best = float(self._ceilings[exact].max(initial=0.0))
            while True:
                open_ = (self._ceilings >= max(best - TIE, ZERO)) & ~done
                open_[excluded] = False
                block = np.flatnonzero(open_)
                if not len(block):
                    break
                if len(block) > size:
                    top = np.argpartition(-self._ceilings[block], size)[:size]
                    block = block[top]
                done[block] = True
                best = self._project(block, best, TIE)
                size *= 2

    def _project(self, block: NDArray[np.intp], best: float, slack: float) -> float:
        """Make the ceilings of a block of candidates exact, as far as they matter."""
        block = block[np.argsort(-self._ceilings[block], kind="stable")]
        differences = self.features[block] - self.features[self._incumbent]
        products = differences @ self.evidence.rows.T
        bounds = self._ceilings[block]
        reached, count, duals = project(
            self.evidence.gram, products, self._gaps[block], bounds, best=best, slack=slack
        )
        if count and bounds[:count].min() < SMALL:
            small = np.flatnonzero(bounds[:count] < SMALL)
            residuals = differences[small] + duals[small] @ self.evidence.rows
            bounds[small] = np.sqrt(np.einsum("nd,nd->n", residuals, residuals))
            reached = max(best, float(bounds[:count].max()))
        self._ceilings[block] = bounds
        return reached

    def _limited_values(self, limit: LossLevel, barred: Collection[int]) -> NDArray[np.float64]:
        """Return values under the loss constraint, exact where they could be the largest."""
        values = self._ceilings * self.norm_bound
        done = np.zeros(len(values), dtype=bool) if self.retired is None else self.retired.copy()
        best = best_allowed = -math.inf
        while not done.all():
            k = int(np.where(done, -np.inf, values).argmax())
            if values[k] < min(best, best_allowed) - TIE * self.norm_bound:
                break
            values[k] = self._limited_value(k, limit)
            done[k] = True
            best = max(best, float(values[k]))
            if k not in barred:
                best_allowed = max(best_allowed, float(values[k]))
            # max <theta, a + b> <= max <theta, a> + S |b|: neighbours cannot be much better.
            gaps = np.linalg.norm(self.features - self.features[k], axis=1)
            np.minimum(values, values[k] + self.norm_bound * gaps, out=values, where=~done)
        return np.asarray(values)

    def _limited_value(self, k: int, limit: LossLevel) -> float:
        """Solve without the loss constraint; only when the solution breaks it, solve with it."""
        c = self.features[k] - self.features[self._incumbent]
        point = self._projection(c) if self.cone else c
        length = float(np.linalg.norm(point))
        if length > ZERO:
            point = point * (self.norm_bound / length)
        else:  # nothing to gain but from the loss constraint, if it excludes zero
            length, point = 0.0, np.zeros_like(c)
        if limit.allows(self.evidence.rows @ point):
            return length * self.norm_bound
        return limit.support(c)
