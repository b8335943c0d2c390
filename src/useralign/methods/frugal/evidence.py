"""Answers and remarks as linear observations of the utilities.

Utilities are `u = mean + sqrt(1 - rho) Z xi + sqrt(rho) r` with xi and r standard normal; Z are the
centred features, scaled so that `Z xi` has variance 1 on average. An observation is a linear
quantity of xi and r, with the interval in which it lies.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.methods.frugal.prior import Prior

    Array = NDArray[np.float64]

_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation: a linear quantity, and the interval in which it lies."""

    weights: Array  # shape (K,), of the utilities; zero for what concerns the features alone
    direction: Array | None = None  # shape (d,), of theta, for what concerns the features alone
    low: float = 0.0
    high: float = np.inf
    noise: float = 0.0  # the least of this kind of observation, as is the probability of a slip
    lapse: float = 0.0


class BeliefFrame:
    """A pool under one belief about theta, with the prior or without: theta is `map @ xi`.

    `map` has shape (d, m), up to a factor and the mean; `coordinates`, shape (K, m), are Z; `mean`
    has the mean utilities, shape (K,).
    """

    def __init__(self, features: Array, prior: Prior | None) -> None:
        count, dimension = features.shape
        centred = features - features.mean(axis=0)
        self.map = np.eye(dimension) if prior is None else _map(prior, dimension)
        projected = centred if prior is None else centred @ self.map
        size = np.sqrt(np.einsum("km,km->", projected, projected) / count)
        self.scale = 1.0 / size if size > _TINY else 0.0
        self.coordinates = projected * self.scale
        self.mean = np.zeros(count)
        self.taste = np.zeros(dimension)
        if prior is not None and prior.mean is not None:
            self.taste = np.array(prior.mean)
            self.mean += centred @ self.taste * self.scale
        if prior is not None and prior.popularity is not None:
            popularity = np.array(prior.popularity)
            self.mean += popularity - popularity.mean()

    def loadings(self, observation: Observation) -> Array:
        """Return the coefficients of xi in an observation, shape (m,)."""
        if observation.direction is None:
            inside: Array = observation.weights @ self.coordinates
            return inside
        along: Array = observation.direction @ self.map
        size = np.sqrt(along @ along)
        return along / size if size > _TINY else along

    def centre(self, observation: Observation) -> float:
        """Return the mean of an observation."""
        if observation.direction is None:
            return float(observation.weights @ self.mean)
        along = observation.direction @ self.map
        size = np.sqrt(along @ along)
        return float(observation.direction @ self.taste / size) if size > _TINY else 0.0


def _map(prior: Prior, dimension: int) -> Array:
    parts = [np.diag(np.ones(dimension) if prior.spread is None else np.array(prior.spread))]
    if prior.factor is not None:
        parts.append(np.array(prior.factor).reshape(dimension, -1))
    return np.hstack(parts)


class ScreenAnswer(NamedTuple):
    """A screen of several candidates that was answered at once."""

    size: int  # how many candidates it had
    best_of: bool  # whether the best was picked; else all were ranked
    begin: int = 0  # the index of its first observation

    def log_outcomes(self, lapse: Array) -> Array:
        """Return the logarithm of what the probabilities of all answers would add up to.

        Every pair of an answer is turned round with the probability `lapse`. What contradicts
        itself is no answer, so that the others do not add up to 1: they are to be divided by
        this. For picks it is a geometric sum over the picked one's true place; for rankings
        there are as many with k pairs turned round as Eulerian numbers tell.
        """
        turned = [1] * self.size if self.best_of else _eulerian(self.size)
        total = sum(
            number * lapse**k * (1.0 - lapse) ** (self.size - 1 - k)
            for k, number in enumerate(turned)
        )
        result: Array = np.log(total)
        return result


def _eulerian(count: int) -> list[int]:
    """Return how many orders of `count` things have 0, 1, ... neighbours in the wrong order."""
    row = [1]
    for n in range(2, count + 1):
        row = [
            (k + 1) * (row[k] if k < n - 1 else 0) + (n - k) * (row[k - 1] if k else 0)
            for k in range(n)
        ]
    return row


class Summary(NamedTuple):
    """What observations that are no longer kept have said: a normal distribution.

    Under hypothesis g the covariance of any two quantities a and b is the prior's minus
    `cov(a, u) @ shrink[g] @ cov(u, b)`, and the mean of a the prior's plus `cov(a, u) @
    weights[g]`, where u are the utilities of some candidates.
    """

    candidates: NDArray[np.intp]  # shape (n,); in small pools all
    linear: list[Array]  # shape (K, n) by frame: covariances of all linear parts with theirs
    shrink: Array  # shape (G, n, n)
    weights: Array  # shape (G, n)
    evidence: Array  # shape (G,), logarithm of the probability of what was observed

    def covariance(self, frame: int, share: float, rows: NDArray[np.intp] | slice) -> Array:
        """Return prior covariances of utilities with those of the candidates, (rows, n)."""
        result: Array = (1.0 - share) * self.linear[frame][rows]
        all_ = np.arange(len(self.linear[frame]))
        result[all_[rows][:, None] == self.candidates] += share
        return result


