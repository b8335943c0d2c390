"""A user who slips: now and then the wrong one of the two is clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.checks import is_finite, whole
from useralign.errors import OptionError
from useralign.users.base import User

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.answers import Comparison
    from useralign.pool import Candidate, Pool


class Erring(User):
    """Another user with slips of the hand: a share of the answers is turned round.

    A slip depends on nothing, neither on the pair nor on how clear the preference is. What the user
    likes is untouched by it, so `worth` and `win_rate` are those of the other user.

    Parameters
    ----------
    user : User
        Who would answer without slips.
    rate : float
        The share of answers that are turned round, from 0 to 0.5.
    seed : int
        For the slips.

    Raises
    ------
    OptionError
        If the rate is out of its range.
    """

    def __init__(self, user: User, rate: float, *, seed: int = 0) -> None:
        if not is_finite(rate) or not 0.0 <= rate <= 0.5:
            raise OptionError(
                f"rate must be a number from 0 to 0.5, where answers say nothing; got {rate!r}"
            )
        self.user = user
        self.rate = float(rate)
        self.generator = np.random.default_rng([whole("seed", seed, least=0), 13])

    def __repr__(self) -> str:
        return f"Erring({self.user!r}, {self.rate:g})"

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is clicked."""
        meant = self.user.prefers(first, second)
        return (1.0 - self.rate) * meant + self.rate * (1.0 - meant)

    def choose(self, pair: Comparison) -> Candidate:
        """Return the candidate that is clicked."""
        meant = self.user.choose(pair)
        slips = self.generator.random() < self.rate
        other = pair.second if meant == pair.first else pair.first
        return other if slips else meant

    def knows(self, first: Candidate, second: Candidate) -> bool:
        """Return whether the other user can say which of the two is better."""
        return self.user.knows(first, second)

    def win_rate(self, candidate: Candidate, baseline: Candidate) -> float:
        """Return p_u[candidate > baseline] of the other user."""
        return self.user.win_rate(candidate, baseline)

    def worth(self, pool: Pool) -> NDArray[np.float64]:
        """Return what each candidate is worth to the other user, shape (K,)."""
        return self.user.worth(pool)
