"""Users whose taste is linear in the features: consistent, or noisy as in the BTL model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import OptionError
from useralign.users.base import User

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from useralign.answers import Comparison
    from useralign.domains.questions import Question
    from useralign.pool import Candidate, Pool


class LinearUser(User):
    """A user with utilities `<theta, phi>`.

    Parameters
    ----------
    pool : Pool
    theta : array_like, shape (d,), optional
        The preference vector; when not given, uniform on the sphere of radius `norm_bound`.
    seed : int
        For that draw and for the answers.
    norm_bound : float
        S.
    """

    def __init__(
        self,
        pool: Pool,
        theta: ArrayLike | None = None,
        *,
        seed: int = 0,
        norm_bound: float = 3.0,
    ) -> None:
        self.generator = np.random.default_rng([seed, 7])
        if theta is None:
            direction = self.generator.normal(size=pool.dimension)
            theta = direction * (norm_bound / np.linalg.norm(direction))
        self.theta: NDArray[np.float64] = np.asarray(theta, dtype=np.float64)
        if self.theta.shape != (pool.dimension,):
            raise OptionError(
                f"theta must have shape ({pool.dimension},), one number a feature of the pool; "
                f"got {self.theta.shape}"
            )
        self.utilities: NDArray[np.float64] = pool.features @ self.theta
        row = pool.baseline_features
        self.baseline_utility = None if row is None else float(row @ self.theta)

    def utility(self, candidate: Candidate) -> float:
        """Return what a candidate is worth; one outside the pool (index -1) is the baseline."""
        if candidate.index < 0:
            if self.baseline_utility is None:
                raise OptionError(
                    "the pool has no baseline_features, so the baseline has no utility"
                )
            return self.baseline_utility
        return float(self.utilities[candidate.index])

    def worth(self, pool: Pool) -> NDArray[np.float64]:  # noqa: ARG002 - the one it was made for
        """Return the utilities, shape (K,)."""
        return self.utilities

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:  # noqa: ARG003
        """Name `count` users by number; there is no end of them."""
        return [f"{cls.__name__.lower()}-{number}" for number in range(1, count + 1)]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Draw theta by `taste` and the number, the same for every kind; answers by `seed`."""
        number = int(name.rpartition("-")[2])
        return cls(pool, cls(pool, seed=taste + number).theta, seed=seed)


class Consistent(LinearUser):
    """Always takes the better one; ties go to the first. Parameters as for `LinearUser`."""

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return 1 if `first` is at least as good, else 0."""
        return float(self.utility(first) >= self.utility(second))

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison."""
        return pair.first if self.prefers(pair.first, pair.second) else pair.second


class BTL(LinearUser):
    """Takes the better one with probability `1 / (1 + exp(-difference))` (section 4).

    Parameters as for `LinearUser`.
    """

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is chosen."""
        return 1.0 / (1.0 + math.exp(self.utility(second) - self.utility(first)))

    def choose(self, pair: Comparison) -> Candidate:
        """Draw the answer to a comparison."""
        lucky = self.generator.random() < self.prefers(pair.first, pair.second)
        return pair.first if lucky else pair.second
