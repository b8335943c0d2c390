"""The posterior of the candidates' utilities: a mixture of normal distributions.

Its parts are hypotheses about what the method does not know beforehand: how far features explain a
taste, and how noisy answers are. The answers decide between them by their probability under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.ep import Likelihoods, Sites, propagate, split
from useralign.methods.frugal.evidence import Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.methods.frugal.evidence import Evidence
    from useralign.methods.frugal.prior import Prior

    Array = NDArray[np.float64]

FAINT = 2e-3  # a hypothesis of less weight is left out of what follows
RELIABLE = 0.1  # noise, or slips, up to here
SUMMARISED = 128  # candidates at most, whose utilities a summary of old answers is about
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
# How much of a prior's mean counts, unless the prior says so itself; 0 leaves the prior out
# altogether, -1 is for somebody who likes what others do not.
TRUSTS = ((0.0, 0.3), (0.5, 0.3), (1.0, 0.3), (-1.0, 0.1))


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """All combinations; arrays of shape (G,)."""

    share: Array  # rho, the share of the variance that belongs to each candidate alone
    noise: Array  # standard deviation of the noise of an answer
    lapse: Array  # probability of a slip
    trust: Array  # how much of the prior's mean counts
    log_prior: Array

    @classmethod
    def grid(cls, prior: Prior | None) -> Hypotheses:
        """Combine all values; without a prior there is nothing to trust."""
        trusts = ((0.0, 1.0),) if prior is None else prior.trust or TRUSTS
        rows = [
            (share, noise, lapse, trust, np.log(a * b * c))
            for share, a in SHARES
            for noise, lapse, b in NOISES
            for trust, c in trusts
        ]
        return cls(*(np.array(column) for column in zip(*rows, strict=True)))

    def __len__(self) -> int:
        return len(self.share)


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior of the utilities."""

    evidence: Evidence
    hypotheses: Hypotheses
    gram: Array  # shape (G, T, T), prior covariances of what was observed
    sites: Sites  # of all hypotheses
    weights: Array  # shape (G,), posterior probabilities of the hypotheses
    active: NDArray[np.intp]  # shape (H,), indices of those with enough weight
    odds: Array  # shape (H,), their weights, rescaled to add up to 1
    means: Array  # shape (H, K), mean utilities under each of these

    @property
    def mean(self) -> Array:
        """Mean utilities, shape (K,)."""
        result: Array = self.odds @ self.means
        return result

    @property
    def noisy(self) -> float:
        """The probability that answers are not reliable."""
        reliable = (self.hypotheses.noise <= RELIABLE) & (self.hypotheses.lapse <= RELIABLE)
        return float(self.weights[~reliable].sum())

    def frame(self, g: int) -> int:
        """Return which frame a hypothesis uses."""
        return int(self.hypotheses.trust[g] != 0)

    def cross(self, g: int, rows: NDArray[np.intp] | slice = slice(None)) -> Array:
        """Return covariances of utilities with the observations, shape (rows, T)."""
        mixed = self.prior_cross(g, rows)
        if (summary := self.evidence.summary) is not None:
            inside = self.prior_cross(g, summary.candidates)
            mixed -= self.link(g, rows) @ (summary.shrink[g] @ inside)
        return mixed

    def prior_cross(self, g: int, rows: NDArray[np.intp] | slice) -> Array:
        """Return the same without what a summary says."""
        share = self.hypotheses.share[g]
        linear = self.evidence.crosses[self.frame(g)][rows]
        mixed: Array = (1.0 - share) * linear + share * self.evidence.weights.T[rows]
        return mixed

    def link(self, g: int, rows: NDArray[np.intp] | slice = slice(None)) -> Array:
        """Return prior covariances of utilities with those of the summary, shape (rows, n)."""
        summary = self.evidence.summary
        assert summary is not None  # noqa: S101 - who asks has seen one
        return summary.covariance(self.frame(g), self.hypotheses.share[g], rows)

    def covariances(self, rows: NDArray[np.intp]) -> Array:
        """Return covariances of some candidates under each active hypothesis, (H, M, M)."""
        result = np.empty((len(self.active), len(rows), len(rows)))
        linear = {}
        for h, g in enumerate(self.active):
            frame, share = self.frame(g), self.hypotheses.share[g]
            if frame not in linear:
                z = self.evidence.frames[frame].coordinates[rows]
                linear[frame] = z @ z.T
            cross = self.cross(g, rows)
            result[h] = (1.0 - share) * linear[frame] - cross @ self.sites.shrink[g] @ cross.T
            result[h].flat[:: len(rows) + 1] += share
            if (summary := self.evidence.summary) is not None:
                link = self.link(g, rows)
                result[h] -= link @ summary.shrink[g] @ link.T
        return result

    def deviations(self) -> Array:
        """Return standard deviations of all utilities under the mixture, shape (K,)."""
        spread = np.zeros_like(self.means)
        for h, g in enumerate(self.active):
            share, cross = self.hypotheses.share[g], self.cross(g)
            z = self.evidence.frames[self.frame(g)].coordinates
            spread[h] = (1.0 - share) * np.einsum("km,km->k", z, z) + share
            spread[h] -= ((cross @ self.sites.shrink[g]) * cross).sum(axis=1)
            if (summary := self.evidence.summary) is not None:
                link = self.link(g)
                spread[h] -= ((link @ summary.shrink[g]) * link).sum(axis=1)
        between = self.odds @ (self.means - self.mean) ** 2
        return np.sqrt(np.maximum(self.odds @ spread + between, 0.0))