@dataclass(slots=True)
class Evidence:
    """The observations over one pool, with the covariances that inference needs."""

    frames: list[BeliefFrame]  # without the prior, and with it if there is one
    observations: list[Observation] = field(default_factory=list)
    weights: Array = field(init=False)
    weights_gram: Array = field(init=False)
    # Covariances, (T, T), of the noise that pairs of one screen have in common, for a noise of 1,
    # and standard deviations, (T,), of the rest of it, each observation's own.
    shared: Array = field(init=False)
    alone: Array = field(init=False)
    screens: list[ScreenAnswer] = field(default_factory=list)  # those that decided several pairs
    means: Array = field(init=False)
    loadings: list[Array] = field(init=False)
    crosses: list[Array] = field(init=False)
    summary: Summary | None = None  # of observations that are no longer kept
    dropped: int = 0  # how many those were

    def __post_init__(self) -> None:
        """Start without observations."""
        count = len(self.frames[0].mean)
        self.weights = np.zeros((0, count))
        self.weights_gram = np.zeros((0, 0))
        self.shared, self.alone = np.zeros((0, 0)), np.zeros(0)
        self.means = np.zeros((len(self.frames), 0))
        self.loadings = [np.zeros((0, frame.coordinates.shape[1])) for frame in self.frames]
        self.crosses = [np.zeros((count, 0)) for _ in self.frames]

    def __len__(self) -> int:
        return len(self.observations)

    def copy(self) -> Self:
        """Return one to which more can be added; arrays are shared, and none is changed."""
        twin = copy(self)
        twin.observations, twin.screens = list(self.observations), list(self.screens)
        twin.loadings, twin.crosses = list(self.loadings), list(self.crosses)
        return twin

    def add_screen(self, observations: Sequence[Observation]) -> None:
        """Add the pairs that one answer to a screen of several candidates decides.

        Somebody looks at every candidate once: its noise is the same in all its pairs.
        """
        begin = len(self)
        for observation in observations:
            self.add(observation)
        weights = self.weights[begin:]
        noise = weights @ weights.T / 2.0
        own = float(np.linalg.eigvalsh(noise)[0])
        self.alone[begin:] = np.sqrt(own)
        self.shared[begin:, begin:] = noise - own * np.eye(len(noise))
        best_of = bool((weights.max(axis=0) > 0).sum() == 1)
        self.screens.append(ScreenAnswer(len(noise) + 1, best_of, begin))

    def add(self, observation: Observation) -> None:
        """Add one observation."""
        self.observations.append(observation)
        self.shared = np.pad(self.shared, (0, 1))
        self.alone = np.append(self.alone, 1.0)
        self.weights = np.vstack([self.weights, observation.weights])
        self.weights_gram = self.weights @ self.weights.T
        means = [[frame.centre(observation)] for frame in self.frames]
        self.means = np.hstack([self.means, np.array(means)])
        for v, frame in enumerate(self.frames):
            row = frame.loadings(observation)
            self.loadings[v] = np.vstack([self.loadings[v], row])
            column = frame.coordinates @ row
            self.crosses[v] = np.column_stack([self.crosses[v], column])

    def made_at(self, begin: int) -> int:
        """Return how many observations the answer made whose first is at an index."""
        sizes = (screen.size - 1 for screen in self.screens if screen.begin == begin)
        return next(sizes, 1)

    def drop(self, count: int, summary: Summary) -> None:
        """Go on with a summary in place of the oldest observations: those of whole answers."""
        self.summary = summary
        self.dropped += count
        recent = [screen for screen in self.screens if screen.begin >= count]
        self.screens = [screen._replace(begin=screen.begin - count) for screen in recent]
        self.observations = self.observations[count:]
        self.shared, self.alone = self.shared[count:, count:], self.alone[count:]
        self.weights, self.weights_gram = self.weights[count:], self.weights_gram[count:, count:]
        self.means = self.means[:, count:]
        self.loadings = [rows[count:] for rows in self.loadings]
        self.crosses = [columns[:, count:] for columns in self.crosses]

    def gram(self, frame: int) -> Array:
        """Return the covariances of the observations' linear parts, shape (T, T)."""
        return self.loadings[frame] @ self.loadings[frame].T
