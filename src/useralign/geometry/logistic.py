"""The logistic loss of the answers, and how far from its minimum the truth may lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOG2 = math.log(2.0)


def softplus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 + exp(x)) without overflow, any shape."""
    return np.logaddexp(0.0, x)


def loss(margins: NDArray[np.float64]) -> float:
    """Return the negative log-likelihood L_t of the answers (section 4, "Solve").

    Parameters
    ----------
    margins : ndarray, shape (t,)
        `<theta, winner - loser>` for each answer.
    """
    return float(softplus(-margins).sum())


def beta(t: int, dimension: int, norm_bound: float, delta: float) -> float:
    """Return beta_t, the width of the loss-based confidence set (below Eq. 3).

    Parameters
    ----------
    t : int
        The number of answers.
    dimension : int
        The number d of features.
    norm_bound : float
        S, the largest norm that the preference vector may have.
    delta : float
        The probability with which the set may miss the truth.
    """
    growth = 10.0 * dimension * math.log(norm_bound * t / (4.0 * dimension) + math.e)
    return growth + 2.0 * ((math.e - 2.0) + norm_bound) * math.log(1.0 / delta)
