"""What the method does not know beforehand: how far features explain a taste, and the noise.

A hypothesis is one combination. The answers decide between them by their probability under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# The share of the utilities' variance that features do not explain, with its prior weight.
SHARES = ((0.02, 0.4), (0.2, 0.2), (0.5, 0.2), (0.95, 0.2))
# Noise of an answer in units of the utilities' spread, probability of a slip, prior weight.
NOISES = (
    (0.05, 0.004, 0.62),
    (0.1, 0.12, 0.12),
    (0.5, 0.02, 0.1),
    (1.5, 0.05, 0.12),
    (6.0, 0.05, 0.04),
)
# How much of a prior's mean counts; 0 leaves the prior out altogether.
TRUSTS = ((0.0, 0.3), (0.5, 0.3), (1.0, 0.4))


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """All combinations; arrays of shape (G,).

    Parameters
    ----------
    share : ndarray
        rho, the share of the variance that belongs to each candidate alone.
    noise, lapse : ndarray
        Standard deviation of the noise of an answer, and probability of a slip.
    trust : ndarray
        How much of the prior's mean counts.
    log_prior : ndarray
    """

    share: Array
    noise: Array
    lapse: Array
    trust: Array
    log_prior: Array

    @classmethod
    def grid(cls, *, with_prior: bool) -> Hypotheses:
        """Combine all values; without a prior there is nothing to trust."""
        trusts = TRUSTS if with_prior else ((0.0, 1.0),)
        rows = [
            (share, noise, lapse, trust, np.log(a * b * c))
            for share, a in SHARES
            for noise, lapse, b in NOISES
            for trust, c in trusts
        ]
        return cls(*(np.array(column) for column in zip(*rows, strict=True)))

    def __len__(self) -> int:
        return len(self.share)
