"""The frugal method: few questions, whatever the features are worth."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from useralign.checks import is_finite, whole
from useralign.errors import OptionError
from useralign.methods.base import NORM_BOUND, Confidence, Decision, Method, Run, check_norm_bound
from useralign.methods.frugal.choice import best_addition, shortlist, values
from useralign.methods.frugal.evidence import BeliefFrame, Evidence, Observation
from useralign.methods.frugal.posterior import Hypotheses, Posterior, infer, summarise
from useralign.methods.frugal.prior import Prior
from useralign.methods.frugal.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LIKELY = 1e-3  # a candidate less likely than this to be the best is as good as out
SURE = 0.95  # the bound holds with this probability
EQUAL = 0.4  # utilities that differ by less than about this are called equal
BLUNT = 0.2  # least noise of what is said of equal candidates, or of one alone
REMARK = 0.5  # noise of a remark of weight 1
WINDOW = 40  # observations kept as they are; what is older becomes a normal distribution
SLIP = 0.1  # least probability that a remark is beside the point
_DRAWING = 2  # numbers of this purpose belong to the sampler
MOST_CANDIDATES = 100_000  # each costs about 23 kB of memory


class _Standing(NamedTuple):
    """How the recommended candidate stands in the draws."""

    chances: Array  # of being the best, shape (K,)
    among_top: float
    loss: float
    worst: float


class FrugalRun(Run):
    """The frugal method on one pool.

    Parameters
    ----------
    method : Frugal
    features : ndarray, shape (K, d)
    seed : int
    """

    def __init__(self, method: Frugal, features: NDArray[np.float64], seed: int) -> None:
        super().__init__(features, seed, method.norm_bound)
        self.method = method
        frames = [BeliefFrame(features, None)]
        if method.prior is not None:
            method.prior.check(*features.shape)
            frames.append(BeliefFrame(features, method.prior))
        self.evidence = Evidence(frames)
        self.hypotheses = Hypotheses.grid(method.prior)
        self.posterior: Posterior = infer(self.evidence, self.hypotheses)
        self._answered: set[frozenset[int]] = set()
        self._sampler: Sampler | None = None
        self._draws: Array | None = None
        self._standing: _Standing | None = None
        self._decision: Decision | None = None

    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison: the winner's utility is the higher one."""
        self._answered.add(frozenset((first, second)))
        self._observe(Observation(self._gap(winner, first + second - winner)))

    def add_all(self, comparisons: Sequence[tuple[int, int, int]]) -> None:
        """Take in what a screen decides: one answer, whose pairs have their noise in common."""
        if len(comparisons) < 2:
            super().add_all(comparisons)
            return
        self._answered.update(frozenset((first, second)) for first, second, _ in comparisons)
        gaps = [self._gap(winner, first + second - winner) for first, second, winner in comparisons]
        self._observe(*(Observation(gap) for gap in gaps))

    def skip(self, first: int, second: int) -> None:
        """Take in that the person does not want to be asked about this pair."""
        super().skip(first, second)
        self._decision = None

    def equal(self, first: int, second: int) -> None:
        """Take in that two candidates are as good as each other: their utilities are close."""
        self._answered.add(frozenset((first, second)))
        gap = self._gap(first, second)
        self._observe(Observation(gap, low=-EQUAL, high=EQUAL, noise=BLUNT))

    def dislike(self, index: int) -> None:
        """Take in that a candidate will not do: it is worse than the average, and out."""
        weights = np.full(len(self.features), 1.0 / len(self.features))
        weights[index] -= 1.0
        self.dismiss(index)
        self._observe(Observation(weights, noise=BLUNT))

    def exclude(self, indices: Iterable[int]) -> None:
        """Leave candidates out: they are the worst in every draw."""
        super().exclude(indices)
        self._draws = self._standing = self._decision = None

    def lean(self, direction: NDArray[np.float64], weight: float) -> None:
        """Take in a remark: theta points along a direction, with noise that the weight sets."""
        if weight:
            along = np.sign(weight) * np.asarray(direction, dtype=np.float64)
            none = np.zeros(len(self.features))
            self._observe(Observation(none, along, noise=REMARK / abs(weight), lapse=SLIP))

    def scores(self) -> NDArray[np.float64]:
        """Return the posterior mean utilities, shape (K,)."""
        return self.posterior.mean

    def decide(self) -> Decision:
        """Look one answer ahead and take the pair whose answer is worth most."""
        if self._decision is None:
            self._decision = self._select()
        return self._decision

    def several(self, count: int) -> tuple[int, ...]:
        """Select up to `count` candidates for one screen: the favourite, and whom it may lose to.

        The person will take the best, so a screen is worth `E[max u]` over it.
        """
        decision = self.decide()
        if decision.second is None:
            return ()
        pair = decision.first, decision.second
        if count == 2:
            return pair
        screen = [self.best()]
        possible = self.possible()
        while len(screen) < count:
            open_ = [possible[k] and self.open(k, screen) for k in range(len(possible))]
            another = best_addition(self.draws, screen, np.array(open_))
            if another is None:
                break
            screen.append(another)
        return tuple(screen) if len(screen) > 1 else pair

    def possible(self) -> NDArray[np.bool_]:
        """Return which candidates are likely enough to be the best, shape (K,)."""
        result = self.standing.chances > LIKELY
        result[list(self.out)] = False
        result[self.best()] = True
        return result

    def confidence(self) -> Confidence:
        """Return the probability that the recommended candidate is among the best `top`."""
        return Confidence(self.standing.among_top, self._top)

    def satisfied(self) -> bool:
        """Whether it is sure enough, or no more than `gain` is to be had on average."""
        standing = self.standing
        return standing.among_top >= self.method.sure or standing.loss <= self.method.gain

    def copy(self) -> Self:
        """Return a run that goes its own way; arrays are shared, for none is changed in place."""
        twin = copy(self)
        twin.barred, twin.out = set(self.barred), set(self.out)
        twin._answered = set(self._answered)
        twin.evidence = self.evidence.copy()
        twin.posterior = replace(self.posterior, evidence=twin.evidence)
        if self._sampler is not None:
            twin._sampler = self._sampler.copy(twin._random)
        return twin

    def _random(self, step: int) -> np.random.Generator:
        return self.generator(step, _DRAWING)

    @property
    def draws(self) -> Array:
        """Utilities drawn from the posterior, shape (S, K)."""
        if self._draws is None:
            if self._sampler is None:
                frames = self.evidence.frames
                self._sampler = Sampler(frames, self._random)
            draws = self._sampler.draw(self.posterior)
            draws[:, list(self.out)] -= 1e3  # out of the running
            self._draws = draws
        return self._draws

    @property
    def standing(self) -> _Standing:
        """How the recommended candidate stands in the draws."""
        if self._standing is None:
            draws, best = self.draws, self.best()
            top = draws.max(axis=1)
            behind = top - draws[:, best]
            better = (draws > draws[:, best][:, None]).sum(axis=1)
            chances = np.bincount(draws.argmax(axis=1), minlength=draws.shape[1]) / len(draws)
            self._standing = _Standing(
                chances,
                float((better < self._top).mean()),
                float(behind.mean()),
                float(np.quantile(behind, SURE, method="higher")),
            )
        return self._standing

    @property
    def _top(self) -> int:
        """How many candidates count as good enough: the same share of what was not excluded."""
        count, top = len(self.features), self.method.top
        if self.excluded:
            top = max(round(top * (count - len(self.excluded)) / count), 1)
        return min(top, count)

    def _gap(self, winner: int, loser: int) -> Array:
        weights = np.zeros(len(self.features))
        weights[winner], weights[loser] = 1.0, -1.0
        return weights

    def _observe(self, *observations: Observation) -> None:
        """Update the posterior, starting from the last one: a replay does the same."""
        start = self._room_for(len(observations))
        if len(observations) > 1:
            self.evidence.add_screen(observations)
        else:
            self.evidence.add(*observations)
        none = np.zeros((len(self.hypotheses), len(observations)))
        start = np.hstack([start[0], none]), np.hstack([start[1], none])
        self.posterior = infer(self.evidence, self.hypotheses, start)
        self._draws = self._standing = self._decision = None

    def _room_for(self, count: int) -> tuple[Array, Array]:
        """Summarise the oldest answers until there is room; return the others' sites."""
        sites, size = self.posterior.sites, len(self.evidence)
        if size + count <= WINDOW:
            return sites.precision, sites.shift
        old = 0
        while size - old and size - old + count > WINDOW:
            old += self.evidence.made_at(old)
        summary, start = summarise(self.posterior, old)
        self.evidence.drop(old, summary)
        return start

    def _select(self) -> Decision:
        best, bound = self.best(), self._bound()
        if len(self.features) - len(self.out) < 2:
            return Decision(best, None, 0.0)
        rows = shortlist(self.posterior, best, self.out)
        first, second, worth = values(self.posterior, self.draws, rows)
        for pair in np.argsort(-worth, kind="stable"):
            a, b = int(rows[first[pair]]), int(rows[second[pair]])
            if self._may_ask(a, b):
                return Decision(b, a, bound) if b == best else Decision(a, b, bound)
        return Decision(best, None, bound)

    def _may_ask(self, first: int, second: int) -> bool:
        """Whether a pair is new, or answers are so noisy that asking again makes sense."""
        pair = frozenset((first, second))
        if pair in self.barred:
            return False
        return pair not in self._answered or self.posterior.noisy > 0.5

    def _bound(self) -> float:
        """Return the likely loss, scaled so that the largest before any answer is 2 S."""
        draws = self.draws
        if self._sampler is None or len(draws[0]) < 2:
            return 0.0
        return float(min(self.standing.worst / self._sampler.reach, 1.0) * 2.0 * self.norm_bound)


