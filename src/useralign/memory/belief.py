"""A belief about a taste, and what the answers of many people say about it.

    u_k = <z_k, theta> + b_k + r_k

with theta normal, b_k the same for everybody, r_k normal and the person's own. An answer to a
comparison is the sign of a difference of utilities plus standard normal noise: it places the
linear observation `<row, theta> + b[better] - b[worse]` in an interval. The observations of many
people stand side by side in arrays; shorter lists are padded with observations without an effect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.ep import Likelihoods, Sites, propagate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from useralign.memory.past import PastSession

    Array = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Observation = tuple[Array, tuple[int, ...], tuple[float, float]]

RANK = 8  # directions in which people differ more than in others, at most
CARRY = 0.7  # correlation of a person's taste between two questions
SAME = 0.9  # and between two sessions about the same question
MOST = 60  # observations per person; of more, the newest count
TIE = 0.5  # utilities that differ by less, in units of the noise, are called equal
LAPSE = 0.02  # probability of a slip
_WIDER = 1.01  # a direction is wider than the next by at least this factor


@dataclass(frozen=True, slots=True)
class Observations:
    """Observations of N people, at most T each."""

    rows: Array  # shape (N, T, d); coefficients of theta
    better: Indices  # shape (N, T); indices in `keys`, and `len(keys)` stands for none
    worse: Indices  # likewise
    own: Array  # shape (N, T, T); how many candidates two have in common, with signs
    session: Indices  # shape (N, T); its number within the person's, -1 for no observation
    question: Indices  # shape (N, T); its number
    low: Array  # shape (N, T); the intervals
    high: Array
    touched: Indices  # shape (N,); how many candidates each person's answers are about
    keys: tuple[str, ...]  # candidates whose popularity is of interest

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def count(self) -> int:
        """How many observations there are in all."""
        return int((self.session >= 0).sum())

    def subset(self, people: Indices) -> Observations:
        """Return some of the people."""
        names = [field.name for field in fields(self) if field.name != "keys"]
        return replace(self, **{name: getattr(self, name)[people] for name in names})

    def centre(self, mean: Array, popularity: Array) -> Array:
        """Return the means of the observations, shape (N, T)."""
        worth = np.append(popularity, 0.0)
        result: Array = self.rows @ mean + worth[self.better] - worth[self.worse]
        return result

    def likelihoods(self, centre: Array) -> Likelihoods:
        """Return the likelihoods of the intervals, for a noise of 1."""
        lapse = np.where(self.session >= 0, LAPSE, 0.0)
        return Likelihoods(self.low - centre, self.high - centre, np.ones_like(lapse), lapse)

    def kinship(self, carry: float, same: float) -> Array:
        """Return how much of a taste two observations share, shape (N, T, T).

        All of it within a session, `same` between two about the same question, and `carry`
        between any other two of a person.
        """
        one = self.session[:, :, None] == self.session[:, None, :]
        alike = self.question[:, :, None] == self.question[:, None, :]
        return np.where(one, 1.0, np.where(alike, same, carry))


def observe(people: Sequence[Sequence[PastSession]], keys: Sequence[str] = ()) -> Observations:
    """Stack the sessions of people, all of one space, each person's oldest first.

    `keys` are the candidates whose popularity is of interest.
    """
    number = {key: n for n, key in enumerate(keys)}
    questions = {past.question: n for n, past in enumerate(p for one in people for p in one)}
    lists = [_observations(pasts, number, questions) for pasts in people]
    count, length = len(lists), max(1, *(len(one) for one in lists))
    dimension = people[0][0].features.shape[1]
    rows = np.zeros((count, length, dimension))
    whole = np.full((count, length, 6), [len(keys), len(keys), -1, -1, -1, -1], dtype=np.intp)
    limits = np.tile(np.array([-np.inf, np.inf]), (count, length, 1))
    for n, one in enumerate(lists):
        for t, (row, indices, limit) in enumerate(one):
            rows[n, t], whole[n, t], limits[n, t] = row, indices, limit
    better, worse, session, question, first, second = np.moveaxis(whole, 2, 0)
    touched = np.array([len({*first[n], *second[n]} - {-1}) for n in range(count)])
    own = _common(first, second)
    low, high = limits[..., 0], limits[..., 1]
    return Observations(
        rows, better, worse, own, session, question, low, high, touched, tuple(keys)
    )


def recurring(people: Sequence[Sequence[PastSession]], most: int = 1000) -> list[str]:
    """List the candidates that at least two people met, the most frequent first."""
    met = (dict.fromkeys(key for past in pasts for key in past.keys) for pasts in people)
    counts = Counter(key for keys in met for key in keys)
    return [key for key, count in counts.most_common(most) if count > 1]


def _observations(
    pasts: Sequence[PastSession], number: Mapping[str, int], questions: Mapping[str, int]
) -> list[Observation]:
    """List (row, (better, worse, session, question, own first, own second), interval)."""
    observations: list[Observation] = []
    own_index: dict[str, int] = {}
    none = len(number)
    for session, past in enumerate(pasts):
        group = session, questions[past.question]
        index = [number.get(key, none) for key in past.keys]
        own = [own_index.setdefault(key, len(own_index)) for key in past.keys]
        answers: list[Observation] = []
        for pairs, limits in ((past.wins, (0.0, np.inf)), (past.ties, (-TIE, TIE))):
            for a, b in pairs:
                row = past.features[a] - past.features[b]
                answers.append((row, (index[a], index[b], *group, own[a], own[b]), limits))
        for k in past.dislikes:
            indices = (index[k], none, *group, own[k], -1)
            answers.append((past.features[k], indices, (-np.inf, 0.0)))
        observations += answers[:: -(-len(answers) // MOST) or 1]  # a very long session is thinned
    return observations[-MOST:]


def _common(first: Indices, second: Indices) -> Array:
    """Return the inner products of incidence rows, +1 at `first` and -1 at `second`."""

    def same(one: Indices, other: Indices) -> Array:
        real = (one[:, :, None] >= 0) & (other[:, None, :] >= 0)
        both = real & (one[:, :, None] == other[:, None, :])
        return np.asarray(both, dtype=np.float64)

    return same(first, first) + same(second, second) - same(first, second) - same(second, first)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is expected of somebody's taste.

    The covariance of theta is `floor * I + factor @ factor.T`. The floor is the same for all
    features: embeddings have no axes of their own.
    """

    mean: Array  # of theta, shape (d,)
    floor: float
    factor: Array  # shape (d, r)
    popularity: Array  # b, shape (K,), in the order of the keys
    own: float = 1.0  # variance of r
    carry: float = CARRY  # correlation of a person's taste between two questions

    @classmethod
    def blank(cls, dimension: int, keys: int = 0, size: float = 2.0) -> Belief:
        """Return the belief about somebody of whom nothing is known."""
        return cls(np.zeros(dimension), size, np.zeros((dimension, 0)), np.zeros(keys))

    @property
    def same(self) -> float:
        """The correlation of a person's taste between two sessions about one question."""
        return max(SAME, self.carry)

    def spread(self, rows: Array) -> Array:
        """Multiply rows, shape (..., d), by the covariance of theta."""
        result: Array = self.floor * rows + (rows @ self.factor) @ self.factor.T
        return result

    def kinship(self, observations: Observations) -> Array:
        """Return how much of a taste two observations share, shape (N, T, T)."""
        return observations.kinship(self.carry, self.same)

    def posterior(
        self, observations: Observations, start: tuple[Array, Array] | None = None
    ) -> Sites:
        """Compute the posteriors of all people at once, by expectation propagation.

        `start` are the sites to begin with, both of shape (N, T).
        """
        along = observations.rows @ self.factor
        gram = self.floor * (observations.rows @ observations.rows.transpose(0, 2, 1))
        gram += along @ along.transpose(0, 2, 1) + self.own * observations.own
        gram *= self.kinship(observations)
        likelihoods = observations.likelihoods(observations.centre(self.mean, self.popularity))
        zeros = np.zeros(likelihoods.low.shape)
        return propagate(gram, likelihoods, start or (zeros, zeros))


def condensed(covariance: Array, rank: int = RANK) -> tuple[float, Array]:
    """Return the floor and factor, shape (d, r), that are nearest to a covariance, shape (d, d).

    They are the widest directions, up to `rank`, and the mean of the rest.
    """
    dimension = len(covariance)
    # All of them: asked for some of many that are equal, LAPACK may return none.
    values, vectors = np.linalg.eigh(covariance)
    left_out = dimension - min(rank, dimension - 1)
    # Directions as wide as those left out are no directions: which of them come out, and whether a
    # vector or its opposite does, depends on the processor.
    wide = values > _WIDER * max(float(values[left_out - 1]), 0.0)
    wide[:left_out] = False
    sizes, vectors = values[wide], vectors[:, wide]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(sizes))])
    floor = max((float(np.trace(covariance)) - sizes.sum()) / (dimension - len(sizes)), 1e-9)
    return floor, vectors * signs * np.sqrt(np.maximum(sizes - floor, 0.0))
