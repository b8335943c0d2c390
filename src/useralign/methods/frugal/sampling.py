"""Draws from the posterior of the utilities.

A draw from the prior becomes one from the posterior by Matheron's rule: add what the difference
between the observations and the draw's own, noisy, observations implies. The observations are
only known to lie in intervals, so they are drawn as well: first from the normal approximation of
expectation propagation, then by sweeps of Gibbs sampling from their true distribution.

A sweep draws each coordinate given the others, then moves the whole along one line. The second
is what mixes when many constraints say nearly the same, where single coordinates hardly move.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from useralign.methods.frugal.posterior import likelihoods

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.methods.frugal.ep import Likelihoods
    from useralign.methods.frugal.evidence import BeliefFrame, Evidence, Summary
    from useralign.methods.frugal.posterior import Posterior

    Array = NDArray[np.float64]

DRAWS = 1024
FEWER = 512  # for large pools
LARGE = 256
SWEEPS = 3
SURE = 0.95
_EDGE = 1e-15  # probabilities are kept this far from 0 and 1
_LEAST = 1e-12


class Sampler:
    """Draws that belong together: each step's are those of the step before, moved.

    Parameters
    ----------
    frames : list of BeliefFrame
    generator : callable
        Returns a random generator by number; the same one each time it is asked.
    draws : int, optional
        An even number.

    Attributes
    ----------
    reach : float
        How far behind the best a candidate taken blindly may be, with probability 0.95.
    """

    def __init__(
        self,
        frames: list[BeliefFrame],
        generator: Callable[[int], np.random.Generator],
        draws: int | None = None,
    ) -> None:
        self.generator = generator
        self.draws = draws = draws or (DRAWS if len(frames[0].mean) <= LARGE else FEWER)
        normal = generator(0)
        self.residual = normal.standard_normal((draws, len(frames[0].mean)))
        self.xi = [normal.standard_normal((draws, f.coordinates.shape[1])) for f in frames]
        self.linear = [xi @ f.coordinates.T for xi, f in zip(self.xi, frames, strict=True)]
        self._projections = [np.zeros((0, draws)) for _ in frames]
        self._dropped = [0 for _ in frames]
        behind = self.residual.max(axis=1, keepdims=True) - self.residual
        self.reach = float(np.quantile(behind, SURE)) or 1.0

    def copy(self, generator: Callable[[int], np.random.Generator]) -> Sampler:
        """Return one that goes its own way, with the same generator of another owner."""
        twin = copy(self)
        twin.generator = generator
        twin._projections, twin._dropped = list(self._projections), list(self._dropped)
        return twin

    def draw(self, posterior: Posterior, sweeps: int = SWEEPS) -> Array:
        """Return utilities, shape (draws, K); two each belong to one draw of the observations."""
        steps, chains = len(posterior.evidence), self.draws // 2
        random = self.generator(posterior.evidence.dropped + steps + 1)
        ends = np.rint(np.cumsum(posterior.odds) * chains).astype(int)
        hypothesis = np.tile(np.repeat(posterior.active, np.diff(ends, prepend=0)), 2)
        groups = [(int(g), np.flatnonzero(hypothesis == g)) for g in np.unique(hypothesis)]
        result, own = np.empty_like(self.residual), np.empty((self.draws, steps))
        for g, rows in groups:
            result[rows], own[rows] = self._before(posterior, g, rows)
        if not steps:
            return result
        if (summary := posterior.evidence.summary) is not None:
            normal = random.standard_normal((self.draws, len(summary.candidates)))
            for g, rows in groups:
                step, inside = _towards(posterior, summary, g, normal[rows], result[rows])
                own[rows] += step @ inside
                result[rows] += (step + summary.weights[g]) @ posterior.link(g).T
        limits = likelihoods(posterior.evidence, posterior.hypotheses)
        own += limits.noise[hypothesis] * random.standard_normal(own.shape)
        if posterior.evidence.screens:
            shared = _shared(posterior.evidence, random, self.draws)
            own += posterior.hypotheses.noise[hypothesis, None] * shared
        inverse = _inverses(posterior, limits)
        normal = random.standard_normal((sweeps + 1, chains, steps))
        begin, lines = _approximate(posterior, normal, hypothesis[:chains])
        observed = gibbs(begin, lines, inverse, hypothesis[:chains], limits, random=random)
        missing = np.vstack([observed, observed]) - own
        for g, rows in groups:
            result[rows] += missing[rows] @ inverse[g] @ posterior.cross(g).T
        return result

    def _before(self, posterior: Posterior, g: int, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return prior draws of the utilities, and of the observations less their mean."""
        share, frame = posterior.hypotheses.share[g], posterior.frame(g)
        evidence = posterior.evidence
        linear, residual = np.sqrt(1.0 - share), np.sqrt(share)
        result = linear * self.linear[frame][rows] + residual * self.residual[rows]
        result += posterior.hypotheses.trust[g] * evidence.frames[-1].mean
        dropped = evidence.dropped - self._dropped[frame]
        self._dropped[frame] = evidence.dropped
        projections, loadings = self._projections[frame][dropped:], evidence.loadings[frame]
        self._projections[frame] = projections
        for row in loadings[len(projections) :]:  # one by one, so that a replay has the same digits
            projections = self._projections[frame] = np.vstack([projections, self.xi[frame] @ row])
        own = residual * self.residual[rows] @ evidence.weights.T
        return result, linear * projections.T[rows] + own


