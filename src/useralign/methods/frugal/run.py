"""The frugal method at work on one pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from useralign.methods.base import Confidence, Decision, Run
from useralign.methods.frugal.choice import joined, shortlist, values
from useralign.methods.frugal.evidence import Evidence, Frame, Saying
from useralign.methods.frugal.hypotheses import Hypotheses
from useralign.methods.frugal.model import Posterior, infer
from useralign.methods.frugal.sampling import Sampler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.methods.frugal.method import Frugal

    Array = NDArray[np.float64]

LIKELY = 1e-3  # a candidate less likely than this to be the best is as good as out
SURE = 0.95  # the bound holds with this probability
EQUAL = 0.4  # utilities that differ by less than about this are called equal
BLUNT = 0.2  # least noise where no two candidates are told apart, or one is judged alone
REMARK = 0.5  # noise of a remark of weight 1
SLIP = 0.1  # least probability that a remark is beside the point
_DRAWING = 2  # numbers of this purpose belong to the sampler


class _Standing(NamedTuple):
    """What the draws say of the recommended candidate."""

    chances: Array  # of being the best, shape (K,)
    among_top: float
    loss: float
    worst: float


class FrugalRun(Run):
    """The frugal method at work on one pool.

    Parameters
    ----------
    method : Frugal
    features : ndarray, shape (K, d)
    seed : int
    """

    def __init__(self, method: Frugal, features: NDArray[np.float64], seed: int) -> None:
        super().__init__(features, seed, method.norm_bound)
        self.method = method
        frames = [Frame(features, None)]
        if method.prior is not None:
            method.prior.check(*features.shape)
            frames.append(Frame(features, method.prior))
        self.evidence = Evidence(frames)
        self.hypotheses = Hypotheses.grid(with_prior=method.prior is not None)
        self.posterior: Posterior = infer(self.evidence, self.hypotheses)
        self._answered: set[frozenset[int]] = set()
        self._sampler: Sampler | None = None
        self._draws: Array | None = None
        self._standing: _Standing | None = None
        self._decision: Decision | None = None

    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison: the winner's utility is the higher one."""
        self._answered.add(frozenset((first, second)))
        self._say(Saying(self._gap(winner, first + second - winner)))

    def skip(self, first: int, second: int) -> None:
        """Take in that the person does not want to be asked about this pair."""
        super().skip(first, second)
        self._decision = None

    def equal(self, first: int, second: int) -> None:
        """Take in that two candidates are as good as each other: their utilities are close."""
        self._answered.add(frozenset((first, second)))
        gap = self._gap(first, second)
        self._say(Saying(gap, low=-EQUAL, high=EQUAL, noise=BLUNT))

    def dislike(self, index: int) -> None:
        """Take in that a candidate will not do: it is worse than the average, and out."""
        own = np.full(len(self.features), 1.0 / len(self.features))
        own[index] -= 1.0
        self.dismiss(index)
        self._say(Saying(own, noise=BLUNT))

    def lean(self, direction: NDArray[np.float64], weight: float) -> None:
        """Take in a remark: theta points along a direction, with noise that the weight sets."""
        if weight:
            along = np.sign(weight) * np.asarray(direction, dtype=np.float64)
            own = np.zeros(len(self.features))
            self._say(Saying(own, along, noise=REMARK / abs(weight), lapse=SLIP))

    def scores(self) -> NDArray[np.float64]:
        """Return the posterior mean utilities, shape (K,)."""
        return self.posterior.mean

    def decide(self) -> Decision:
        """Look one answer ahead and take the pair whose answer is worth most."""
        if self._decision is None:
            self._decision = self._select()
        return self._decision

    def several(self, count: int) -> tuple[int, ...]:
        """Choose up to `count` candidates to show at once, the pair of `decide` first."""
        decision = self.decide()
        if decision.second is None:
            return ()
        shown = [decision.first, decision.second]
        possible = self.possible()
        while len(shown) < count:
            open_ = [possible[k] and self.open(k, shown) for k in range(len(possible))]
            another = joined(self.draws, shown, np.array(open_))
            if another is None:
                break
            shown.append(another)
        return tuple(shown)

    def possible(self) -> NDArray[np.bool_]:
        """Return which candidates have a chance of being the best that counts, shape (K,)."""
        result = self.standing.chances > LIKELY
        result[list(self.out)] = False
        result[self.best()] = True
        return result

    def confidence(self) -> Confidence:
        """Return the probability that the recommended candidate is among the best `top`."""
        return Confidence(self.standing.among_top, min(self.method.top, len(self.features)))

    def satisfied(self) -> bool:
        """Return whether it is sure enough, or no more than `gain` is to be had on average."""
        standing = self.standing
        return standing.among_top >= self.method.sure or standing.loss <= self.method.gain

    @property
    def draws(self) -> Array:
        """Utilities drawn from the posterior, shape (S, K)."""
        if self._draws is None:
            if self._sampler is None:
                frames = self.evidence.frames
                self._sampler = Sampler(frames, lambda step: self.generator(step, _DRAWING))
            self._draws = self._sampler.draw(self.posterior)
            self._draws[:, list(self.out)] -= 1e3  # out of the running
        return self._draws

    @property
    def standing(self) -> _Standing:
        """What the draws say of the recommended candidate."""
        if self._standing is None:
            draws, best = self.draws, self.best()
            top = draws.max(axis=1)
            behind = top - draws[:, best]
            better = (draws > draws[:, best][:, None]).sum(axis=1)
            chances = np.bincount(draws.argmax(axis=1), minlength=draws.shape[1]) / len(draws)
            self._standing = _Standing(
                chances,
                float((better < self.method.top).mean()),
                float(behind.mean()),
                float(np.quantile(behind, SURE, method="higher")),
            )
        return self._standing

    def _gap(self, winner: int, loser: int) -> Array:
        own = np.zeros(len(self.features))
        own[winner], own[loser] = 1.0, -1.0
        return own

    def _say(self, saying: Saying) -> None:
        """Bring the posterior up to date, going on from where it stood: a replay does the same."""
        before = self.posterior.sites
        self.evidence.add(saying)
        none = np.zeros((len(self.hypotheses), 1))
        start = np.hstack([before.precision, none]), np.hstack([before.shift, none])
        self.posterior = infer(self.evidence, self.hypotheses, start)
        self._draws = self._standing = self._decision = None

    def _select(self) -> Decision:
        best, bound = self.best(), self._bound()
        if len(self.features) - len(self.out) < 2:
            return Decision(best, None, 0.0)
        rows = shortlist(self.posterior, best, self.out)
        first, second, worth = values(self.posterior, self.draws, rows)
        for place in np.argsort(-worth, kind="stable"):
            a, b = int(rows[first[place]]), int(rows[second[place]])
            if self._may_ask(a, b):
                return Decision(b, a, bound) if b == best else Decision(a, b, bound)
        return Decision(best, None, bound)

    def _may_ask(self, first: int, second: int) -> bool:
        """Return whether a pair is new, or answers are so noisy that asking again makes sense."""
        pair = frozenset((first, second))
        if pair in self.barred:
            return False
        return pair not in self._answered or self.posterior.noisy > 0.5

    def _bound(self) -> float:
        """Scale the loss so that the greatest to be feared beforehand is 2 S."""
        draws = self.draws
        if self._sampler is None or len(draws[0]) < 2:
            return 0.0
        return float(min(self.standing.worst / self._sampler.reach, 1.0) * 2.0 * self.norm_bound)
