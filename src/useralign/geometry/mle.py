"""The loss of the answers and its minimum in a ball (Eq. 2), also tilted or in a cone.

    minimise  L(w) - <tilt, w>   over |w| <= S  (and, when asked, B w >= 0)

where `L(w) = sum_i log(1 + exp(-<b_i, w>))`. With no tilt and no cone it is Eq. 2. A tilt moves the
optimum towards a direction; `confidence` uses it to walk along the edge of a loss-based set.

Newton's method with an exact step: the quadratic model is minimised over the same ball, where
the ball's multiplier mu >= 0 solves a one-dimensional equation. With the cone, each such step is
a small quadratic programme, whose dual is the non-negative least squares of `cone`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from useralign.errors import SolverError
from useralign.geometry import kernel
from useralign.geometry.cone import nnls_gram

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Model = Callable[[float], NDArray[np.float64]]

LOG2 = math.log(2.0)
_ROUNDS = 200


def softplus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 + exp(x)) without overflow, any shape."""
    return np.logaddexp(0.0, x)


def loss(margins: NDArray[np.float64]) -> float:
    """Return the negative log-likelihood L_t of the answers (section 4, "Solve").

    Margins are `<theta, winner - loser>` for each answer, shape (t,).
    """
    return float(softplus(-margins).sum())


def beta(t: int, dimension: int, norm_bound: float, delta: float) -> float:
    """Return beta_t, the width of the loss-based confidence set (below Eq. 3).

    `t` is the number of answers, `norm_bound` is S, and `delta` the probability with which the set
    may miss the truth.
    """
    growth = 10.0 * dimension * math.log(norm_bound * t / (4.0 * dimension) + math.e)
    return growth + 2.0 * ((math.e - 2.0) + norm_bound) * math.log(1.0 / delta)


class Fit(NamedTuple):
    """A fitted vector, its log-loss, and the multiplier of the ball (0 when it is not tight)."""

    w: NDArray[np.float64]
    loss: float
    mu: float


def fit(
    rows: NDArray[np.float64],
    radius: float,
    *,
    tilt: NDArray[np.float64] | None = None,
    cone: bool = False,
    start: Fit | None = None,
) -> Fit:
    """Minimise the logistic loss of the answers over a ball.

    Parameters
    ----------
    rows : ndarray, shape (t, r)
        B: winner minus loser of each answer, in any coordinates that keep lengths.
    radius : float
        S.
    tilt : ndarray, shape (r,), optional
        A linear gain subtracted from the loss.
    cone : bool
        Keep to `B w >= 0` as well.
    start : Fit, optional
        A solution of a problem like this one; it saves rounds and changes nothing else.

    Raises
    ------
    SolverError
        If Newton's method does not converge, from the start given nor from zero.
    """
    size = rows.shape[1]
    gain = np.zeros(size) if tilt is None else tilt
    w = np.zeros(size)
    if start is not None:
        w[: len(start.w)] = start.w
    mu = start.mu if start else 0.0
    if kernel.compiled and not cone:
        for begin, multiplier in ((w, mu), (np.zeros(size), 0.0)):
            solution = begin.copy()
            value, reached, rounds = kernel.compiled.fit(rows, radius, gain, solution, multiplier)
            if rounds >= 0:
                return Fit(solution, value, reached)
    return _newton(rows, radius, gain, cone, Fit(w, 0.0, mu))


def _newton(
    rows: NDArray[np.float64], radius: float, tilt: NDArray[np.float64], cone: bool, start: Fit
) -> Fit:
    w, mu = start.w * min(1.0, radius / max(float(np.linalg.norm(start.w)), 1e-300)), start.mu
    if cone and bool(np.any(rows @ w < 0)):
        w = np.zeros_like(w)

    def objective(at: NDArray[np.float64]) -> float:
        return float(softplus(-(rows @ at)).sum() - tilt @ at)

    for _ in range(_ROUNDS):
        miss = np.exp(-softplus(rows @ w))
        gradient = -tilt - rows.T @ miss
        hessian = (rows.T * (miss * (1.0 - miss))) @ rows
        target, mu = _ball_step(_model(hessian, hessian @ w - gradient, rows, cone), radius, mu)
        step = target - w
        length = float(np.linalg.norm(step))
        share, current, slope = 1.0, objective(w), float(gradient @ step)
        # Where the loss is flat, rounding hides the step's end: no gain left is the end, too.
        settled = length <= 1e-8 * radius or -slope <= 1e-15 * (1.0 + abs(current))
        while not settled and length > 1e-3 * radius and share > 1e-10:
            if objective(w + share * step) <= current + 1e-4 * share * slope:
                break
            share /= 2.0
        w = w + share * step
        if settled:
            return Fit(w, loss(rows @ w), mu)
    raise SolverError(
        f"the logistic fit did not converge in {_ROUNDS} rounds ({rows.shape[0]} answers, "
        f"S={radius:g}); check that the features are scaled to the ball of radius 0.5"
    )


def _model(
    hessian: NDArray[np.float64], rhs: NDArray[np.float64], rows: NDArray[np.float64], cone: bool
) -> Model:
    """Return mu -> argmin v'(H + mu I)v/2 - rhs'v, over the cone when asked."""
    identity = np.eye(len(rhs))
    ridge = 1e-14 * (1.0 + float(np.trace(hessian)))

    def minimiser(mu: float) -> NDArray[np.float64]:
        matrix = hessian + (mu + ridge) * identity
        if not cone:
            return np.asarray(np.linalg.solve(matrix, rhs))
        solved = np.linalg.solve(matrix, np.column_stack([rhs, rows.T]))
        gram = rows @ solved[:, 1:]
        free = solved[:, 0]
        products = rows @ free
        scale = math.sqrt(max(float(rhs @ free), 0.0))
        return np.asarray(free + solved[:, 1:] @ nnls_gram((gram + gram.T) / 2, products, scale))

    return minimiser


def _ball_step(model: Model, radius: float, mu: float) -> tuple[NDArray[np.float64], float]:
    """Find mu >= 0 with |v(mu)| <= S, and = S unless mu = 0. The norm falls as mu grows."""
    v = model(0.0)
    if np.linalg.norm(v) <= radius:
        return v, 0.0
    low, high = 0.0, max(mu, 1e-6)
    while np.linalg.norm(model(high)) > radius:
        low, high = high, 4.0 * high
    # Regula falsi on 1/|v|, which is nearly linear in mu, kept in its bracket by bisection.
    f_low = 1.0 / float(np.linalg.norm(model(low))) - 1.0 / radius
    f_high = 1.0 / max(float(np.linalg.norm(model(high))), 1e-300) - 1.0 / radius
    for turn in range(100):
        mu = low - f_low * (high - low) / (f_high - f_low)
        if turn % 3 == 2 or not low < mu < high:
            mu = (low + high) / 2.0
        v = model(mu)
        gap = 1.0 / max(float(np.linalg.norm(v)), 1e-300) - 1.0 / radius
        if abs(gap) * radius <= 1e-11 or high - low <= 1e-15 * high:
            break
        if gap < 0:
            low, f_low = mu, gap
        else:
            high, f_high = mu, gap
    return v, mu