def _towards(
    posterior: Posterior, summary: Summary, g: int, normal: Array, utilities: Array
) -> tuple[Array, Array]:
    """Return by what a prior draw becomes one given the summary, less the mean of that.

    A draw moves by its covariances with the summary's candidates times the first, (S, n); the
    second are those covariances of the observations, (n, T).
    """
    rows, shrink = summary.candidates, summary.shrink[g]
    mean = posterior.hypotheses.trust[g] * posterior.evidence.frames[-1].mean
    spread = shrink - shrink @ posterior.link(g, rows) @ shrink
    spread.flat[:: len(spread) + 1] += 1e-9 * (1.0 + shrink.diagonal())
    own: Array = normal @ np.linalg.cholesky(spread).T
    return own - (utilities - mean)[:, rows] @ shrink, posterior.prior_cross(g, rows)


def _shared(evidence: Evidence, random: np.random.Generator, draws: int) -> Array:
    """Draw the noise that pairs of one screen have in common, for a noise of 1."""
    values, vectors = np.linalg.eigh(evidence.shared)
    # The symmetric root: eigenvectors of equal values are another choice on every processor.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    result: Array = random.standard_normal((draws, len(evidence))) @ root
    return result


def _approximate(
    posterior: Posterior, normal: Array, hypothesis: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Draw the observations from the normal approximation, by normal numbers (n + 1, S, T).

    Returns draws, shape (S, T), and others less their mean, shape (n, S, T): directions in which
    there is room. The hypothesis of each draw has shape (S,).
    """
    means = np.empty_like(normal[0])
    for g in np.unique(hypothesis):
        gram, rows = posterior.gram[g], hypothesis == g
        spread = gram - gram @ posterior.sites.shrink[g] @ gram
        spread.flat[:: len(spread) + 1] += 1e-9 * (1.0 + gram.diagonal())
        normal[:, rows] = normal[:, rows] @ np.linalg.cholesky(spread).T
        means[rows] = gram @ posterior.sites.weights[g]
    return means + normal[0], normal[1:]


def _inverses(posterior: Posterior, limits: Likelihoods) -> Array:
    """Return the inverse covariances of the noisy observations, shape (G, T, T)."""
    covariance = posterior.gram.copy()
    diagonal = np.arange(covariance.shape[1])
    covariance[:, diagonal, diagonal] += limits.noise**2
    return np.asarray(np.linalg.inv(covariance), dtype=np.float64)


class _Target(NamedTuple):
    """What the chains draw from; the last axis is that of the chains."""

    inverse: Array  # (T, T, S)
    groups: list[tuple[Array, NDArray[np.intp]]]  # chains that share an inverse, with that
    low: Array  # (T, S)
    high: Array
    lapse: Array


def gibbs(
    start: Array,
    lines: Array,
    inverse: Array,
    hypothesis: NDArray[np.intp],
    limits: Likelihoods,
    *,
    random: np.random.Generator,
) -> Array:
    """Draw normal numbers of mean zero that lie within limits, or by a slip outside.

    Parameters
    ----------
    start : ndarray, shape (S, T)
        Where the chains begin.
    lines : ndarray, shape (sweeps, S, T)
        Along which line each sweep moves a chain; drawn beforehand, whatever the chains do.
    inverse : ndarray, shape (G, T, T)
        Inverse covariances.
    hypothesis : ndarray of int, shape (S,)
        Which of the G each chain has.
    limits : Likelihoods
        Of shape (G, T).
    random : Generator

    Returns
    -------
    ndarray, shape (S, T)
    """
    low, high, lapse = (
        np.ascontiguousarray(each[hypothesis].T) for each in (limits.low, limits.high, limits.lapse)
    )
    chains = np.take(np.ascontiguousarray(inverse.transpose(1, 2, 0)), hypothesis, axis=2)
    groups = [(inverse[g], np.flatnonzero(hypothesis == g)) for g in np.unique(hypothesis)]
    target = _Target(chains, groups, low, high, lapse)
    values = np.ascontiguousarray(start.T)
    for line in lines:
        _each(values, target, random.random((2, *values.shape)))
        values = _along(values, line.T, target, random.random((2, values.shape[1])))
    return values.T


def _each(values: Array, target: _Target, chance: Array) -> None:
    """Draw each coordinate given the others, in place."""
    for t, row in enumerate(target.inverse):
        variance = 1.0 / row[t]
        spread = np.sqrt(variance)
        centre = values[t] - variance * np.einsum("ts,ts->s", row, values)
        low, high = (target.low[t] - centre) / spread, (target.high[t] - centre) / spread
        values[t] = centre + spread * _within(low, high, target.lapse[t], chance[:, t])


def _within(low: Array, high: Array, lapse: Array, chance: Array) -> Array:
    """Draw standard normal numbers between limits, or outside with the odds of a slip."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - importing this package stays cheap

    below = ndtr(low)
    inside = ndtr(high) - below
    slip = lapse * (1.0 - inside)
    stays = chance[0] * ((1.0 - lapse) * inside + slip) >= slip
    outside = chance[1] * (1.0 - inside)
    outside += np.where(outside > below, inside, 0.0)
    level = np.where(stays, below + chance[1] * inside, outside)
    result: Array = ndtri(np.clip(level, _EDGE, 1.0 - _EDGE))
    return result


def _along(values: Array, line: Array, target: _Target, chance: Array) -> Array:
    """Draw a point of the line through the values, which limits cut into pieces."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - importing this package stays cheap

    line = np.where(np.abs(line) < _LEAST, _LEAST, line)
    pulled = np.empty_like(line)
    for inverse, rows in target.groups:
        pulled[:, rows] = inverse @ line[:, rows]
    spread = 1.0 / np.sqrt(np.einsum("ts,ts->s", line, pulled))
    centre = -(spread**2) * np.einsum("ts,ts->s", values, pulled)
    ends = (target.low - values) / line, (target.high - values) / line
    cuts = np.concatenate([np.minimum(*ends), np.maximum(*ends)])
    odds = np.log1p(-target.lapse) - np.log(np.maximum(target.lapse, _LEAST))
    order = cuts.argsort(axis=0)
    weight = np.take_along_axis(np.concatenate([odds, -odds]), order, axis=0).cumsum(axis=0)
    weight = np.vstack([np.zeros_like(centre), weight])
    level = ndtr((np.take_along_axis(cuts, order, axis=0) - centre) / spread)
    level = np.vstack([np.zeros_like(centre), level, np.ones_like(centre)])
    mass = (np.exp(weight - weight.max(axis=0)) * np.diff(level, axis=0)).cumsum(axis=0)
    piece = (mass < chance[0] * mass[-1]).sum(axis=0)[None]
    start = np.take_along_axis(level, piece, axis=0)[0]
    width = np.take_along_axis(level, piece + 1, axis=0)[0] - start
    step = ndtri(np.clip(start + chance[1] * width, _EDGE, 1.0 - _EDGE))
    moved: Array = values + (centre + spread * step) * line
    return moved
