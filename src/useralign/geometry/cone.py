"""Projection onto the cone of preferences that agree with every answer (Eq. 4).

For `H = {x : A x >= 0}` and any c, `max {<theta, c> : theta in H, |theta| <= S} = S |P(c)|` where P
is the Euclidean projection onto H. By Moreau's decomposition `P(c) = c + A' lam` with

    lam = argmin over lam >= 0 of |c + A' lam|^2,

a non-negative least squares problem that sees A only through `A A'` and `A c`: the dimension d is
gone. It is solved by Lawson and Hanson's active-set method on the Gram matrix. Any lam >= 0 gives
an upper bound on |P(c)|, so a candidate that falls below the best so far is left at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from useralign.geometry import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VIOLATION = 1e-10  # relative to |c|: how much a half-space may be missed
_DEPENDENT = 1e-13  # relative to |a|^2: a row in the span of the others


def nnls_gram(
    gram: NDArray[np.float64], products: NDArray[np.float64], scale: float, floor: float = 0.0
) -> NDArray[np.float64]:
    """Minimise `lam' G lam / 2 + q' lam` over lam >= 0.

    Parameters
    ----------
    gram : ndarray, shape (t, t)
        G, positive semidefinite.
    products : ndarray, shape (t,)
        q.
    scale : float
        |c|, to which tolerances are relative.
    floor : float
        Stop early when `scale^2 + q' lam`, an upper bound on |P(c)|^2, is below this.

    Returns
    -------
    ndarray, shape (t,)
    """
    lengths = np.sqrt(np.diag(gram))
    dual = np.zeros(len(gram))
    passive: list[int] = []
    blocked: set[int] = set()
    for _ in range(10 * len(gram) + 10):
        rates = -(products + gram @ dual) / np.where(lengths > 0, lengths, np.inf)
        rates[passive + list(blocked)] = 0.0
        enter = int(rates.argmax())
        if rates[enter] <= _VIOLATION * scale:
            break
        trial = _passive_solution(gram, products, [*passive, enter])
        if trial is None or trial[-1] <= 0:
            blocked.add(enter)
            continue
        passive.append(enter)
        passive = _restore_sign(gram, products, dual, passive, trial)
        blocked.clear()
        if scale * scale + products @ dual < floor:
            break
    return dual


def _passive_solution(
    gram: NDArray[np.float64], products: NDArray[np.float64], passive: list[int]
) -> NDArray[np.float64] | None:
    """Solve on the passive rows; None when the last of them depends on the others."""
    part = gram[np.ix_(passive, passive)]
    try:
        factor = np.linalg.cholesky(part)
    except np.linalg.LinAlgError:
        return None
    if factor[-1, -1] ** 2 <= _DEPENDENT * part[-1, -1]:
        return None
    return cast(
        "NDArray[np.float64]",
        np.linalg.solve(factor.T, np.linalg.solve(factor, -products[passive])),
    )


def _restore_sign(
    gram: NDArray[np.float64],
    products: NDArray[np.float64],
    dual: NDArray[np.float64],
    passive: list[int],
    target: NDArray[np.float64] | None,
) -> list[int]:
    """Move `dual` (in place) to the passive solution, dropping what would become negative."""
    while target is not None and len(passive) and target.min() <= 0:
        now = dual[passive]
        limits = np.where(target <= 0, now / np.where(target <= 0, now - target, 1.0), np.inf)
        worst = int(limits.argmin())
        moved = now + limits[worst] * (target - now)
        moved[worst] = 0.0
        dual[passive] = np.maximum(moved, 0.0)
        passive = [j for j in passive if dual[j] > 0]
        target = _passive_solution(gram, products, passive) if passive else None
    if target is not None:
        dual[passive] = target
    return passive


def project(
    gram: NDArray[np.float64],
    products: NDArray[np.float64],
    squares: NDArray[np.float64],
    bounds: NDArray[np.float64],
    *,
    best: float,
    slack: float,
) -> tuple[float, int, NDArray[np.float64]]:
    """Find the longest projection among many differences, looking at as few as possible.

    Parameters
    ----------
    gram : ndarray, shape (t, t)
        `A A'`.
    products : ndarray, shape (n, t)
        `A c_i`, one row per difference, in decreasing order of `bounds`.
    squares : ndarray, shape (n,)
        `|c_i|^2`.
    bounds : ndarray, shape (n,)
        Upper bounds on `|P(c_i)|`; overwritten by the exact value or by a better upper bound.
    best : float
        The largest value known already. The search ends at the first bound below `best - slack`.
    slack : float
        Values this close to the best are computed exactly, so that ties can be seen.

    Returns
    -------
    best : float
    done : int
        How many differences were looked at.
    duals : ndarray, shape (n, t)
        The multipliers lam of those looked at.
    """
    duals = np.zeros(products.shape)
    if kernel.compiled:
        best, done = kernel.compiled.project(
            gram, products, squares, bounds, duals, float(best), slack
        )
        return best, done, duals
    done = 0
    for i, square in enumerate(squares):
        if bounds[i] < best - slack:
            break
        floor = max(best - slack, 0.0) ** 2
        duals[i] = nnls_gram(gram, products[i], float(np.sqrt(square)), floor)
        value = float(np.sqrt(max(square + products[i] @ duals[i], 0.0)))
        bounds[i] = min(bounds[i], value)
        best = max(best, float(bounds[i]))
        done += 1
    return best, done, duals
