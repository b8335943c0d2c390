"""Methods and their runs: rules that turn the answers so far into the next pair, or a stop."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from useralign.checks import is_finite
from useralign.errors import FeedbackError, OptionError
from useralign.geometry import TIE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

DELTA = 0.05
NORM_BOUND = 3.0
MOST_NORM_BOUND = 1e4


class Decision(NamedTuple):
    """The next pair, or that there is none, and the bound.

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


class Confidence(NamedTuple):
    """The probability that the recommended candidate is among the best.

    Parameters
    ----------
    probability : float
        The probability that the recommended candidate is among the best `top`.
    top : int
    """

    probability: float
    top: int


class Run(ABC):
    """A method on one pool. Its state is what a replay of the answers rebuilds.

    Every run takes choices, rankings (both through `add`), `equal` and `skip`. One that can make
    use of `dislike` or `lean` overrides it, and `takes` has its kind.

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
        self.out: set[int] = set()  # candidates out of the running, never all of them
        self.excluded: frozenset[int] = frozenset()  # those of them that nobody disliked
        self.tie = TIE * norm_bound  # scores this close are equal

    @abstractmethod
    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison."""

    def add_all(self, comparisons: Sequence[tuple[int, int, int]]) -> None:
        """Take in what the answer to one screen decides: `(first, second, winner)` of each pair.

        By default they are added one by one; a method that can do it faster at once overrides it.
        """
        for first, second, winner in comparisons:
            self.add(first, second, winner)

    def skip(self, first: int, second: int) -> None:
        """Take in that the person does not want to be asked about this pair."""
        self.barred.add(frozenset((first, second)))

    def equal(self, first: int, second: int) -> None:
        """Take in that the person cannot tell these two apart.

        By default the pair is not asked again, and nothing is concluded: people say so of what
        is merely close.
        """
        self.skip(first, second)

    def dislike(self, index: int) -> None:
        """Take in that this candidate will not do, whatever it was shown with.

        It is then neither recommended nor asked about while others remain.

        Raises
        ------
        FeedbackError
            If the method has no use for it. Nothing has changed.
        """
        raise FeedbackError(self._refusal(f"that candidate {index} will not do"))

    def lean(self, direction: NDArray[np.float64], weight: float) -> None:
        """Take in a remark: the person is likely to want more along this direction.

        Parameters
        ----------
        direction : ndarray, shape (d,)
            Of length 1, in the space of the features.
        weight : float
            The log-likelihood gains `weight * <direction, theta>`: 1 counts as much as two
            clear answers.

        Raises
        ------
        FeedbackError
            If the method has no use for it. Nothing has changed.
        """
        raise FeedbackError(self._refusal(f"a remark of weight {weight:g}, {len(direction)}-d"))

    def exclude(self, indices: Iterable[int]) -> None:
        """Leave these candidates out of the running, and no others but those disliked.

        Nothing is concluded about the person's taste: the candidates are not for them, such as
        meat for a vegetarian. All of them would be none of them.
        """
        before = self.excluded
        excluded = frozenset(indices)
        self.excluded = excluded if len(excluded) < len(self.features) else frozenset()
        self.out = (self.out - before) | self.excluded
        if len(self.out) == len(self.features):
            self.out = set(self.excluded)

    @property
    def takes(self) -> frozenset[str]:
        """The kinds of answer it can use, out of `useralign.answers.KINDS`."""
        kinds = {"choice", "ranking", "equal", "skip"}
        if type(self).dislike is not Run.dislike:
            kinds |= {"neither", "wish", "withdraw"}  # it knows candidates that are out
        if type(self).lean is not Run.lean:
            kinds.add("remark")
        return frozenset(kinds)

    def _refusal(self, what: str) -> str:
        return f"this method cannot use {what}; it takes {', '.join(sorted(self.takes))}"

    @abstractmethod
    def decide(self) -> Decision:
        """Decide on the next pair; calling it again gives the same decision."""

    def several(self, count: int) -> tuple[int, ...]:
        """Select up to `count` candidates for one comparison; of two, the pair of `decide`.

        By default that pair is joined by those with the highest scores that may still be the
        best. Fewer come back where no more are worth asking about; calling it again gives the
        same.
        """
        decision = self.decide()
        if decision.second is None:
            return ()
        screen = [decision.first, decision.second]
        possible = self.possible()
        for k in np.argsort(-self.scores(), kind="stable"):
            if len(screen) == count:
                break
            if possible[k] and self.open(int(k), screen):
                screen.append(int(k))
        return tuple(screen)

    def open(self, candidate: int, others: Sequence[int]) -> bool:
        """Whether a candidate may be compared with others: it is none of them, nor barred."""
        if candidate in others or candidate in self.out:
            return False
        return not any(frozenset((candidate, k)) in self.barred for k in others)

    def dismiss(self, candidate: int) -> None:
        """Put a candidate out of the running; when none is left, all disliked are in it again."""
        self.out.add(candidate)
        if len(self.out) == len(self.features):
            self.out = set(self.excluded)

    @abstractmethod
    def scores(self) -> NDArray[np.float64]:
        """Return the estimated utility of every candidate, shape (K,); only differences count."""

    def best(self) -> int:
        """Return the candidate with the highest score, of those in the running.

        While all candidates tie, as they do with nothing answered, one is drawn at random from
        the generator of step 0; so methods that share a seed begin with the same candidate. Any
        later tie goes to the lowest index.
        """
        scores = self.scores()
        if self.out:
            scores = scores.copy()
            scores[list(self.out)] = -np.inf
        tied = scores >= scores.max() - self.tie
        if tied.all():
            return int(self.generator(0).integers(len(scores)))
        if self.excluded and tied.sum() == len(scores) - len(self.out):
            return int(self.generator(0).choice(np.flatnonzero(tied)))
        return int(tied.argmax())

    def possible(self) -> NDArray[np.bool_]:
        """Return for every candidate whether it may still be the best, shape (K,)."""
        result = np.ones(len(self.features), dtype=bool)
        result[list(self.out)] = False
        return result

    def confidence(self) -> Confidence | None:
        """Return how sure it is of its recommendation; None if it does not estimate that."""
        return None

    def satisfied(self) -> bool:
        """Whether it is sure enough to stop, by its own rule."""
        return False

    def copy(self) -> Self:
        """Return a run that goes its own way from here; both decide as a replay would."""
        return deepcopy(self, {id(self.features): self.features})

    def generator(self, step: int, purpose: int = 0) -> np.random.Generator:
        """Return the random generator of one step: a function of the seed, with no memory.

        So a step draws the same numbers whether it is reached by asking, undoing or resuming.
        """
        return np.random.default_rng([self.seed, step, purpose])


