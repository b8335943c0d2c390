"""Methods with a Gaussian posterior over linear utilities: Thompson and uncertainty sampling.

The posterior is Laplace's approximation. The prior is theta ~ N(0, s^2 I), an answer has the
logistic likelihood of the Bradley-Terry-Luce model. The mode and the covariance follow Rasmussen
and Williams, "Gaussian Processes for Machine Learning" (2006), Algorithms 3.1 and 3.2, with one
latent value per answer: the utility of the winner minus that of the loser. So the cost grows with
the number of answers, not with d. Samples are drawn by Matheron's rule: a draw from the prior,
corrected by what it gets wrong.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.checks import is_finite
from useralign.errors import OptionError
from useralign.methods.base import Decision, Method, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SPREAD = 3.0  # one answer in eight against a usual difference, were a person to err
_ROUNDS = 60
_TOLERANCE = 1e-10
_DRAWS = 100  # after which the challenger is the runner-up of the last draw
_REACH = 1.645  # standard deviations that leave 5% beyond
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class LaplacePosterior:
    """The posterior of the utilities; `posterior` computes it."""

    features: NDArray[np.float64]  # shape (K, d)
    variance: float  # s^2, of each entry of theta
    rows: NDArray[np.float64]  # shape (t, d); winner minus loser, one row per answer
    mean: NDArray[np.float64]  # shape (K,); the utilities at the mode
    root: NDArray[np.float64]  # shape (t,); square roots of the likelihood's curvatures
    inverse: NDArray[np.float64]  # shape (t, t); of the matrix B of the book's Equation 3.26

    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance of the utilities, shape (K, K)."""
        across = self.variance * (self.features @ self.rows.T) * self.root
        prior = self.variance * (self.features @ self.features.T)
        return np.asarray(prior - across @ self.inverse @ across.T)

    def differences(self) -> NDArray[np.float64]:
        """Return the variance of the difference of every two utilities, shape (K, K)."""
        covariance = self.covariance()
        own = np.diag(covariance)
        return np.asarray(np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0))

    def sample(self, draw: np.random.Generator) -> NDArray[np.float64]:
        """Draw utilities, shape (K,)."""
        theta = draw.normal(size=self.features.shape[1]) * np.sqrt(self.variance)
        wrong = self.root * (self.rows @ theta) + draw.normal(size=len(self.root))
        across = self.variance * (self.features @ self.rows.T) * self.root
        return np.asarray(self.mean + self.features @ theta - across @ (self.inverse @ wrong))


def posterior(
    features: NDArray[np.float64], answers: Sequence[tuple[int, int]], spread: float
) -> LaplacePosterior:
    """Fit the posterior.

    Features have shape (K, d). The spread is the prior's standard deviation of the difference
    between two utilities, on average over the pool, in logits: how sure of their taste people are.
    """
    variance = _variance(features, spread)
    pairs = np.array(answers, dtype=np.intp).reshape(-1, 2)
    rows = features[pairs[:, 0]] - features[pairs[:, 1]]
    gram = variance * (rows @ rows.T)
    slope, root, inverse = _mode(gram)
    mean = variance * (features @ (rows.T @ slope))
    return LaplacePosterior(features, variance, rows, mean, root, inverse)


def _variance(features: NDArray[np.float64], spread: float) -> float:
    """Return s^2: the spread over the mean squared distance of two candidates."""
    centred = features - features.mean(axis=0)
    squared = 2.0 * float((centred**2).sum()) / max(len(features) - 1, 1)
    return spread**2 / squared if squared > 0 else spread**2


