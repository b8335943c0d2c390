"""The largest regret that a confidence set allows, when the loss constraint is active.

The loss-based set (Eq. 3) is `{theta : |theta| <= S, L(theta) <= level}`; the practical set (line 4
of Algorithm 3) also has `A theta >= 0`. For a direction c both support functions are found exactly:

1. Leave the loss constraint out. If the maximiser meets it anyway, that is the answer.
2. Else the constraint is tight, and the maximiser is the minimiser of `L(w) - kappa <c, w>` over
   the rest of the set for the one `kappa > 0` at which `L = level`: L grows with kappa, so this is
   the root of a monotone function of one variable.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from useralign.geometry.mle import Fit, fit, loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.geometry.evidence import AnswerRows

_REACH = 20.0  # the largest |log kappa| looked at: beyond, one part drowns the other
_LEVEL = 1e-10  # how far above the level, relative to 1 + level, still counts as on it


class LossLevel:
    """The constraint `L(theta) <= level` over the answers so far.

    The level is `L(mle) + beta_t`, in the cone if `A theta >= 0` holds as well; the estimate is the
    norm-constrained MLE in the basis of the evidence. `near` is the last root's log kappa, from
    which the next is seldom far: only a start.
    """

    def __init__(
        self,
        evidence: AnswerRows,
        level: float,
        norm_bound: float,
        cone: bool,
        estimate: Fit,
        *,
        near: float = 0.0,
    ) -> None:
        self.evidence = evidence
        self.level = level
        self.norm_bound = norm_bound
        self.cone = cone
        self.estimate = estimate
        self.near = near

    def allows(self, margins: NDArray[np.float64]) -> bool:
        """Return whether a preference with these margins, shape (t,), meets the constraint."""
        return loss(margins) <= self.level + _LEVEL * (1.0 + abs(self.level))

    def is_empty(self) -> bool:
        """Whether the set has no point: only the cone can push every loss above the level."""
        if not self.cone or self.allows(np.zeros(self.evidence.count)):
            return False
        if (self.evidence.coordinates @ self.estimate.w).min() >= 0:
            return False
        inside = fit(self.evidence.coordinates, self.norm_bound, cone=True)
        return not self.allows(self.evidence.coordinates @ inside.w)

    def support(self, direction: NDArray[np.float64]) -> float:
        """Return `max <theta, c>` over the set for c of shape (d,), the constraint being tight."""
        rows, c = self._coordinates(direction)
        length = float(np.linalg.norm(c))
        if length == 0.0:
            return 0.0
        start = Fit(self.estimate.w, 0.0, self.estimate.mu)
        if self.cone:
            start = Fit(np.zeros(0), 0.0, 0.0)
        last: list[Fit] = [start]

        def excess(log_kappa: float) -> float:
            tilt = c * (math.exp(log_kappa) / length)
            last[0] = fit(rows, self.norm_bound, tilt=tilt, cone=self.cone, start=last[0])
            return last[0].loss - self.level

        root = _root(excess, self.near, 1e-12 * (1.0 + abs(self.level)))
        self.near = root if abs(root) < _REACH / 2 else 0.0  # far out there was no root
        return float(c @ last[0].w)

    def _coordinates(
        self, direction: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Express rows and direction in the basis, with one more axis for what lies outside."""
        inside = self.evidence.basis @ direction
        outside = direction - inside @ self.evidence.basis
        length = float(np.linalg.norm(outside))
        rows = self.evidence.coordinates
        if length <= 1e-12 * float(np.linalg.norm(direction)):
            return np.ascontiguousarray(rows), inside
        return np.column_stack([rows, np.zeros(len(rows))]), np.append(inside, length)


def _root(excess: Callable[[float], float], start: float, tolerance: float) -> float:
    """Find the root of a growing function, whose last evaluation is at the point returned.

    Without a change of sign within reach the level is the minimum itself, or tight only to
    rounding, and the last point is the solution as far as it can be computed.
    """
    point, value, width = start, excess(start), 0.1
    step = -1.0 if value > 0 else 1.0
    while True:
        following = point + step * width
        if abs(following) > _REACH:
            return point
        reached = excess(following)
        if (reached > 0) != (value > 0):
            return _between(excess, (following, reached), (point, value), tolerance)
        point, value, width = following, reached, 3.0 * width


def _between(
    excess: Callable[[float], float],
    new: tuple[float, float],
    other: tuple[float, float],
    tolerance: float,
) -> float:
    """Find the root between two points of opposite sign, by Chandrupatla's method (1997).

    Inverse quadratic interpolation where three points promise it, else bisection. It works on the
    values at hand: a warm-started function that is evaluated twice may differ in its last digits,
    and change its sign.
    """
    share = 0.5
    for _ in range(200):
        at = new[0] + share * (other[0] - new[0])
        value = excess(at)
        if abs(value) <= tolerance or abs(other[0] - new[0]) <= 1e-13:
            return at
        old = new if (value > 0) == (new[1] > 0) else other
        if old is other:
            other = new
        new = (at, value)
        share = _share(new, other, old)
    return new[0]


def _share(new: tuple[float, float], other: tuple[float, float], old: tuple[float, float]) -> float:
    """Return how far from `new` towards `other` to look next."""
    (x1, f1), (x2, f2), (x3, f3) = new, other, old
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if not (phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    linear = f1 / (f2 - f1) * f3 / (f2 - f3)
    curved = (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return min(max(linear + curved, 1e-6), 1.0 - 1e-6)