def infer(
    evidence: Evidence, hypotheses: Hypotheses, start: tuple[Array, Array] | None = None
) -> Posterior:
    """Compute the posterior, from the precisions and shifts of sites, shape (G, T), if given."""
    count, steps = len(hypotheses), len(evidence)
    if not steps:
        empty = np.zeros((count, 0))
        gram = np.zeros((count, 0, 0))
        sites = Sites(empty, empty, empty, gram, np.zeros(count))
    else:
        begin = start or (np.zeros((count, steps)), np.zeros((count, steps)))
        gram = _gram(evidence, hypotheses)
        sites = propagate(gram, likelihoods(evidence, hypotheses), begin)
    logs = hypotheses.log_prior + sites.evidence
    if evidence.summary is not None:
        logs = logs + evidence.summary.evidence
    for screen in evidence.screens:
        logs = logs - screen.log_outcomes(hypotheses.lapse)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    active = np.flatnonzero(weights >= FAINT)
    odds = weights[active] / weights[active].sum()
    means = np.empty((len(active), len(evidence.frames[0].mean)))
    result = Posterior(evidence, hypotheses, gram, sites, weights, active, odds, means)
    for h, g in enumerate(active):
        mean = hypotheses.trust[g] * evidence.frames[-1].mean
        means[h] = mean + result.cross(int(g)) @ sites.weights[g]
        if evidence.summary is not None:
            means[h] += result.link(int(g)) @ evidence.summary.weights[g]
    return result


def summarise(posterior: Posterior, count: int) -> tuple[Summary, tuple[Array, Array]]:
    """Put the oldest observations into the summary.

    Their likelihoods are replaced for good by the normal ones that stand in for them. Nothing else
    changes: with the sites of the others the posterior is the same, as far as what was observed
    is about the utilities of the summary's candidates.

    Returns the summary, with the first `count` observations in it, and the precisions and shifts
    of the others' sites, shape (G, T - count).
    """
    evidence, sites, gram = posterior.evidence, posterior.sites, posterior.gram
    limits = likelihoods(evidence, posterior.hypotheses)
    weights, shrink, log_mass = split(gram, limits, sites, count)
    for screen in evidence.screens:
        if screen.begin < count:
            log_mass = log_mass - screen.log_outcomes(posterior.hypotheses.lapse)
    before = evidence.summary or _empty(posterior)
    after = before._replace(
        shrink=before.shrink.copy(),
        weights=before.weights.copy(),
        evidence=before.evidence + log_mass,
    )
    for g in range(len(posterior.hypotheses)):
        levers = _levers(posterior, before, g, count)
        after.shrink[g] += levers @ shrink[g] @ levers.T
        after.weights[g] += levers @ weights[g]
    moved = np.einsum("gts,gs->gt", gram[:, count:, :count], weights)
    precision = sites.precision[:, count:]
    return after, (precision, sites.shift[:, count:] - precision * moved)