def _mode(
    gram: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Find the mode by Newton's method with halved steps; return slopes, roots and B inverse."""
    count = len(gram)
    weight = np.zeros(count)  # the latent values are gram @ weight
    value = _objective(gram, weight)
    for _ in range(_ROUNDS):
        slope, root, inverse = _curvature(gram, weight)
        target = root**2 * (gram @ weight) + slope
        step = target - root * (inverse @ (root * (gram @ target))) - weight
        size = 1.0
        while _objective(gram, weight + size * step) < value and size > 1e-8:
            size /= 2.0
        weight = weight + size * step
        before, value = value, _objective(gram, weight)
        if value - before <= _TOLERANCE * (1.0 + abs(value)):
            break
    slope, root, inverse = _curvature(gram, weight)
    return slope, root, inverse


def _curvature(
    gram: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the likelihood's slopes, the roots of its curvatures, and B inverse."""
    wrong = 0.5 * (1.0 - np.tanh(0.5 * (gram @ weight)))  # the chance of the other answer
    root = np.sqrt(wrong * (1.0 - wrong))
    matrix = np.eye(len(gram)) + root[:, None] * gram * root
    return wrong, root, np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _objective(gram: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the logarithm of the posterior, up to a constant."""
    latent = gram @ weight
    return float(-np.logaddexp(0.0, -latent).sum() - 0.5 * weight @ latent)


class LinearRun(Run):
    """A run that keeps the answers, and computes the posterior when it is needed."""

    def __init__(
        self, features: NDArray[np.float64], seed: int, norm_bound: float, spread: float
    ) -> None:
        super().__init__(features, seed, norm_bound)
        self.spread = spread
        self.answers: list[tuple[int, int]] = []
        self._posterior: LaplacePosterior | None = None

    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison."""
        self.answers.append((winner, first + second - winner))
        self._posterior = None

    def posterior(self) -> LaplacePosterior:
        """Return the posterior of the utilities."""
        if self._posterior is None:
            self._posterior = posterior(self.features, self.answers, self.spread)
        return self._posterior

    def scores(self) -> NDArray[np.float64]:
        """Return the utilities at the posterior's mode, shape (K,)."""
        return self.posterior().mean

    def decide(self) -> Decision:
        """Decide on the next pair: one that was not answered while there is any."""
        answered = {frozenset(pair) for pair in self.answers}
        for closed in (self.barred | answered, self.barred):
            open_ = self._open(closed)
            if open_.any():
                return Decision(*self.choose(open_), self.norm_bound)
        return Decision(self.best(), None, self.norm_bound if len(self.features) > 1 else 0.0)

    @abstractmethod
    def choose(self, open_: NDArray[np.bool_]) -> tuple[int, int]:
        """Select a pair of those in `open_`, symmetric, shape (K, K), with at least one pair."""

    def _open(self, closed: set[frozenset[int]]) -> NDArray[np.bool_]:
        open_ = ~np.eye(len(self.features), dtype=bool)
        for one, other in (tuple(pair) for pair in closed):
            open_[one, other] = open_[other, one] = False
        return open_


class LinearMethod(Method):
    """A method with a posterior over linear utilities. It certifies nothing: give a budget.

    Parameters
    ----------
    spread : float
        The prior's standard deviation of the difference between two utilities, in logits: how sure
        of their taste people are.
    """

    stops: ClassVar[bool] = False

    def __init__(self, *, spread: float = SPREAD) -> None:
        if not is_finite(spread) or not 0.0 < spread <= 1e3:
            raise OptionError(
                f"spread must be above 0 and at most 1000, got {spread!r}; the default is {SPREAD}"
            )
        self.spread = float(spread)

    def run_options(self) -> dict[str, Any]:
        """Return the spread; see `Method.run_options`."""
        return {"spread": self.spread}


class _ThompsonRun(LinearRun):
    """Top-two Thompson sampling on one pool."""

    def choose(self, open_: NDArray[np.bool_]) -> tuple[int, int]:
        belief, random = self.posterior(), self.generator(len(self.answers), purpose=1)
        candidates = np.asarray(open_.any(axis=1))
        leader = _best(belief.sample(random), candidates)
        rivals = open_[leader]
        for _ in range(_DRAWS):
            sample = belief.sample(random)
            challenger = _best(sample, candidates)
            if rivals[challenger]:
                return leader, challenger
        return leader, _best(sample, rivals)


def _best(utilities: NDArray[np.float64], among: NDArray[np.bool_]) -> int:
    return int(np.where(among, utilities, -np.inf).argmax())


class Thompson(LinearMethod):
    """Top-two Thompson sampling; parameters as for `LinearMethod`.

    Russo, "Simple Bayesian algorithms for best-arm identification" (Operations Research 68, 2020):
    draw utilities from the posterior, take the best candidate of the draw as leader, and draw again
    until another one is best, the challenger. Here the two meet in one comparison, as in dueling
    posterior sampling (Novoseller and others, UAI 2020), instead of one of them being played.
    """

    name: ClassVar[str] = "thompson"
    run: ClassVar[type[Run]] = _ThompsonRun


class _UncertaintyRun(LinearRun):
    """Uncertainty sampling on one pool."""

    def possible(self) -> NDArray[np.bool_]:
        belief, best = self.posterior(), self.best()
        reach = belief.mean + _REACH * np.sqrt(belief.differences()[best])
        return np.asarray(reach >= belief.mean[best])

    def choose(self, open_: NDArray[np.bool_]) -> tuple[int, int]:
        plausible = self.possible()
        among = open_ & plausible[:, None] & plausible[None, :]
        if not among.any():
            among = open_
        belief = self.posterior()
        variance = belief.differences()
        gaps = np.abs(belief.mean[:, None] - belief.mean[None, :])
        doubt = gaps / np.sqrt(1.0 + np.pi / 8.0 * variance)
        doubt[~among] = np.inf
        equal = doubt <= doubt.min() + _EQUAL
        pair = np.unravel_index(np.argmax(np.where(equal, variance, -1.0)), open_.shape)
        first, second = sorted((int(k) for k in pair), key=lambda k: -belief.mean[k])
        return first, second


class Uncertainty(LinearMethod):
    """Uncertainty sampling over pairs; parameters as for `LinearMethod`.

    Lewis and Gale, "A sequential algorithm for training text classifiers" (SIGIR 1994), on pairs:
    the outcome of a pair is predicted by the posterior, with MacKay's moderated output ("The
    evidence framework applied to classification networks", Neural Computation 4, 1992), and the
    prediction nearest to one half is asked. Of pairs that are equally uncertain the one with the
    largest posterior variance is taken. Plausible is a candidate that beats the favourite with a
    probability of at least 5%.
    """

    name: ClassVar[str] = "uncertainty"
    run: ClassVar[type[Run]] = _UncertaintyRun
