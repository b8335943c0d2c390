"""Empirical Bayes: the belief about everybody that makes everybody's answers most probable.

Each round computes every person's posterior under the belief (expectation propagation), then the
belief that fits these posteriors best. The mean and the popularity are one weighted regression
with ridges, whose sizes are fitted, too; the covariance follows the EM rule

    S = Sigma + Sigma G Sigma,   G = mean over people of A' (w w' - K) A,

where A are a person's rows and w, K come from the sites. It is then drawn towards a multiple of
the identity: what exceeds the floor is made smaller by a weight that is chosen elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from useralign.memory.belief import RANK, Belief, condensed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.memory.design import Design
    from useralign.methods.frugal.ep import Sites

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]

ROUNDS = 30
ENOUGH = 1e-4  # a gain of log-probability an answer that no longer matters
_SIZES = (0.02, 50.0)  # limits of variances, in units of the answers' noise


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt from a number of people.

    Parameters
    ----------
    belief : Belief
        About somebody new: the uncertainty of the mean is in its covariance.
    score : float
        Log-probability of all that was said.
    """

    belief: Belief
    score: float


def learn(design: Design, weight: float, *, common: bool = True, rounds: int = ROUNDS) -> Learnt:
    """Fit a belief to what people said.

    Parameters
    ----------
    design : Design
    weight : float
        How far the covariance is drawn towards a multiple of the identity; 1 is all the way.
    common : bool
        Whether people have anything in common, a mean or popular candidates.
    rounds : int
    """
    dimension = design.rows.shape[2]
    belief = Belief.blank(dimension, len(design.keys))
    ridges = 0.25 * belief.floor, 0.25 * belief.own
    doubt = np.zeros((dimension, dimension))
    start, score = None, -np.inf
    for _ in range(rounds):
        sites = belief.judge(design, start)
        start = sites.precision, sites.shift
        before, score = score, float(sites.evidence.sum())
        if abs(score - before) < ENOUGH * design.said:
            break
        wider = _covariance(design, sites, belief, weight)
        if common:
            mean, popularity, doubt, ridges = _means(design, sites, belief, ridges)
            wider = replace(wider, mean=mean, popularity=popularity)
        belief = wider
    full = belief.spread(np.eye(dimension)) + doubt
    floor, factor = condensed(full, _rank(design) + 2)
    return Learnt(replace(belief, floor=floor, factor=factor), score)


def _rank(design: Design) -> int:
    return min(RANK, len(design) // 2)


def _covariance(design: Design, sites: Sites, belief: Belief, weight: float) -> Belief:
    """Return the belief with the variances that fit the posteriors."""
    shared = _shared(belief.kinship(design), design.session)
    outer = sites.weights[:, :, None] * sites.weights[:, None, :]
    pull = shared * (outer - sites.shrink)
    wide = belief.spread(design.rows)
    count, dimension = len(design), wide.shape[2]
    change = wide.reshape(-1, dimension).T @ (pull @ wide).reshape(-1, dimension) / count
    full = belief.spread(np.eye(dimension)) + change
    floor, factor = condensed((full + full.T) / 2.0, _rank(design) if weight < 1.0 else 0)
    gain = float((design.own * pull).sum()) / max(1, int(design.touched.sum()))
    own = _clipped(belief.own + belief.own**2 * gain)
    factor = factor * np.sqrt(1.0 - weight)
    return replace(belief, floor=_clipped(floor), factor=factor, own=own)


def _shared(kinship: Array, session: Places) -> Array:
    """Return the mean over a person's sessions of the products of kinships with that session."""
    result = np.zeros_like(kinship)
    for n, codes in enumerate(session):
        _, first = np.unique(codes[codes >= 0], return_index=True)
        towards = kinship[n][first]
        result[n] = towards.T @ towards / max(1, len(first))
    return result


def _means(
    design: Design, sites: Sites, belief: Belief, ridges: tuple[float, float]
) -> tuple[Array, Array, Array, tuple[float, float]]:
    """Regress everything said on theta's mean and the popularity, at once."""
    dimension, count = design.rows.shape[2], len(design.keys)
    rows = design.rows.reshape(-1, dimension)
    weighed = (sites.shrink @ design.rows).reshape(-1, dimension)
    better, worse = design.better.ravel(), design.worse.ravel()
    total = dimension + count
    normal = np.zeros((total, total))
    normal[:dimension, :dimension] = rows.T @ weighed
    normal[dimension:, :dimension] = _gathered(weighed, better, worse, count)
    normal[:dimension, dimension:] = normal[dimension:, :dimension].T
    normal[dimension:, dimension:] = _incidence(design, sites.shrink)
    pulled = sites.weights + np.einsum(
        "nts,ns->nt", sites.shrink, design.centre(belief.mean, belief.popularity)
    )
    flat = pulled.reshape(-1, 1)
    aim = np.concatenate([rows.T @ flat[:, 0], _gathered(flat, better, worse, count)[:, 0]])
    sizes = np.repeat(ridges, (dimension, count))
    inverse = np.linalg.inv(normal + np.diag(1.0 / sizes))
    found = inverse @ aim
    squares = found**2 + np.diag(inverse)
    fitted = (
        _clipped(float(squares[:dimension].mean())),
        _clipped(float(squares[dimension:].mean())) if count else ridges[1],
    )
    return found[:dimension], found[dimension:], inverse[:dimension, :dimension], fitted


def _gathered(values: Array, better: Places, worse: Places, count: int) -> Array:
    """Sum rows by candidate, plus for the better and minus for the worse, shape (count, m)."""
    result = np.zeros((count + 1, values.shape[1]))
    np.add.at(result, better, values)
    np.add.at(result, worse, -values)
    return result[:count]


def _incidence(design: Design, shrink: Array) -> Array:
    """Sum the shrinks by pairs of candidates, shape (count, count)."""
    count = len(design.keys)
    result = np.zeros((count + 1, count + 1))
    for one, sign in ((design.better, 1.0), (design.worse, -1.0)):
        for other, turned in ((design.better, 1.0), (design.worse, -1.0)):
            where = np.broadcast_arrays(one[:, :, None], other[:, None, :])
            np.add.at(result, tuple(where), sign * turned * shrink)
    return result[:count, :count]


def _clipped(variance: float) -> float:
    return float(np.clip(variance, *_SIZES))
