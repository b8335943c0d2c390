"""The posterior of the candidates' utilities: a mixture of normal distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.ep import Likelihoods, Sites, propagate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.methods.frugal.evidence import Evidence
    from useralign.methods.frugal.hypotheses import Hypotheses

    Array = NDArray[np.float64]

FAINT = 2e-3  # a hypothesis of less weight is left out of what follows
RELIABLE = 0.1  # noise, or slips, up to here


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of the utilities after some answers.

    Parameters
    ----------
    evidence : Evidence
    hypotheses : Hypotheses
    gram : ndarray, shape (G, T, T)
        Prior covariances of what was observed.
    sites : Sites
        Of all hypotheses.
    weights : ndarray, shape (G,)
        Posterior probabilities of the hypotheses.
    kept : ndarray of int, shape (H,)
        Those with a weight that counts, and in `odds` their weights among themselves.
    odds : ndarray, shape (H,)
    means : ndarray, shape (H, K)
        Mean utilities under each of those kept.
    """

    evidence: Evidence
    hypotheses: Hypotheses
    gram: Array
    sites: Sites
    weights: Array
    kept: NDArray[np.intp]
    odds: Array
    means: Array

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
        return int(self.hypotheses.trust[g] > 0)

    def cross(self, g: int, rows: NDArray[np.intp] | slice = slice(None)) -> Array:
        """Return covariances of utilities with the observations, shape (rows, T)."""
        share = self.hypotheses.share[g]
        linear = self.evidence.crosses[self.frame(g)][rows]
        mixed: Array = (1.0 - share) * linear + share * self.evidence.own.T[rows]
        return mixed

    def covariances(self, rows: NDArray[np.intp]) -> Array:
        """Return covariances of some candidates under each kept hypothesis, (H, M, M)."""
        result = np.empty((len(self.kept), len(rows), len(rows)))
        linear = {}
        for h, g in enumerate(self.kept):
            frame, share = self.frame(g), self.hypotheses.share[g]
            if frame not in linear:
                z = self.evidence.frames[frame].coordinates[rows]
                linear[frame] = z @ z.T
            cross = self.cross(g, rows)
            result[h] = (1.0 - share) * linear[frame] - cross @ self.sites.shrink[g] @ cross.T
            result[h].flat[:: len(rows) + 1] += share
        return result

    def deviations(self) -> Array:
        """Return standard deviations of all utilities under the mixture, shape (K,)."""
        spread = np.zeros_like(self.means)
        for h, g in enumerate(self.kept):
            share, cross = self.hypotheses.share[g], self.cross(g)
            z = self.evidence.frames[self.frame(g)].coordinates
            spread[h] = (1.0 - share) * np.einsum("km,km->k", z, z) + share
            spread[h] -= ((cross @ self.sites.shrink[g]) * cross).sum(axis=1)
        between = self.odds @ (self.means - self.mean) ** 2
        return np.sqrt(np.maximum(self.odds @ spread + between, 0.0))


def infer(
    evidence: Evidence, hypotheses: Hypotheses, start: tuple[Array, Array] | None = None
) -> Posterior:
    """Compute the posterior.

    Parameters
    ----------
    evidence : Evidence
    hypotheses : Hypotheses
    start : tuple of ndarray, shape (G, T), optional
        Sites to begin with.
    """
    count, said = len(hypotheses), len(evidence)
    if not said:
        empty = np.zeros((count, 0))
        gram = np.zeros((count, 0, 0))
        sites = Sites(empty, empty, empty, gram, np.zeros(count))
    else:
        begin = start or (np.zeros((count, said)), np.zeros((count, said)))
        gram = _gram(evidence, hypotheses)
        sites = propagate(gram, likelihoods(evidence, hypotheses), begin)
    logs = hypotheses.log_prior + sites.evidence
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    kept = np.flatnonzero(weights >= FAINT)
    odds = weights[kept] / weights[kept].sum()
    means = np.empty((len(kept), len(evidence.frames[0].mean)))
    result = Posterior(evidence, hypotheses, gram, sites, weights, kept, odds, means)
    for h, g in enumerate(kept):
        mean = hypotheses.trust[g] * evidence.frames[-1].mean
        means[h] = mean + result.cross(int(g)) @ sites.weights[g]
    return result


def _gram(evidence: Evidence, hypotheses: Hypotheses) -> Array:
    linear = np.array([evidence.gram(v) for v in range(len(evidence.frames))])
    frame = (hypotheses.trust > 0).astype(int)
    share = hypotheses.share[:, None, None]
    result: Array = (1.0 - share) * linear[frame] + share * evidence.own_gram
    return result


def likelihoods(evidence: Evidence, hypotheses: Hypotheses) -> Likelihoods:
    """Return how probable each saying is under each hypothesis, given what it observes."""
    said = evidence.sayings
    means = hypotheses.trust[:, None] * evidence.means[-1]
    low, high, noise, lapse = (
        np.array([getattr(saying, key) for saying in said])
        for key in ("low", "high", "noise", "lapse")
    )
    return Likelihoods(
        low - means,
        high - means,
        np.hypot(hypotheses.noise[:, None], noise),
        np.maximum(hypotheses.lapse[:, None], lapse),
    )
