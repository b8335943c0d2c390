"""What a simulated user is: someone who can say which of two candidates is better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from useralign.answers import Comparison
from useralign.errors import OptionError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from useralign.domains.questions import Question
    from useralign.pool import Candidate, Pool
    from useralign.session import Session


class User(ABC):
    """A person to test with.

    The contract, which `useralign.testing.check_user` verifies:

    - `prefers` gives the probability that the first of two candidates is chosen; the other way
      round it gives the rest, but for two that are equal to the user.
    - `choose` returns one of the two, drawn by that probability with the user's own generator, so
      that a user made alike and asked the same in the same order answers alike.
    - `pick` and `rank` answer a comparison of more by choosing between two at a time.
    - `knows` tells beforehand whether the user can answer; most always can.

    A user that experiments can name in their plans also has `roster` and `enlist`.
    """

    @abstractmethod
    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is chosen over `second`."""

    @abstractmethod
    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison of two."""

    def pick(self, comparison: Comparison) -> Candidate:
        """Return the best of all that are shown: the winner so far meets the next."""
        best = comparison.first
        for candidate in comparison.candidates[1:]:
            best = self.choose(Comparison(best, candidate, comparison.step, comparison.bound))
        return best

    def rank(self, comparison: Comparison) -> list[Candidate]:
        """Return all that are shown, best first: each is put above the first that it beats."""
        order: list[Candidate] = []
        for candidate in comparison.candidates:
            place = 0
            for other in order:
                pair = Comparison(other, candidate, comparison.step, comparison.bound)
                if self.choose(pair) == candidate:
                    break
                place += 1
            order.insert(place, candidate)
        return order

    def knows(self, first: Candidate, second: Candidate) -> bool:  # noqa: ARG002
        """Return whether the user can say which of the two is better."""
        return True

    def win_rate(self, candidate: Candidate, baseline: Candidate) -> float:
        """Return p_u[candidate > baseline], the paper's win-rate (section 3)."""
        return self.prefers(candidate, baseline)

    def worth(self, pool: Pool) -> NDArray[np.float64]:
        """Return what each candidate is worth to the user, shape (K,): what Oracle knows.

        Where a user has no utilities, it is how many of the others a candidate is expected to
        win against.
        """
        wins = np.zeros(len(pool))
        for i in range(len(pool)):
            for j in range(i):
                if self.knows(pool[i], pool[j]):
                    share = self.prefers(pool[i], pool[j])
                    wins[i] += share
                    wins[j] += 1.0 - share
        return wins

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:  # noqa: ARG003
        """Name the first `count` users of this kind for a question of a domain.

        No two kinds give the same name.
        """
        raise OptionError(f"{cls.__name__} cannot be used in a plan: it has no roster of users")

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Make the user of that name.

        Parameters
        ----------
        question : Question
        pool : Pool
            The question's pool, of any style.
        name : str
            One that `roster` gave.
        taste : int
            Seed of what people like who ask this question; together with the name it decides
            the user's taste.
        seed : int
            Seed of what is random in the answers.
        """
        raise OptionError(f"{cls.__name__} cannot be used in a plan: it has no roster of users")


def converse(session: Session, user: User, *, rank: bool = False) -> Session:
    """Let a user answer until the session is over; returns the session.

    A comparison that the user cannot answer is skipped, which costs nothing.

    Parameters
    ----------
    session : Session
    user : User
    rank : bool
        Whether the user ranks all that are shown, instead of taking the best.
    """
    while (asked := session.ask()) is not None:
        if not all(user.knows(*pair) for pair in combinations(asked.candidates, 2)):
            session.skip()
        elif rank:
            session.rank(user.rank(asked))
        else:
            session.tell(user.pick(asked))
    return session
