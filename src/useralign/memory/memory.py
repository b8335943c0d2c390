"""A memory: somebody's earlier sessions, and what was learnt from other people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import FileFormatError
from useralign.files import read_json, write_json
from useralign.memory.belief import RANK, Belief, condensed
from useralign.memory.design import design
from useralign.memory.past import Past, keys_of, standard
from useralign.memory.population import Population, rounded
from useralign.methods.frugal.prior import Prior

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from useralign.pool import Pool
    from useralign.session import Session

    Array = NDArray[np.float64]

FORMAT = "useralign-memory/1"
HEDGE = 0.7  # the expectation may be that far off, in proportion: people can be unlike others
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What is known about somebody before they are asked.

    Parameters
    ----------
    own : tuple of Past
        Their earlier sessions, oldest first.
    populations : tuple of Population
        What was learnt from others, one a kind of features.
    """

    own: tuple[Past, ...] = ()
    populations: tuple[Population, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.own) or any(known.speaks for known in self.populations)

    def with_session(self, session: Session) -> Memory:
        """Return the memory with one more session of the same person, if they said anything."""
        past = Past.of(session)
        return replace(self, own=(*self.own, past)) if len(past) else self

    def without(self, places: Sequence[int]) -> Memory:
        """Return the memory without some of the sessions, given by their places in `own`."""
        kept = tuple(past for n, past in enumerate(self.own) if n not in places)
        return replace(self, own=kept)

    def population(self, space: tuple[str | None, int]) -> Population:
        """Return what was learnt from others about one kind of features."""
        for known in self.populations:
            if known.space == space:
                return known
        return Population.blank(*space)

    def prior_for(self, pool: Pool, *, grows: bool = False) -> Prior | None:
        """Return what is to be expected of the person over a pool.

        Only what was said about features of the same embedder and dimension is used.

        Parameters
        ----------
        pool : Pool
        grows : bool
            Whether more candidates may join the pool: then nothing is said of single ones.

        Returns
        -------
        Prior or None
            None if nothing is known.
        """
        known = self.population((pool.embedder, pool.dimension))
        mine = [past for past in self.own if past.space == known.space and len(past)]
        if not mine and not known.speaks:
            return None
        keys, features = keys_of(pool), standard(pool)
        belief, extra = known.belief, np.zeros(len(pool))
        if mine:
            belief, extra = recalled(known, mine, pool.question, keys)
        worth = known.popularity(keys) + extra
        size = _size(belief, features)
        popular = not grows and np.abs(worth).max() > _TINY and size > _TINY
        parts = {
            "mean": belief.mean if belief.mean.any() else None,
            "spread": np.full(pool.dimension, np.sqrt(belief.floor)),
            "factor": _hedged(belief),
            "popularity": (worth - worth.mean()) / size if popular else None,
        }
        return Prior.from_dict({k: rounded(v) for k, v in parts.items() if v is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "format": FORMAT,
            "own": [past.to_dict() for past in self.own],
            "populations": [known.to_dict() for known in self.populations],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Memory:
        """Rebuild it from what `to_dict` returned.

        Raises
        ------
        FileFormatError
            If it is something else, of another version, or damaged.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            got = data.get("format") if isinstance(data, Mapping) else type(data).__name__
            raise FileFormatError(f"not a memory of this version: expected {FORMAT!r}, got {got!r}")
        lists = [data.get(name) for name in ("own", "populations")]
        if not all(isinstance(items, list) for items in lists):
            raise FileFormatError("the memory is damaged: 'own' or 'populations' is no list")
        own, populations = lists
        return cls(
            tuple(Past.from_dict(item) for item in own or ()),
            tuple(Population.from_dict(item) for item in populations or ()),
        )

    def save(self, path: str | Path) -> Path:
        """Write it to a JSON file and return its path; never leaves half a file."""
        return write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Memory:
        """Read a memory that `save` wrote."""
        try:
            return cls.from_dict(read_json(path))
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from error


def recalled(
    known: Population, mine: Sequence[Past], question: str, keys: Sequence[str]
) -> tuple[Belief, Array]:
    """Return what is to be expected of somebody after their own earlier sessions.

    A taste carries over from one question to another by a correlation, so that what was learnt
    then moves the expectation now by that much, and leaves the more doubt the smaller it is.

    Parameters
    ----------
    known : Population
    mine : sequence of Past
        All of the population's kind of features.
    question : str
        What is asked now.
    keys : sequence of str, length K
        The candidates there are now.

    Returns
    -------
    belief : Belief
        About theta.
    extra : ndarray, shape (K,)
        What candidates they met before are worth to them besides.
    """
    belief = known.belief
    said = design([mine], known.keys)
    sites = belief.judge(said)
    rows, codes = said.rows[0], said.session[0]
    towards = np.array(
        [
            0.0 if n < 0 else belief.same if mine[n].question == question else belief.carry
            for n in codes
        ]
    )
    weights, shrink = towards * sites.weights[0], np.outer(towards, towards) * sites.shrink[0]
    wide = belief.spread(rows)
    full = belief.spread(np.eye(rows.shape[1])) - wide.T @ shrink @ wide
    floor, factor = condensed((full + full.T) / 2.0, RANK + 2)
    recalled_ = replace(belief, mean=belief.mean + wide.T @ weights, floor=floor, factor=factor)
    return recalled_, belief.own * _met(mine, keys, weights)


def _met(mine: Sequence[Past], keys: Sequence[str], weights: Array) -> Array:
    """Sum the weights of observations by candidate, plus where it won, minus where it lost."""
    said = design([mine], keys)
    total = np.zeros(len(keys) + 1)
    np.add.at(total, said.better[0], weights)
    np.add.at(total, said.worse[0], -weights)
    return total[:-1]


def _hedged(belief: Belief) -> Array | None:
    """Return the factor with a direction more, that of the mean.

    It lets a few answers of somebody who is unlike what was expected turn the expectation round.
    """
    factor = np.hstack([belief.factor, HEDGE * belief.mean[:, None]])
    kept = factor[:, factor.any(axis=0)]
    return kept if kept.size else None


def _size(belief: Belief, features: Array) -> float:
    """Return the standard deviation of the utilities that features explain, on average."""
    return float(np.sqrt((features * belief.spread(features)).sum() / len(features)))
