"""What was learnt from many people: kept as numbers about nobody in particular."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.checks import is_finite, is_whole
from useralign.errors import FileFormatError
from useralign.memory.belief import Belief

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Space = tuple[str | None, int]


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """What people want whose answers were learnt from.

    Parameters
    ----------
    embedder : str or None
        What made the features that it speaks of.
    belief : Belief
        About somebody new. Its popularity is in the order of `keys`.
    keys : tuple of str
        Candidates that several people spoke of.
    people, sessions, answers : int
        How many it was learnt from.
    gain : float or None
        By how much it raises the log-probability of an answer of somebody it was not learnt
        from, measured by leaving people out; None for too few people to tell.
    """

    embedder: str | None
    belief: Belief
    keys: tuple[str, ...] = ()
    people: int = 0
    sessions: int = 0
    answers: int = 0
    gain: float | None = None

    @property
    def space(self) -> Space:
        """Embedder and dimension."""
        return self.embedder, len(self.belief.mean)

    @classmethod
    def blank(cls, embedder: str | None, dimension: int) -> Population:
        """Return what is known without having asked anybody."""
        return cls(embedder, Belief.blank(dimension))

    def popularity(self, keys: list[str]) -> Array:
        """Return what candidates are worth to everybody, 0 for those that are not known."""
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
            "mean": rounded(belief.mean),
            "floor": belief.floor,
            "factor": rounded(belief.factor),
            "own": belief.own,
            "carry": belief.carry,
            "popularity": dict(zip(self.keys, rounded(belief.popularity), strict=True)),
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
                _count(data["people"]),
                _count(data["sessions"]),
                _count(data["answers"]),
                None if gain is None else _within(gain, -np.inf, np.inf),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"what was learnt is damaged: {error!r:.200}") from error

    def idle(self) -> Population:
        """Return it with nothing in it but how large tastes are, and how they carry over."""
        empty = Belief.blank(len(self.belief.mean))
        belief = replace(
            empty, floor=self.belief.floor, own=self.belief.own, carry=self.belief.carry
        )
        return replace(self, belief=belief, keys=())

    @property
    def speaks(self) -> bool:
        """Whether it says anything about somebody new."""
        belief = self.belief
        return bool(belief.mean.any() or belief.factor.size or belief.popularity.any())


def described(space: Space) -> str:
    """Say what features are meant."""
    embedder, dimension = space
    return f"{dimension} features by {embedder!r}" if embedder else f"{dimension} given features"


def rounded(values: Array) -> list[Any]:
    """Return numbers to six digits, which is more than they are good for, as lists."""
    shown = [float(f"{value:.6g}") for value in values.ravel()]
    result: list[Any] = np.array(shown).reshape(values.shape).tolist()
    return result


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


def _count(value: Any) -> int:
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
