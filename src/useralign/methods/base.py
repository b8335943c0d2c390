"""What a method is: a rule that turns the answers so far into the next pair, or a stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from useralign.checks import is_finite
from useralign.errors import OptionError
from useralign.geometry import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELTA = 0.05
NORM_BOUND = 3.0
MOST_NORM_BOUND = 1e4


class Decision(NamedTuple):
    """What a method makes of the answers so far.

    Parameters
    ----------
    first : int
        The candidate shown first; in UserAlign the incumbent.
    second : int or None
        The candidate to compare it with, the challenger; None when nothing is worth asking.
    bound : float
        How much better, at most, another candidate can be than the one recommended, in units of
        `<theta, phi>`. A method that certifies nothing returns its a-priori bound.
    """

    first: int
    second: int | None
    bound: float


class Run(ABC):
    """A method at work on one pool. Its state is what a replay of the answers rebuilds.

    Parameters
    ----------
    features : ndarray, shape (K, d)
        Normalised features.
    seed : int
        The session's seed; all randomness comes from `generator`.
    norm_bound : float
        S, to which tolerances are relative.
    """

    def __init__(self, features: NDArray[np.float64], seed: int, norm_bound: float) -> None:
        self.features = features
        self.seed = seed
        self.norm_bound = norm_bound
        self.barred: set[frozenset[int]] = set()
        self.tie = TIE * norm_bound  # scores this close are equal

    @abstractmethod
    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison."""

    def skip(self, first: int, second: int) -> None:
        """Take in that the person does not want to be asked about this pair."""
        self.barred.add(frozenset((first, second)))

    @abstractmethod
    def decide(self) -> Decision:
        """Decide on the next pair; calling it again gives the same decision."""

    @abstractmethod
    def scores(self) -> NDArray[np.float64]:
        """Return the estimated utility of every candidate, shape (K,); only differences count."""

    def best(self) -> int:
        """Return the candidate with the highest score.

        While all candidates tie, as they do with nothing answered, one is drawn at random from
        the generator of step 0; so methods that share a seed begin with the same candidate. Any
        later tie goes to the lowest index.
        """
        scores = self.scores()
        tied = scores >= scores.max() - self.tie
        if tied.all():
            return int(self.generator(0).integers(len(scores)))
        return int(tied.argmax())

    def possible(self) -> NDArray[np.bool_]:
        """Tell for every candidate whether it may still be the best, shape (K,)."""
        return np.ones(len(self.features), dtype=bool)

    def generator(self, step: int, purpose: int = 0) -> np.random.Generator:
        """Return the random generator of one step: a function of the seed, with no memory.

        So a step draws the same numbers whether it is reached by asking, undoing or resuming.
        """
        return np.random.default_rng([self.seed, step, purpose])


class Method(ABC):
    """A way of choosing what to ask. Methods are configuration; `start` sets one to work.

    The contract, which `useralign.testing.check_method` verifies:

    - A run's decisions depend on the features, the answers, the skipped pairs and the seed alone:
      two runs that were given the same decide alike, in this process or another, and whether
      or not `decide` was called in between.
    - `decide` returns two different candidates that are not barred, or no second one.
    - With nothing answered, `best` is drawn from `generator(0)`.
    - `options` returns what the constructor needs to build the same method again, as plain data.

    Attributes
    ----------
    name : str
        The name it is registered under.
    asks : bool
        Whether it asks anything at all.
    stops : bool
        Whether its bound falls, so that a session without a budget comes to an end.
    """

    name: ClassVar[str]
    asks: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    norm_bound: float = NORM_BOUND

    @abstractmethod
    def start(self, features: NDArray[np.float64], seed: int, *, fixed_budget: bool = False) -> Run:
        """Begin on a pool.

        Parameters
        ----------
        features : ndarray, shape (K, d)
        seed : int
        fixed_budget : bool
            Whether the session runs for its whole budget whatever the bound (the paper's
            footnote 2), with i.i.d. challengers when no viable one remains.
        """

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        return {}

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self.options().items())
        return f"{type(self).__name__}({inside})"


def check_norm_bound(norm_bound: float) -> float:
    """Return S as a float, or say what is wrong with it."""
    if not is_finite(norm_bound) or not 0 < norm_bound <= MOST_NORM_BOUND:
        raise OptionError(
            f"norm_bound (the paper's S) must be above 0 and at most {MOST_NORM_BOUND:g}, where "
            f"answers are as good as certain; got {norm_bound!r}; "
            f"the paper uses {NORM_BOUND:g}"
        )
    return float(norm_bound)


def check_delta(delta: float) -> float:
    """Return delta as a float, or say what is wrong with it."""
    if not is_finite(delta) or not 0.0 < delta < 1.0:
        raise OptionError(
            f"delta must lie strictly between 0 and 1, got {delta!r}; the paper uses {DELTA:g}"
        )
    return float(delta)
