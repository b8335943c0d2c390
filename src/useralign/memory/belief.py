"""A belief about a taste: a normal distribution of theta, and what candidates are worth besides.

    u_k = <z_k, theta> + b_k + r_k

with theta normal, b_k the same for everybody, r_k normal and the person's own. An answer to a
comparison is the sign of a difference of utilities plus standard normal noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.ep import Sites, propagate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.memory.design import Design

    Array = NDArray[np.float64]

RANK = 8  # directions in which people differ more than in others, at most
CARRY = 0.7  # of a person's taste, how much one question tells about another
SAME = 0.9  # and how much about the same question at another time


@dataclass(frozen=True, slots=True)
class Belief:
    """What is expected of somebody's taste.

    Parameters
    ----------
    mean : ndarray, shape (d,)
        Of theta.
    floor : float
        Variance of theta in every direction.
    factor : ndarray, shape (d, r)
        The covariance of theta is `floor * I + factor @ factor.T`. The floor is the same for all
        features: embeddings have no axes of their own.
    popularity : ndarray, shape (K,)
        b, in the order of a design's keys.
    own : float
        Variance of r.
    carry : float
        The correlation of a person's taste between two questions.
    """

    mean: Array
    floor: float
    factor: Array
    popularity: Array
    own: float = 1.0
    carry: float = CARRY

    @classmethod
    def blank(cls, dimension: int, keys: int = 0, size: float = 2.0) -> Belief:
        """Return what is believed of somebody of whom nothing is known."""
        return cls(np.zeros(dimension), size, np.zeros((dimension, 0)), np.zeros(keys))

    @property
    def same(self) -> float:
        """The correlation of a person's taste between two sessions about one question."""
        return max(SAME, self.carry)

    def spread(self, rows: Array) -> Array:
        """Multiply rows, shape (..., d), by the covariance of theta."""
        result: Array = self.floor * rows + (rows @ self.factor) @ self.factor.T
        return result

    def kinship(self, design: Design) -> Array:
        """Return how much of a taste two observations share, shape (N, T, T)."""
        return design.kinship(self.carry, self.same)

    def judge(self, design: Design, start: tuple[Array, Array] | None = None) -> Sites:
        """Return the posterior of what people said, all of them at once.

        Parameters
        ----------
        design : Design
        start : tuple of ndarray, shape (N, T), optional
            Sites to begin with.
        """
        along = design.rows @ self.factor
        gram = self.floor * (design.rows @ design.rows.transpose(0, 2, 1))
        gram += along @ along.transpose(0, 2, 1) + self.own * design.own
        gram *= self.kinship(design)
        seen = design.likelihoods(design.centre(self.mean, self.popularity))
        zeros = np.zeros(seen.low.shape)
        return propagate(gram, seen, start or (zeros, zeros))


def condensed(covariance: Array, rank: int = RANK) -> tuple[float, Array]:
    """Return the nearest floor and factor: the widest directions, and the mean of the rest.

    Parameters
    ----------
    covariance : ndarray, shape (d, d)
    rank : int

    Returns
    -------
    floor : float
    factor : ndarray, shape (d, r)
    """
    dimension = len(covariance)
    rank = min(rank, dimension - 1)
    values, vectors = _widest(covariance, rank)
    floor = max((float(np.trace(covariance)) - values.sum()) / (dimension - rank), 1e-9)
    kept = values > 1.01 * floor
    return floor, vectors[:, kept] * np.sqrt(values[kept] - floor)


def _widest(covariance: Array, rank: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors, shapes (rank,) and (d, rank)."""
    from scipy.linalg import eigh  # noqa: PLC0415 - importing this package stays cheap

    dimension = len(covariance)
    if rank == 0:
        return np.zeros(0), np.zeros((dimension, 0))
    values, vectors = eigh(covariance, subset_by_index=[dimension - rank, dimension - 1])
    return values, vectors
