"""What a simulated user is: someone who can say which of two candidates is better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from useralign.pool import Candidate
    from useralign.session import Comparison, Session


class User(ABC):
    """A person to test with.

    The contract: `prefers` gives the probability that the first of two candidates is chosen, and
    `choose` draws from it with the user's own generator, so the same user asked the same
    questions in the same order answers alike.
    """

    @abstractmethod
    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is chosen over `second`."""

    @abstractmethod
    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison."""

    def win_rate(self, candidate: Candidate, baseline: Candidate) -> float:
        """Return p_u[candidate > baseline], the paper's win-rate (section 3)."""
        return self.prefers(candidate, baseline)


def converse(session: Session, user: User) -> Session:
    """Let a user answer until the session is over; returns the session."""
    while (pair := session.ask()) is not None:
        session.tell(user.choose(pair))
    return session
