"""Draws from the posterior of the utilities.

A draw from the prior becomes one from the posterior by Matheron's rule: add what the difference
between the observations and the draw's own, noisy, observations implies. The observations are
only known to lie in intervals, so they are drawn as well: first from the normal approximation of
expectation propagation, then by sweeps of Gibbs sampling from their true distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.gibbs import gibbs
from useralign.methods.frugal.model import likelihoods

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.methods.frugal.ep import Likelihoods
    from useralign.methods.frugal.evidence import Frame
    from useralign.methods.frugal.model import Posterior

    Array = NDArray[np.float64]

DRAWS = 1024
FEWER = 512  # for large pools
LARGE = 256
SWEEPS = 3
SURE = 0.95


class Sampler:
    """Draws that belong together: each step's are those of the step before, moved.

    Parameters
    ----------
    frames : list of Frame
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
        frames: list[Frame],
        generator: Callable[[int], np.random.Generator],
        draws: int | None = None,
    ) -> None:
        self.generator = generator
        self.draws = draws = draws or (DRAWS if len(frames[0].mean) <= LARGE else FEWER)
        normal = generator(0)
        self.own = normal.standard_normal((draws, len(frames[0].mean)))
        self.xi = [normal.standard_normal((draws, f.coordinates.shape[1])) for f in frames]
        self.linear = [xi @ f.coordinates.T for xi, f in zip(self.xi, frames, strict=True)]
        self._seen = [np.zeros((0, draws)) for _ in frames]
        behind = self.own.max(axis=1, keepdims=True) - self.own
        self.reach = float(np.quantile(behind, SURE)) or 1.0

    def draw(self, posterior: Posterior, sweeps: int = SWEEPS) -> Array:
        """Return utilities, shape (draws, K); two each belong to one draw of the observations."""
        said, chains = len(posterior.evidence), self.draws // 2
        random = self.generator(said + 1)
        ends = np.rint(np.cumsum(posterior.odds) * chains).astype(int)
        kept = np.tile(np.repeat(posterior.kept, np.diff(ends, prepend=0)), 2)
        groups = [(int(g), np.flatnonzero(kept == g)) for g in np.unique(kept)]
        result, seen = np.empty_like(self.own), np.empty((self.draws, said))
        for g, rows in groups:
            result[rows], seen[rows] = self._before(posterior, g, rows)
        if not said:
            return result
        limits = likelihoods(posterior.evidence, posterior.hypotheses)
        seen += limits.noise[kept] * random.standard_normal(seen.shape)
        inverse = _inverses(posterior, limits)
        normal = random.standard_normal((sweeps + 1, chains, said))
        begin, lines = _approximate(posterior, normal, kept[:chains])
        told = gibbs(begin, lines, inverse, kept[:chains], limits, random=random)
        missing = np.vstack([told, told]) - seen
        for g, rows in groups:
            result[rows] += missing[rows] @ inverse[g] @ posterior.cross(g).T
        return result

    def _before(self, posterior: Posterior, g: int, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return prior draws of the utilities, and what would be observed less its mean."""
        share, frame = posterior.hypotheses.share[g], posterior.frame(g)
        evidence = posterior.evidence
        linear, own = np.sqrt(1.0 - share), np.sqrt(share)
        result = linear * self.linear[frame][rows] + own * self.own[rows]
        result += posterior.hypotheses.trust[g] * evidence.frames[-1].mean
        known, loadings = self._seen[frame], evidence.loadings[frame]
        for row in loadings[len(known) :]:  # one by one, so that a replay has the same digits
            known = self._seen[frame] = np.vstack([known, self.xi[frame] @ row])
        return result, linear * known.T[rows] + own * self.own[rows] @ evidence.own.T


def _approximate(
    posterior: Posterior, normal: Array, kept: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Draw what was observed from the normal approximation.

    Parameters
    ----------
    posterior : Posterior
    normal : ndarray, shape (n + 1, S, T)
        Standard normal numbers.
    kept : ndarray of int, shape (S,)
        The hypothesis of each draw.

    Returns
    -------
    draws : ndarray, shape (S, T)
    lines : ndarray, shape (n, S, T)
        Other draws, less their mean: directions in which there is room.
    """
    means = np.empty_like(normal[0])
    for g in np.unique(kept):
        gram, rows = posterior.gram[g], kept == g
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
