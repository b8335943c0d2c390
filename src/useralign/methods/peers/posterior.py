"""A Gaussian posterior over linear utilities, by Laplace's approximation.

The prior is theta ~ N(0, s^2 I), an answer has the logistic likelihood of the Bradley-Terry-Luce
model. The mode and the covariance follow Rasmussen and Williams, "Gaussian Processes for Machine
Learning" (2006), Algorithms 3.1 and 3.2, with one latent value an answer: the utility of the
winner minus that of the loser. So the cost grows with the number of answers, not with d. Samples
are drawn by Matheron's rule: a draw from the prior, corrected by what it gets wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ROUNDS = 60
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of the utilities after some answers; `posterior` makes it.

    Parameters
    ----------
    features : ndarray, shape (K, d)
    variance : float
        s^2, of each entry of theta.
    rows : ndarray, shape (t, d)
        Winner minus loser, an answer each.
    mean : ndarray, shape (K,)
        The utilities at the mode.
    root : ndarray, shape (t,)
        Square roots of the likelihood's curvatures.
    inverse : ndarray, shape (t, t)
        Of the matrix B of the book's Equation 3.26.
    """

    features: NDArray[np.float64]
    variance: float
    rows: NDArray[np.float64]
    mean: NDArray[np.float64]
    root: NDArray[np.float64]
    inverse: NDArray[np.float64]

    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance of the utilities, shape (K, K)."""
        across = self.variance * (self.features @ self.rows.T) * self.root
        prior = self.variance * (self.features @ self.features.T)
        return np.asarray(prior - across @ self.inverse @ across.T)

    def differences(self) -> NDArray[np.float64]:
        """Return the variance of the difference of every two utilities, shape (K, K)."""
        covariance = self.covariance()
        own = np.diag(covariance)
        return np.asarray(np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0))

    def sample(self, draw: np.random.Generator) -> NDArray[np.float64]:
        """Draw utilities, shape (K,)."""
        theta = draw.normal(size=self.features.shape[1]) * np.sqrt(self.variance)
        wrong = self.root * (self.rows @ theta) + draw.normal(size=len(self.root))
        across = self.variance * (self.features @ self.rows.T) * self.root
        return np.asarray(self.mean + self.features @ theta - across @ (self.inverse @ wrong))


def posterior(
    features: NDArray[np.float64], answers: Sequence[tuple[int, int]], spread: float
) -> Posterior:
    """Fit the posterior.

    Parameters
    ----------
    features : ndarray, shape (K, d)
    answers : sequence of (winner, loser)
    spread : float
        The prior's standard deviation of the difference between two utilities, on average over
        the pool, in logits: how sure of their taste people are.
    """
    variance = _variance(features, spread)
    pairs = np.array(answers, dtype=np.intp).reshape(-1, 2)
    rows = features[pairs[:, 0]] - features[pairs[:, 1]]
    gram = variance * (rows @ rows.T)
    slope, root, inverse = _mode(gram)
    mean = variance * (features @ (rows.T @ slope))
    return Posterior(features, variance, rows, mean, root, inverse)


def _variance(features: NDArray[np.float64], spread: float) -> float:
    """Return s^2: the spread over the mean squared distance of two candidates."""
    centred = features - features.mean(axis=0)
    squared = 2.0 * float((centred**2).sum()) / max(len(features) - 1, 1)
    return spread**2 / squared if squared > 0 else spread**2


def _mode(
    gram: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Find the mode by Newton's method with halved steps; return slopes, roots and B inverse."""
    count = len(gram)
    weight = np.zeros(count)  # the latent values are gram @ weight
    value = _objective(gram, weight)
    for _ in range(_ROUNDS):
        slope, root, inverse = _curvature(gram, weight)
        target = root**2 * (gram @ weight) + slope
        step = target - root * (inverse @ (root * (gram @ target))) - weight
        size = 1.0
        while _objective(gram, weight + size * step) < value and size > 1e-8:
            size /= 2.0
        weight = weight + size * step
        before, value = value, _objective(gram, weight)
        if value - before <= _TOLERANCE * (1.0 + abs(value)):
            break
    slope, root, inverse = _curvature(gram, weight)
    return slope, root, inverse


def _curvature(
    gram: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the likelihood's slopes, the roots of its curvatures, and B inverse."""
    wrong = 0.5 * (1.0 - np.tanh(0.5 * (gram @ weight)))  # the chance of the other answer
    root = np.sqrt(wrong * (1.0 - wrong))
    matrix = np.eye(len(gram)) + root[:, None] * gram * root
    return wrong, root, np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _objective(gram: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the logarithm of the posterior, up to a constant."""
    latent = gram @ weight
    return float(-np.logaddexp(0.0, -latent).sum() - 0.5 * weight @ latent)
