"""What a person said, as linear observations of their utilities.

Utilities are `u = mean + sqrt(1 - rho) Z xi + sqrt(rho) r` with xi and r standard normal; Z are the
centred features, scaled so that `Z xi` has variance 1 on average. An observation is a linear
quantity of xi and r of which we are told in which interval it lies.
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
class Saying:
    """One observation.

    Parameters
    ----------
    own : ndarray, shape (K,)
        Coefficients of the utilities, zero for what concerns the features alone.
    direction : ndarray, shape (d,), or None
        Of theta, for what concerns the features alone.
    low, high : float
        The interval.
    noise, lapse : float
        Least noise and least probability of a slip of this kind of observation.
    """

    own: Array
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

    def loadings(self, saying: Saying) -> Array:
        """Return the coefficients of xi in an observation, shape (m,)."""
        if saying.direction is None:
            inside: Array = saying.own @ self.coordinates
            return inside
        along: Array = saying.direction @ self.map
        size = np.sqrt(along @ along)
        return along / size if size > _TINY else along

    def centre(self, saying: Saying) -> float:
        """Return the mean of an observation."""
        if saying.direction is None:
            return float(saying.own @ self.mean)
        along = saying.direction @ self.map
        size = np.sqrt(along @ along)
        return float(saying.direction @ self.taste / size) if size > _TINY else 0.0


def _map(prior: Prior, dimension: int) -> Array:
    parts = [np.diag(np.ones(dimension) if prior.spread is None else np.array(prior.spread))]
    if prior.factor is not None:
        parts.append(np.array(prior.factor).reshape(dimension, -1))
    return np.hstack(parts)


@dataclass(slots=True)
class Evidence:
    """Everything said about one pool, with the covariances that inference needs.

    Parameters
    ----------
    frames : list of Frame
        Without the prior, and with it if there is one.
    """

    frames: list[Frame]
    sayings: list[Saying] = field(default_factory=list)
    own: Array = field(init=False)
    own_gram: Array = field(init=False)
    means: Array = field(init=False)
    loadings: list[Array] = field(init=False)
    crosses: list[Array] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing said."""
        count = len(self.frames[0].mean)
        self.own = np.zeros((0, count))
        self.own_gram = np.zeros((0, 0))
        self.means = np.zeros((len(self.frames), 0))
        self.loadings = [np.zeros((0, frame.coordinates.shape[1])) for frame in self.frames]
        self.crosses = [np.zeros((count, 0)) for _ in self.frames]

    def __len__(self) -> int:
        return len(self.sayings)

    def add(self, saying: Saying) -> None:
        """Take in one observation."""
        self.sayings.append(saying)
        self.own = np.vstack([self.own, saying.own])
        self.own_gram = self.own @ self.own.T
        means = [[frame.centre(saying)] for frame in self.frames]
        self.means = np.hstack([self.means, np.array(means)])
        for v, frame in enumerate(self.frames):
            row = frame.loadings(saying)
            self.loadings[v] = np.vstack([self.loadings[v], row])
            column = frame.coordinates @ row
            self.crosses[v] = np.column_stack([self.crosses[v], column])

    def gram(self, frame: int) -> Array:
        """Return the covariances of the observations' linear parts, shape (T, T)."""
        return self.loadings[frame] @ self.loadings[frame].T
