"""What the peers with a posterior over linear utilities have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.checks import is_finite
from useralign.errors import OptionError
from useralign.methods.base import NORM_BOUND, Decision, Method, Run
from useralign.methods.peers.posterior import Posterior, posterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPREAD = 3.0  # one answer in eight against a usual difference, were a person to err


class LinearRun(Run):
    """A run that keeps the answers, and makes the posterior when it is asked for.

    Parameters
    ----------
    features : ndarray, shape (K, d)
    seed : int
    spread : float
        See `posterior`.
    """

    def __init__(self, features: NDArray[np.float64], seed: int, spread: float) -> None:
        super().__init__(features, seed, NORM_BOUND)
        self.spread = spread
        self.answers: list[tuple[int, int]] = []
        self._posterior: Posterior | None = None

    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison."""
        self.answers.append((winner, first + second - winner))
        self._posterior = None

    def posterior(self) -> Posterior:
        """Return what is known of the utilities."""
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
        """Choose a pair that may be asked.

        Parameters
        ----------
        open_ : ndarray of bool, shape (K, K)
            Symmetric, with at least one pair; nobody meets themselves.
        """

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
    run: ClassVar[type[LinearRun]]

    def __init__(self, *, spread: float = SPREAD) -> None:
        if not is_finite(spread) or not 0.0 < spread <= 1e3:
            raise OptionError(
                f"spread must be above 0 and at most 1000, got {spread!r}; the default is {SPREAD}"
            )
        self.spread = float(spread)

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> Run:
        """Begin on a pool; see `Method.start`."""
        return self.run(features, seed, self.spread)

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        return {"spread": self.spread}
