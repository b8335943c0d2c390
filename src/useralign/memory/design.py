"""The answers of many people, side by side in arrays, as linear observations.

An observation of person n is `<rows[n, t], theta> + b[better] - b[worse]`, of which we are told
the interval it lies in. People said different numbers of things: shorter lists are filled up with
observations that say nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal.ep import Likelihoods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from useralign.memory.past import Past

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]

MOST = 60  # observations a person; of more, the newest count
TIE = 0.5  # utilities that differ by less, in units of the noise, are called equal
LAPSE = 0.02  # probability of a slip


@dataclass(frozen=True, slots=True)
class Design:
    """Observations of N people, at most T each.

    Parameters
    ----------
    rows : ndarray, shape (N, T, d)
        Coefficients of theta.
    better, worse : ndarray of int, shape (N, T)
        Numbers of the candidates in `keys`; `len(keys)` stands for none.
    own : ndarray, shape (N, T, T)
        How many candidates two observations have in common, with signs.
    session : ndarray of int, shape (N, T)
        Number of the session within the person's; -1 where nothing was said.
    question : ndarray of int, shape (N, T)
        Number of the question.
    low, high : ndarray, shape (N, T)
        The intervals.
    keys : tuple of str
        Candidates whose popularity is of interest.
    touched : ndarray of int, shape (N,)
        How many different candidates each person spoke of.
    """

    rows: Array
    better: Places
    worse: Places
    own: Array
    session: Places
    question: Places
    low: Array
    high: Array
    keys: tuple[str, ...]
    touched: Places

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def said(self) -> int:
        """How many things were said in all."""
        return int((self.session >= 0).sum())

    def subset(self, people: Places) -> Design:
        """Return some of the people."""
        return Design(
            self.rows[people],
            self.better[people],
            self.worse[people],
            self.own[people],
            self.session[people],
            self.question[people],
            self.low[people],
            self.high[people],
            self.keys,
            self.touched[people],
        )

    def centre(self, mean: Array, popularity: Array) -> Array:
        """Return the means of the observations, shape (N, T)."""
        worth = np.append(popularity, 0.0)
        result: Array = self.rows @ mean + worth[self.better] - worth[self.worse]
        return result

    def likelihoods(self, centre: Array) -> Likelihoods:
        """Return what was seen, for a noise of 1."""
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


def design(people: Sequence[Sequence[Past]], keys: Sequence[str] = ()) -> Design:
    """Stack the sessions of people, all of one space.

    Parameters
    ----------
    people : sequence of sequence of Past
        The sessions of each person, oldest first.
    keys : sequence of str
        Candidates whose popularity is of interest.
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
        for t, (row, places, limit) in enumerate(one):
            rows[n, t], whole[n, t], limits[n, t] = row, places, limit
    better, worse, session, question, first, second = np.moveaxis(whole, 2, 0)
    touched = [len({*first[n], *second[n]} - {-1}) for n in range(count)]
    own = _common(first, second)
    low, high = limits[..., 0], limits[..., 1]
    return Design(
        rows, better, worse, own, session, question, low, high, tuple(keys), np.array(touched)
    )


def recurring(people: Sequence[Sequence[Past]], most: int = 1000) -> list[str]:
    """List the candidates that at least two people spoke of, the most frequent first."""
    seen = Counter(key for pasts in people for key in {k for past in pasts for k in past.keys})
    return [key for key, count in seen.most_common(most) if count > 1]


def _observations(
    pasts: Sequence[Past], number: Mapping[str, int], questions: Mapping[str, int]
) -> list[tuple[Array, tuple[int, ...], tuple[float, float]]]:
    """List (row, (better, worse, session, question, own first, own second), interval)."""
    found: list[tuple[Array, tuple[int, ...], tuple[float, float]]] = []
    mine: dict[str, int] = {}
    none = len(number)
    for session, past in enumerate(pasts):
        here = session, questions[past.question]
        place = [number.get(key, none) for key in past.keys]
        own = [mine.setdefault(key, len(mine)) for key in past.keys]
        said: list[tuple[Array, tuple[int, ...], tuple[float, float]]] = []
        for pairs, limits in ((past.wins, (0.0, np.inf)), (past.ties, (-TIE, TIE))):
            for a, b in pairs:
                row = past.features[a] - past.features[b]
                said.append((row, (place[a], place[b], *here, own[a], own[b]), limits))
        for k in past.dislikes:
            about = (place[k], none, *here, own[k], -1)
            said.append((past.features[k], about, (-np.inf, 0.0)))
        found += said[:: -(-len(said) // MOST) or 1]  # of a very long session, every so many
    return found[-MOST:]


def _common(first: Places, second: Places) -> Array:
    """Return the inner products of incidence rows, +1 at `first` and -1 at `second`."""

    def same(one: Places, other: Places) -> Array:
        real = (one[:, :, None] >= 0) & (other[:, None, :] >= 0)
        both = real & (one[:, :, None] == other[:, None, :])
        return np.asarray(both, dtype=np.float64)

    return same(first, first) + same(second, second) - same(first, second) - same(second, first)
