"""Answers and remarks as linear observations of the utilities.

Utilities are `u = mean + sqrt(1 - rho) Z xi + sqrt(rho) r` with xi and r standard normal; Z are the
centred features, scaled so that `Z xi` has variance 1 on average. An observation is a linear
quantity of xi and r, with the interval in which it lies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.methods.frugal.prior import Prior

    Array = NDArray[np.float64]

_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation.

    Parameters
    ----------
    weights : ndarray, shape (K,)
        Coefficients of the utilities, zero for what concerns the features alone.
    direction : ndarray, shape (d,), or None
        Of theta, for what concerns the features alone.
    low, high : float
        The interval.
    noise, lapse : float
        Least noise and least probability of a slip of this kind of observation.
    """

    weights: Array
    direction: Array | None = None
    low: float = 0.0
    high: float = np.inf
    noise: float = 0.0
    lapse: float = 0.0


class Frame:
    """A pool under one belief about theta: with the prior, or without.

    Parameters
    ----------
    features : ndarray, shape (K, d)
    prior : Prior or None

    Attributes
    ----------
    map : ndarray, shape (d, m)
        theta is `map @ xi`, plus its mean, up to a factor.
    coordinates : ndarray, shape (K, m)
        Z.
    mean : ndarray, shape (K,)
        Mean utilities.
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


@dataclass(slots=True)
class Evidence:
    """All observations over one pool, with the covariances that inference needs.

    Parameters
    ----------
    frames : list of Frame
        Without the prior, and with it if there is one.
    """

    frames: list[Frame]
    observations: list[Observation] = field(default_factory=list)
    weights: Array = field(init=False)
    weights_gram: Array = field(init=False)
    means: Array = field(init=False)
    loadings: list[Array] = field(init=False)
    crosses: list[Array] = field(init=False)

    def __post_init__(self) -> None:
        """Start without observations."""
        count = len(self.frames[0].mean)
        self.weights = np.zeros((0, count))
        self.weights_gram = np.zeros((0, 0))
        self.means = np.zeros((len(self.frames), 0))
        self.loadings = [np.zeros((0, frame.coordinates.shape[1])) for frame in self.frames]
        self.crosses = [np.zeros((count, 0)) for _ in self.frames]

    def __len__(self) -> int:
        return len(self.observations)

    def add(self, observation: Observation) -> None:
        """Add one observation."""
        self.observations.append(observation)
        self.weights = np.vstack([self.weights, observation.weights])
        self.weights_gram = self.weights @ self.weights.T
        means = [[frame.centre(observation)] for frame in self.frames]
        self.means = np.hstack([self.means, np.array(means)])
        for v, frame in enumerate(self.frames):
            row = frame.loadings(observation)
            self.loadings[v] = np.vstack([self.loadings[v], row])
            column = frame.coordinates @ row
            self.crosses[v] = np.column_stack([self.crosses[v], column])

    def gram(self, frame: int) -> Array:
        """Return the covariances of the observations' linear parts, shape (T, T)."""
        return self.loadings[frame] @ self.loadings[frame].T