class Frugal(Method):
    """Frugal: a Bayesian look-ahead that learns how much features and answers can be trusted.

    Parameters
    ----------
    sure : float
        Stop when the recommended candidate is among the best `top` with this probability.
    top : int
        How many candidates count as good enough.
    gain : float
        Stop also when knowing everything would gain less than this on average, in units of
        the standard deviation of the person's utilities.
    prior : Prior or mapping, optional
        An earlier belief about the person; the answers decide how much it counts.
    norm_bound : float
        S; it only sets the unit of the bound.
    """

    name: ClassVar[str] = "frugal"

    def __init__(
        self,
        *,
        sure: float = 0.95,
        top: int = 1,
        gain: float = 0.05,
        prior: Prior | Mapping[str, Any] | None = None,
        norm_bound: float = NORM_BOUND,
    ) -> None:
        if not is_finite(sure) or not 0.0 < sure <= 1.0:
            raise OptionError(f"sure must be a probability above 0 and at most 1, got {sure!r}")
        if not is_finite(gain) or gain < 0.0:
            raise OptionError(f"gain must be a number of at least 0, got {gain!r}")
        self.sure = float(sure)
        self.top = whole("top", top, least=1)
        self.gain = float(gain)
        ready = prior is None or isinstance(prior, Prior)
        self.prior: Prior | None = prior if ready else Prior.from_dict(prior)  # type: ignore[assignment, arg-type]
        self.norm_bound = check_norm_bound(norm_bound)

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> FrugalRun:
        """Start a run on a pool; see `Method.start`."""
        if len(features) > MOST_CANDIDATES:
            raise OptionError(
                f"frugal weighs at most {MOST_CANDIDATES:,} candidates at once, got "
                f"{len(features):,}; use method='useralign', or fewer candidates"
            )
        return FrugalRun(self, features, seed)