def _empty(posterior: Posterior) -> Summary:
    """Return a summary of nothing: of all candidates, or those compared and the likeliest."""
    evidence, count = posterior.evidence, len(posterior.hypotheses)
    rank = -posterior.mean - 1e6 * (np.abs(evidence.weights) == 1.0).any(axis=0)
    rows = np.sort(np.argsort(rank, kind="stable")[:SUMMARISED])
    linear = [frame.coordinates @ frame.coordinates[rows].T for frame in evidence.frames]
    size = len(rows)
    none = np.zeros((count, size, size))
    return Summary(rows, linear, none, np.zeros((count, size)), np.zeros(count))


def _levers(posterior: Posterior, summary: Summary, g: int, count: int) -> Array:
    """Return how the oldest observations depend on the summary's candidates, shape (n, count).

    What is not about their utilities alone is taken for what it says about them.
    """
    evidence, rows = posterior.evidence, summary.candidates
    cross = posterior.prior_cross(g, rows)[:, :count]
    levers = evidence.weights[:count, rows].T.copy()
    inside = np.abs(evidence.weights[:count]).sum(axis=1) - np.abs(levers).sum(axis=0) < 1e-9
    remarks = [observation.direction is not None for observation in evidence.observations[:count]]
    if (beside := ~inside | np.array(remarks)).any():
        share = posterior.hypotheses.share[g]
        own = summary.covariance(posterior.frame(g), share, rows)
        levers[:, beside] = np.linalg.solve(own, cross[:, beside])
    result: Array = levers - summary.shrink[g] @ cross
    return result


def _gram(evidence: Evidence, hypotheses: Hypotheses) -> Array:
    linear = np.array([evidence.gram(v) for v in range(len(evidence.frames))])
    frame = (hypotheses.trust != 0).astype(int)
    share = hypotheses.share[:, None, None]
    result: Array = (1.0 - share) * linear[frame] + share * evidence.weights_gram
    if evidence.screens:
        result += (hypotheses.noise**2)[:, None, None] * evidence.shared
    if (summary := evidence.summary) is not None:
        inside = _inside(evidence, summary, hypotheses)
        result -= inside.transpose(0, 2, 1) @ summary.shrink @ inside
    return result


def _inside(evidence: Evidence, summary: Summary, hypotheses: Hypotheses) -> Array:
    """Return prior covariances of the summary's utilities with the observations, (G, n, T)."""
    linear = np.array([cross[summary.candidates] for cross in evidence.crosses])
    frame, share = (hypotheses.trust != 0).astype(int), hypotheses.share[:, None, None]
    mixed: Array = (1.0 - share) * linear[frame]
    return mixed + share * evidence.weights.T[summary.candidates]


def likelihoods(evidence: Evidence, hypotheses: Hypotheses) -> Likelihoods:
    """Return how probable each observation is under each hypothesis."""
    observations = evidence.observations
    means = hypotheses.trust[:, None] * evidence.means[-1]
    if (summary := evidence.summary) is not None:
        inside = _inside(evidence, summary, hypotheses)
        means += np.einsum("gnt,gn->gt", inside, summary.weights)
    low, high, noise, lapse = (
        np.array([getattr(observation, key) for observation in observations])
        for key in ("low", "high", "noise", "lapse")
    )
    return Likelihoods(
        low - means,
        high - means,
        np.hypot(hypotheses.noise[:, None] * evidence.alone, noise),
        np.maximum(hypotheses.lapse[:, None], lapse),
    )
