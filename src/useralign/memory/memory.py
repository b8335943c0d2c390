"""A memory: somebody's earlier sessions, and what was learnt from other people.

It leads to a prior over a pool, is stored as a JSON file, and can be described in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.checks import is_finite, is_whole
from useralign.errors import FileFormatError, OptionError
from useralign.files import load_json, write_json
from useralign.memory.belief import RANK, Belief, condensed, observe
from useralign.memory.past import PastSession, candidate_keys, standardised
from useralign.methods.frugal.prior import Prior

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from useralign.pool import Pool
    from useralign.session import Session

    Array = NDArray[np.float64]
    Space = tuple[str | None, int]

FORMAT = "useralign-memory/1"
HEDGE = 0.7  # the expectation may be that far off, in proportion: people can be unlike others
_TINY = 1e-12
_EXAMPLES = 3  # candidates at either end of a description
_LONGEST = 90


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """What was learnt from many people, as numbers about nobody in particular.

    Parameters
    ----------
    embedder : str or None
        What made the features that it is about.
    belief : Belief
        About somebody new. Its popularity is in the order of `keys`.
    keys : tuple of str
        Candidates that several people met.
    people, sessions, answers : int
        How many it was learnt from.
    gain : float or None
        By how much it raises the log-probability of an answer of somebody it was not learnt
        from, measured by leaving people out; None for too few people to tell.
    trust : tuple of (float, float), optional
        How much of it may count for somebody new, each with its probability, measured in the same
        way; None where it was not.
    """

    embedder: str | None
    belief: Belief
    keys: tuple[str, ...] = ()
    people: int = 0
    sessions: int = 0
    answers: int = 0
    gain: float | None = None
    trust: tuple[tuple[float, float], ...] | None = None

    @property
    def space(self) -> Space:
        """Embedder and dimension."""
        return self.embedder, len(self.belief.mean)

    @property
    def informative(self) -> bool:
        """Whether it changes what is expected of somebody new."""
        belief = self.belief
        return bool(belief.mean.any() or belief.factor.size or belief.popularity.any())

    @classmethod
    def blank(cls, embedder: str | None, dimension: int) -> Population:
        """Return the population that was learnt from nobody."""
        return cls(embedder, Belief.blank(dimension))

    def popularity(self, keys: list[str]) -> Array:
        """Return what candidates are worth to everybody, 0 for unknown ones, shape (K,)."""
        worth = dict(zip(self.keys, self.belief.popularity.tolist(), strict=True))
        return np.array([worth.get(key, 0.0) for key in keys])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        belief = self.belief
        return {
            "embedder": self.embedder,
            "people": self.people,
            "sessions": self.sessions,
            "answers": self.answers,
            "gain": self.gain,
            "mean": _rounded(belief.mean),
            "floor": belief.floor,
            "factor": _rounded(belief.factor),
            "own": belief.own,
            "carry": belief.carry,
            "popularity": dict(zip(self.keys, _rounded(belief.popularity), strict=True)),
            "trust": None if self.trust is None else [list(pair) for pair in self.trust],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Population:
        """Rebuild it from what `to_dict` returned.

        Raises
        ------
        FileFormatError
            If something is missing, or of another form.
        """
        try:
            gain, embedder = data["gain"], data["embedder"]
            return cls(
                None if embedder is None else str(embedder),
                _belief(data),
                tuple(str(key) for key in data["popularity"]),
                _whole(data["people"]),
                _whole(data["sessions"]),
                _whole(data["answers"]),
                None if gain is None else _within(gain, -np.inf, np.inf),
                Prior(trust=data.get("trust")).trust,  # files of earlier versions have none
            )
        except (KeyError, TypeError, ValueError, AttributeError, OptionError) as error:
            raise FileFormatError(f"what was learnt is damaged: {error!r:.200}") from error


def _belief(data: Mapping[str, Any]) -> Belief:
    mean = _numbers(data["mean"])
    return Belief(
        mean,
        _within(data["floor"], 0.0, np.inf),
        _numbers(data["factor"]).reshape(len(mean), -1),
        _numbers(list(data["popularity"].values())),
        _within(data["own"], 0.0, np.inf),
        _within(data["carry"], 0.0, 1.0),
    )


def _whole(value: Any) -> int:
    if not is_whole(value) or value < 0:
        raise ValueError(f"{value!r} is no number of people, sessions or answers")
    return int(value)


def _numbers(values: Any) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a number is not finite")
    return array


def _within(value: Any, low: float, high: float) -> float:
    if not is_finite(value) or not low <= value <= high:
        raise ValueError(f"{value!r} is out of its range")
    return float(value)


def _rounded(values: Array) -> list[Any]:
    """Return numbers to six digits, which is more than they are good for, as lists."""
    digits = [float(f"{value:.6g}") for value in values.ravel()]
    result: list[Any] = np.array(digits).reshape(values.shape).tolist()
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What is known about somebody before their first answer.

    Parameters
    ----------
    own : tuple of PastSession
        Their earlier sessions, oldest first.
    populations : tuple of Population
        What was learnt from others, one per kind of features.
    """

    own: tuple[PastSession, ...] = ()
    populations: tuple[Population, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.own) or any(population.informative for population in self.populations)

    def with_session(self, session: Session) -> Memory:
        """Return the memory with one more session of the same person, if it has answers.

        A session that went on after it was remembered takes the place of its beginning.
        """
        past = PastSession.from_session(session)
        if not len(past):
            return self
        others = (before for before in self.own if not past.continues(before))
        return replace(self, own=(*others, past))

    def without(self, indices: Sequence[int]) -> Memory:
        """Return the memory without some of the sessions in `own`."""
        return replace(self, own=tuple(past for n, past in enumerate(self.own) if n not in indices))

    def with_populations(self, populations: Sequence[Population]) -> Memory:
        """Return the memory with more populations, in place of those about the same features."""
        spaces = {population.space for population in populations}
        others = (before for before in self.populations if before.space not in spaces)
        return replace(self, populations=(*others, *populations))

    def population(self, space: Space) -> Population:
        """Return what was learnt from others about one kind of features."""
        for population in self.populations:
            if population.space == space:
                return population
        return Population.blank(*space)

    def prior_for(self, pool: Pool, *, grows: bool = False) -> Prior | None:
        """Return what is to be expected of the person over a pool.

        Only answers about features of the same embedder and dimension are used.

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
        population = self.population((pool.embedder, pool.dimension))
        pasts = [past for past in self.own if past.space == population.space and len(past)]
        if not pasts and not population.informative:
            return None
        keys, features = candidate_keys(pool), standardised(pool)
        belief, extra = population.belief, np.zeros(len(pool))
        if pasts:
            belief, extra = _updated(population, pasts, pool.question, keys)
        worth = population.popularity(keys) + extra
        linear = _size(belief, features)
        size = np.hypot(linear, np.sqrt(belief.own))  # the spread of a person's utilities
        popular = not grows and np.abs(worth).max() > _TINY and linear > _TINY
        parts = {
            "mean": belief.mean * (linear / size) if belief.mean.any() else None,
            "spread": np.full(pool.dimension, np.sqrt(belief.floor)),
            "factor": _hedged(belief),
            "popularity": (worth - worth.mean()) / size if popular else None,
            # It was measured for somebody of whom nothing else is known.
            "trust": np.array(population.trust) if population.trust and not pasts else None,
        }
        return Prior.from_dict({k: _rounded(v) for k, v in parts.items() if v is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "format": FORMAT,
            "own": [past.to_dict() for past in self.own],
            "populations": [population.to_dict() for population in self.populations],
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
            tuple(PastSession.from_dict(item) for item in own or ()),
            tuple(Population.from_dict(item) for item in populations or ()),
        )

    def save(self, path: str | Path) -> Path:
        """Write it to a JSON file and return its path; never leaves half a file."""
        return write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Memory:
        """Read a memory that `save` wrote."""
        return load_json(path, cls.from_dict)


def _updated(
    population: Population, pasts: Sequence[PastSession], question: str, keys: Sequence[str]
) -> tuple[Belief, Array]:
    """Return what is to be expected of somebody after their own earlier sessions.

    A taste carries over from one question to another by a correlation, so that what was learnt
    then moves the expectation now by that much, and leaves the more doubt the smaller it is.

    Parameters
    ----------
    population : Population
    pasts : sequence of PastSession
        All of the population's kind of features.
    question : str
        The question of the new session.
    keys : sequence of str, length K
        The candidates of the new session.

    Returns
    -------
    belief : Belief
        About theta.
    extra : ndarray, shape (K,)
        What candidates they met before are worth to them besides.
    """
    belief = population.belief
    observations = observe([pasts], population.keys)
    sites = belief.posterior(observations)
    rows, codes = observations.rows[0], observations.session[0]
    towards = np.array(
        [
            0.0 if n < 0 else belief.same if pasts[n].question == question else belief.carry
            for n in codes
        ]
    )
    weights, shrink = towards * sites.weights[0], np.outer(towards, towards) * sites.shrink[0]
    wide = belief.spread(rows)
    full = belief.spread(np.eye(rows.shape[1])) - wide.T @ shrink @ wide
    floor, factor = condensed((full + full.T) / 2.0, RANK + 2)
    updated = replace(belief, mean=belief.mean + wide.T @ weights, floor=floor, factor=factor)
    return updated, belief.own * _by_candidate(pasts, keys, weights)


def _by_candidate(pasts: Sequence[PastSession], keys: Sequence[str], weights: Array) -> Array:
    """Sum the weights of observations by candidate, plus where it won, minus where it lost."""
    observations = observe([pasts], keys)
    total = np.zeros(len(keys) + 1)
    np.add.at(total, observations.better[0], weights)
    np.add.at(total, observations.worse[0], -weights)
    return total[:-1]


def _hedged(belief: Belief) -> Array | None:
    """Return the factor with a direction more, that of the mean.

    It lets a few answers of somebody who is unlike what was expected turn the expectation round.
    """
    factor = np.hstack([belief.factor, HEDGE * belief.mean[:, None]])
    columns = factor[:, factor.any(axis=0)]
    return columns if columns.size else None


def _size(belief: Belief, features: Array) -> float:
    """Return the standard deviation of the utilities that features explain, on average."""
    return float(np.sqrt((features * belief.spread(features)).sum() / len(features)))


def summary(memory: Memory) -> dict[str, Any]:
    """Return what a memory holds, as plain data.

    Returns
    -------
    dict
        `sessions`: each of the person's own, with question, answers and embedder. `tastes`: for
        each kind of features what they lean towards and away from. `others`: what was learnt
        from other people.
    """
    spaces = dict.fromkeys(past.space for past in memory.own)
    return {
        "sessions": [
            {"question": past.question, "answers": len(past), "embedder": past.embedder}
            for past in memory.own
        ],
        "tastes": [_taste(memory, space) for space in spaces],
        "others": [_others(population) for population in memory.populations],
    }


def describe(memory: Memory) -> str:
    """Return what a memory holds in words, for the person it is about."""
    parts = summary(memory)
    if not memory:
        return "Nothing is remembered."
    lines = []
    if parts["sessions"]:
        answers = sum(session["answers"] for session in parts["sessions"])
        lines.append(f"{_count(len(memory.own), 'session')} of yours, {_count(answers, 'answer')}.")
    for taste in parts["tastes"]:
        lines += _examples("Your past answers lean towards:", taste["towards"])
        lines += _examples("and away from:", taste["away_from"])
    for others in parts["others"]:
        lines.append(
            f"Learnt from {_count(others['people'], 'other person', 'other people')} with "
            f"{_count(others['answers'], 'answer')}, about {others['features']}."
        )
        lines.append(_usefulness(others))
        lines += _examples("They like more than their features tell:", others["popular"])
    return "\n".join(lines)


def _taste(memory: Memory, space: Space) -> dict[str, Any]:
    pasts = [past for past in memory.own if past.space == space]
    population = memory.population(space)
    rows = {key: row for past in pasts for key, row in zip(past.keys, past.features, strict=True)}
    keys, features = list(rows), np.array(list(rows.values()))
    belief, extra = _updated(population, pasts, "", keys)
    worth = features @ belief.mean + population.popularity(keys) + extra
    order = [keys[k] for k in np.argsort(-worth, kind="stable")]
    ends = min(_EXAMPLES, len(order) // 2)
    return {
        "features": _describe_space(space),
        "sessions": len(pasts),
        "answers": sum(map(len, pasts)),
        "towards": order[:ends],
        "away_from": order[::-1][:ends],
    }


def _others(population: Population) -> dict[str, Any]:
    worth = dict(zip(population.keys, population.belief.popularity.tolist(), strict=True))
    liked = sorted((key for key in worth if worth[key] > 0), key=lambda key: -worth[key])
    return {
        "features": _describe_space(population.space),
        "people": population.people,
        "sessions": population.sessions,
        "answers": population.answers,
        "gain": population.gain,
        "used": population.informative,
        "popular": liked[:_EXAMPLES],
    }


def _describe_space(space: Space) -> str:
    embedder, dimension = space
    return f"{dimension} features by {embedder!r}" if embedder else f"{dimension} given features"


def _usefulness(others: dict[str, Any]) -> str:
    gain = others["gain"]
    if gain is None:
        return "They are too few to tell whether that helps; your own answers decide."
    if gain <= 0:
        return "They are too few to show what people want; only what many like counts a little."
    percent = 100.0 * np.expm1(gain)
    return f"It makes the answers of somebody new {percent:.0f}% more probable, on average."


def _examples(title: str, keys: list[str]) -> list[str]:
    short = [key if len(key) <= _LONGEST else key[: _LONGEST - 3].rstrip() + "..." for key in keys]
    return [title, *(f"  {' '.join(line.split())}" for line in short)] if keys else []


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
