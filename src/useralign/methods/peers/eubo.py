"""Preferential Bayesian optimisation over the pool: EUBO on a pairwise Gaussian process.

Lin, Astudillo, Frazier and Bakshy, "Preference exploration for efficient Bayesian optimization with
multiple outcomes" (AISTATS 2022): ask the pair whose better one has the highest expected utility.
The model is the Gaussian process on pairs of Chu and Ghahramani, "Preference learning with Gaussian
processes" (ICML 2005). Both are BoTorch's, with its own kernel and hyperparameters fitted after
each answer; BoTorch comes with the extra `botorch`.
"""

from __future__ import annotations

import contextlib
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.extras import require_extra
from useralign.methods.base import Decision, Method, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class _EuboRun(Run):
    """EUBO on one pool: a model of the answers so far, fitted when it is needed."""

    def __init__(self, features: NDArray[np.float64], seed: int, norm_bound: float) -> None:
        super().__init__(features, seed, norm_bound)
        self.answers: list[tuple[int, int]] = []
        self._means: NDArray[np.float64] | None = None
        self._model: Any = None

    def add(self, first: int, second: int, winner: int) -> None:
        self.answers.append((winner, first + second - winner))
        self._means = self._model = None

    def decide(self) -> Decision:
        pairs = self._pairs()
        if not len(pairs):
            bound = self.norm_bound if len(self.features) > 1 else 0.0
            return Decision(self.best(), None, bound)
        if not self.answers:  # all pairs are alike but for the one that is recommended
            best = self.best()
            with_best = pairs[(pairs == best).any(axis=1)]
            options = with_best if len(with_best) else pairs
            pair = options[int(self.generator(0, purpose=1).integers(len(options)))]
        else:
            pair = pairs[int(_utility_of_best(self._fitted(), self.features, pairs).argmax())]
        scores = self.scores()
        first, second = sorted((int(k) for k in pair), key=lambda k: -scores[k])
        return Decision(first, second, self.norm_bound)

    def scores(self) -> NDArray[np.float64]:
        """Return the posterior means, shape (K,)."""
        if self._means is None:
            if self.answers:
                self._means = _posterior_means(self._fitted(), self.features)
            else:
                self._means = np.zeros(len(self.features))
        return self._means

    def _fitted(self) -> Any:
        if self._model is None:
            self._model = _fit(self.features, self.answers)
        return self._model

    def _pairs(self) -> NDArray[np.intp]:
        """Return the pairs that may be asked: those without an answer, while there are any."""
        count = len(self.features)
        answered = {frozenset(pair) for pair in self.answers}
        every = [(i, j) for i in range(count) for j in range(i + 1, count)]
        for closed in (self.barred | answered, self.barred):
            pairs = [pair for pair in every if frozenset(pair) not in closed]
            if pairs:
                break
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)


class Eubo(Method):
    """Preferential Bayesian optimisation with BoTorch. It certifies nothing: give a budget.

    Raises MissingExtraError if BoTorch is not installed.
    """

    name: ClassVar[str] = "eubo"
    stops: ClassVar[bool] = False
    run: ClassVar[type[Run]] = _EuboRun

    def __init__(self) -> None:
        require_extra(["botorch"], "the method eubo", "botorch")


def _fit(features: NDArray[np.float64], answers: list[tuple[int, int]]) -> Any:
    """Return a pairwise Gaussian process, with default hyperparameters if none can be fitted.

    The fit fails now and then on few answers, which any hyperparameters explain.
    """
    with _quiet() as torch:
        errors = import_module("botorch.exceptions.errors")
        pairwise = import_module("botorch.models.pairwise_gp")
        points, pairs = torch.tensor(features), torch.tensor(answers)
        model = pairwise.PairwiseGP(points, pairs)
        evidence = pairwise.PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model)
        try:
            import_module("botorch.fit").fit_gpytorch_mll(evidence)
        except errors.ModelFittingError:
            model = pairwise.PairwiseGP(points, pairs)
    return model


def _posterior_means(model: Any, features: NDArray[np.float64]) -> NDArray[np.float64]:
    with _quiet() as torch, torch.no_grad():
        means = model.posterior(torch.tensor(features)).mean
    return np.asarray(means.squeeze(-1).numpy())


def _utility_of_best(
    model: Any, features: NDArray[np.float64], pairs: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return EUBO of every pair, shape (n,)."""
    with _quiet() as torch, torch.no_grad():
        preference = import_module("botorch.acquisition.preference")
        acquisition = preference.AnalyticExpectedUtilityOfBestOption(pref_model=model)
        return np.asarray(acquisition(torch.tensor(features[pairs])).numpy())


@contextlib.contextmanager
def _quiet() -> Iterator[Any]:
    """Yield torch with one thread, so that sums have one order, and without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = import_module("torch")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield torch
        finally:
            torch.set_num_threads(threads)
