"""The paper's own solver path, with cvxpy: the oracle in tests, the yardstick in benchmarks.

As the paper's "Notes About the Solver" has it: every problem goes to CLARABEL with its default
settings; when that fails to ECOS; then to SCS with eps 1e-6 and at most 50,000 iterations. Every
challenger is one conic problem, and nothing is skipped or warm-started.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import SolverError
from useralign.extras import import_extra
from useralign.geometry.engine import SMALL, Engine
from useralign.geometry.mle import LOG2, loss

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

_CHAIN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("CLARABEL", {}),
    ("ECOS", {}),
    ("SCS", {"eps": 1e-6, "max_iters": 50_000}),
)


class Reference(Engine):
    """The paper's algorithm as the paper runs it: see `Engine` for the parameters."""

    def __init__(
        self, features: NDArray[np.float64], norm_bound: float, delta: float, cone: bool
    ) -> None:
        super().__init__(features, norm_bound, delta, cone)
        self._cp = import_extra("cvxpy", "the reference backend", "reference")
        self._rows: list[NDArray[np.float64]] = []
        self._estimate: NDArray[np.float64] | None = None

    @property
    def rows(self) -> NDArray[np.float64]:
        """The differences taken in so far, shape (t, d)."""
        return np.array(self._rows).reshape(-1, self.features.shape[1])

    def agrees(self, row: NDArray[np.float64]) -> bool:
        """Return whether it can be taken in; see `Engine.agrees`."""
        if not self.cone or not self.count or not row.any():
            return True
        theta = self._cp.Variable(len(row))
        inside = [self._cp.norm(theta, 2) <= 1.0, self.rows @ theta >= 0]
        return -self._minimise(-(row @ theta), inside) > SMALL * float(np.linalg.norm(row))

    def add_row(self, row: NDArray[np.float64]) -> None:
        """Take in one difference; see `Engine.add_row`."""
        self._rows.append(row)
        self.count += 1
        self._estimate = None

    def estimate(self) -> NDArray[np.float64]:
        """Return the norm-constrained MLE (Eq. 2), shape (d,)."""
        if self._estimate is None:
            theta = self._cp.Variable(self.features.shape[1])
            if self.count:
                self._minimise(self._loss(theta), [self._cp.norm(theta, 2) <= self.norm_bound])
                self._estimate = np.asarray(theta.value)
            else:
                self._estimate = np.zeros(self.features.shape[1])
        return self._estimate

    def challenge(self, incumbent: int, barred: Collection[int] = ()) -> tuple[int | None, float]:
        """Find the challenger by solving for every candidate; see `Engine.challenge`."""
        return self.choose(self.values(incumbent), barred)

    def values(self, incumbent: int) -> NDArray[np.float64]:
        """Return every candidate's value against the incumbent, shape (K,)."""
        if self.cone and self.count and self._is_empty():
            scores = self.scores()
            return np.asarray(scores - scores[incumbent])
        return np.array(
            [
                0.0 if k == incumbent else self._support(row - self.features[incumbent])
                for k, row in enumerate(self.features)
            ]
        )

    def _support(self, direction: NDArray[np.float64]) -> float:
        theta = self._cp.Variable(self.features.shape[1])
        return -self._minimise(-(direction @ theta), self._constraints(theta))

    def _is_empty(self) -> bool:
        """Check emptiness only where it can be: 0 is in the set while its loss is allowed."""
        if self.count * LOG2 <= self._level():
            return False
        theta = self._cp.Variable(self.features.shape[1])
        inside = [self._cp.norm(theta, 2) <= self.norm_bound, self.rows @ theta >= 0]
        return self._minimise(self._loss(theta), inside) > self._level()

    def _loss(self, theta: Any) -> Any:
        return self._cp.sum(self._cp.logistic(-(self.rows @ theta)))

    def _level(self) -> float:
        return self.level(loss(self.rows @ self.estimate()))

    def _constraints(self, theta: Any) -> list[Any]:
        constraints = [self._cp.norm(theta, 2) <= self.norm_bound]
        if self.count:
            constraints.append(self._loss(theta) <= self._level())
            if self.cone:
                constraints.append(self.rows @ theta >= 0)
        return constraints

    def _minimise(self, objective: Any, constraints: list[Any]) -> float:
        problem = self._cp.Problem(self._cp.Minimize(objective), constraints)
        for solver, options in _CHAIN:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    problem.solve(solver=solver, **options)
            except self._cp.error.SolverError:
                continue
            if problem.status in ("optimal", "optimal_inaccurate"):
                return float(problem.value)
        raise SolverError(
            f"CLARABEL, ECOS and SCS all failed on a problem with {self.count} answers in "
            f"{self.features.shape[1]} dimensions (last status: {problem.status})"
        )
