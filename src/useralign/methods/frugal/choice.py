"""Which candidates to ask about next: look one answer ahead.

The knowledge gradient of a pair is how much better, on average over the answer, the best
candidate will look than it does now: `E[max_k E[u_k | answer]] - max_k E[u_k]`. It finds a good
candidate in few questions, but near the end, when no single answer would change the choice, it
is flat. So we add how much the answer is expected to raise the chance of naming the best,
`E[max_k P(k is best | answer)] - max_k P(k is best)`, which then takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.ep import Likelihoods, tilt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.methods.frugal.posterior import Posterior

    Array = NDArray[np.float64]
    Indices = NDArray[np.intp]

SHORTLIST = 32  # candidates among which pairs are looked for
CONTENDERS = 20  # those of them whose chance of being the best is looked at
CERTAINTY = 0.5  # what it is worth to know the best for certain, in spreads of the utilities


def shortlist(posterior: Posterior, best: int, out: set[int]) -> Indices:
    """Return the candidates that are most likely to matter, shape (M,), in order."""
    count = len(posterior.mean)
    reach = posterior.mean if count <= SHORTLIST else posterior.mean + 2.0 * posterior.deviations()
    reach[best] = np.inf
    reach[list(out)] = -np.inf
    most = min(SHORTLIST, count - len(out))
    return np.sort(np.argsort(-reach, kind="stable")[:most])


def values(posterior: Posterior, draws: Array, rows: Indices) -> tuple[Indices, Indices, Array]:
    """Return all pairs of some candidates and what asking about each is worth.

    Draws have shape (S, K), rows (M,). The pairs, two arrays of indices into `rows`, and their
    worth have shape (P,).
    """
    first, second = np.triu_indices(len(rows), 1)
    worth = gains(posterior, rows, first, second)
    chance = np.bincount(draws[:, rows].argmax(axis=1), minlength=len(rows))
    contends = np.zeros(len(rows), dtype=bool)
    contends[np.argsort(-chance, kind="stable")[:CONTENDERS]] = True
    both = contends[first] & contends[second]
    worth[both] += CERTAINTY * sharpening(draws[:, rows], first[both], second[both])
    return first, second, worth


def gains(posterior: Posterior, rows: Indices, first: Indices, second: Indices) -> Array:
    """Return the knowledge gradient of pairs, shape (P,).

    The best may be among the candidates `rows`, shape (M,); pairs are indices into these.
    """
    means = posterior.means[:, rows]
    covariances = posterior.covariances(rows)
    chance, slope = _answers(posterior, means, covariances, (first, second))
    # Over all hypotheses: P[first wins] E[u | first wins]; the rest of E[u] is the other answer's.
    wins = (posterior.odds[:, None] * chance).T @ means
    lever = posterior.odds[:, None] * chance * slope
    for levers, covariance in zip(lever, covariances, strict=True):
        wins += levers[:, None] * (covariance[first] - covariance[second])
    now = posterior.odds @ means
    result: Array = wins.max(axis=1) + (now - wins).max(axis=1) - now.max()
    return result


def _answers(
    posterior: Posterior, means: Array, covariances: Array, pairs: tuple[Indices, Indices]
) -> tuple[Array, Array]:
    """Return the chance that the first wins and the slope of its logarithm, both (H, P)."""
    first, second = pairs
    variance = covariances.diagonal(axis1=1, axis2=2)
    spread = variance[:, first] + variance[:, second] - 2.0 * covariances[:, first, second]
    hypotheses, active = posterior.hypotheses, posterior.active
    above = Likelihoods(
        np.zeros((1, 1)),
        np.full((1, 1), np.inf),
        hypotheses.noise[active, None],
        hypotheses.lapse[active, None],
    )
    gap = means[:, first] - means[:, second]
    log_mass, slope, _ = tilt(gap, np.maximum(spread, 1e-12), above)
    return np.exp(log_mass), slope


def sharpening(draws: Array, first: Indices, second: Indices) -> Array:
    """Return by how much a true answer is expected to raise the chance of naming the best, (P,).

    Draws have shape (S, M); the pairs are P of their columns each.
    """
    columns = np.ascontiguousarray(draws.T)
    wins = (columns[first] > columns[second]).astype(np.float32)
    best = np.zeros(draws.shape, dtype=np.float32)
    best[np.arange(len(draws)), draws.argmax(axis=1)] = 1.0 / len(draws)
    now = best.sum(axis=0)
    after = wins @ best[:, now > 0]
    now = now[now > 0]
    gain = after.max(axis=1) + (now - after).max(axis=1) - now.max()
    result: Array = gain.astype(np.float64)
    return result


def best_addition(draws: Array, screen: Sequence[int], allowed: NDArray[np.bool_]) -> int | None:
    """Return the candidate to add to a comparison; None if none is allowed.

    The person's choice is worth `E[max u]` over the comparison, so it is the allowed candidate
    that raises it the most. Draws have shape (S, K).
    """
    if not allowed.any():
        return None
    top = draws[:, list(screen)].max(axis=1)
    worth = np.maximum(draws, top[:, None]).mean(axis=0)
    return int(np.where(allowed, worth, -np.inf).argmax())