class Method:
    """A way of choosing what to ask: its options. `start` begins a `Run` on a pool.

    The contract, which `useralign.testing.check_method` verifies:

    - A run's decisions depend on the features, the answers, in order, and the seed alone:
      two runs with the same answers decide alike, in this process or another, and whether
      or not `decide` was called in between.
    - `decide` returns two different candidates that are not barred, or no second one; `several`
      the same two, or more of whom no two are barred.
    - Feedback that a run has no use for raises `FeedbackError` and changes nothing; the kinds that
      it takes are in `Run.takes`. A disliked or excluded candidate is neither asked about nor
      recommended while others remain.
    - With nothing answered, `best` is drawn from `generator(0)`.
    - `options` returns what the constructor needs to build the same method again, as plain data.
      By default it finds each of the constructor's arguments in an attribute of the same name.

    Attributes
    ----------
    name : str
        The name it is registered under.
    run : type
        The class of its runs; one whose constructor takes more than `Run` does needs
        `run_options`, or its own `start`.
    asks : bool
        Whether it asks anything at all.
    stops : bool
        Whether its bound falls, so that a session without a budget comes to an end.
    """

    name: ClassVar[str]
    run: ClassVar[type[Run]]
    asks: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    norm_bound: float = NORM_BOUND

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> Run:
        """Start a run on a pool.

        Parameters
        ----------
        features : ndarray, shape (K, d)
        seed : int
        fixed_budget : bool
            Whether the session runs for its whole budget whatever the bound (the paper's
            footnote 2), with i.i.d. challengers when no viable one remains.
        """
        return self.run(features, seed, self.norm_bound, **self.run_options())

    def run_options(self) -> dict[str, Any]:
        """Return what the constructor of its runs takes beyond what `Run` takes; mostly nothing."""
        return {}

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        names = inspect.signature(type(self)).parameters
        return {name: _plain(getattr(self, name)) for name in names if hasattr(self, name)}

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self.options().items())
        return f"{type(self).__name__}({inside})"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.to_dict() if hasattr(value, "to_dict") else value


def check_norm_bound(norm_bound: float) -> float:
    """Return S as a float, or raise `OptionError`."""
    if not is_finite(norm_bound) or not 0 < norm_bound <= MOST_NORM_BOUND:
        raise OptionError(
            f"norm_bound (the paper's S) must be above 0 and at most {MOST_NORM_BOUND:g}, where "
            f"answers are as good as certain; got {norm_bound!r}; "
            f"the paper uses {NORM_BOUND:g}"
        )
    return float(norm_bound)


def check_delta(delta: float) -> float:
    """Return delta as a float, or raise `OptionError`."""
    if not is_finite(delta) or not 0.0 < delta < 1.0:
        raise OptionError(
            f"delta must lie strictly between 0 and 1, got {delta!r}; the paper uses {DELTA:g}"
        )
    return float(delta)
