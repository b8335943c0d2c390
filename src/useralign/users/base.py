"""What a simulated user is, `simulate`, which lets one answer a session, and the contract's check.

for answer in simulate(session, user):
    print(session.cost, session.best)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from useralign.answers import Comparison
from useralign.checks import promise
from useralign.errors import OptionError
from useralign.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import NDArray

    from useralign.answers import Answer
    from useralign.domains.questions import Question
    from useralign.pool import Candidate, Pool

Response = Literal["choice", "equal", "neither", "skip"]


class User(ABC):
    """A person to test with.

    The contract, which `useralign.testing.check_user` verifies:

    - `prefers` returns the probability that the first of two candidates is chosen; the other way
      round it returns the rest, but for two that are equal to the user.
    - `choose` returns one of the two, drawn by that probability with the user's own generator, so
      that a user made alike and asked the same in the same order answers alike.
    - `pick` and `rank` answer a comparison of more by choosing between two at a time.
    - `knows` returns beforehand whether the user can answer; most always can.
    - `response` returns what kind of answer the user gives; mostly a choice.

    A user that experiments can name in their plans also has `roster` and `enlist`.
    """

    @abstractmethod
    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is chosen over `second`."""

    @abstractmethod
    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison of two."""

    def pick(self, comparison: Comparison) -> Candidate:
        """Return the best of all candidates: the winner so far meets the next."""
        best = comparison.first
        for candidate in comparison.candidates[1:]:
            best = self.choose(Comparison(best, candidate, comparison.step, comparison.bound))
        return best

    def rank(self, comparison: Comparison) -> list[Candidate]:
        """Return all candidates, best first: each is put above the first that it beats."""
        order: list[Candidate] = []
        for candidate in comparison.candidates:
            position = 0
            for other in order:
                pair = Comparison(other, candidate, comparison.step, comparison.bound)
                if self.choose(pair) == candidate:
                    break
                position += 1
            order.insert(position, candidate)
        return order

    def knows(self, first: Candidate, second: Candidate) -> bool:  # noqa: ARG002
        """Return whether the user can say which of the two is better."""
        return True

    def response(self, comparison: Comparison) -> Response:
        """Return the kind of answer: a skip where the user does not know a pair, else a choice.

        A user who finds candidates equal, or rejects all of them, overrides this.
        """
        knows_all = all(self.knows(*pair) for pair in combinations(comparison.candidates, 2))
        return "choice" if knows_all else "skip"

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
        """Return the names of the first `count` users of this kind for a question of a domain.

        No two kinds give the same name.
        """
        raise OptionError(f"{cls.__name__} cannot be used in a plan: it has no roster of users")

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Build the user of that name.

        Parameters
        ----------
        question : Question
        pool : Pool
            The question's pool, of any style.
        name : str
            One that `roster` returned.
        taste : int
            Seed of what people like who ask this question; together with the name it decides
            the user's taste.
        seed : int
            Seed of what is random in the answers.
        """
        raise OptionError(f"{cls.__name__} cannot be used in a plan: it has no roster of users")


def simulate(session: Session, user: User, *, rank: bool = False) -> Iterator[Answer]:
    """Let a user answer a session to its end, and yield each answer once the session has it.

    A comparison that the user cannot answer is skipped, which costs nothing; the skip is yielded
    too. Between two answers the caller may read the session, extend or stop it.

    Parameters
    ----------
    session : Session
    user : User
    rank : bool
        Whether the user ranks all candidates of a comparison, instead of taking the best.

    Examples
    --------
    >>> import useralign as ua
    >>> from useralign.users import RankedPersona
    >>> pool = ua.Pool("Which?", ["plain", "hot", "sweet"], [[0, 0], [1, 0], [0, 1]])
    >>> session = ua.Session(pool)
    >>> for answer in ua.simulate(session, RankedPersona(["1", "2", "0"])):
    ...     best = session.best
    >>> best.text
    'hot'
    """
    while (comparison := session.ask()) is not None:
        response = user.response(comparison)
        if response == "skip":
            session.skip()
        elif response == "equal":
            session.equal()
        elif response == "neither":
            session.neither()
        elif rank:
            session.rank(user.rank(comparison))
        else:
            session.tell(user.pick(comparison))
        yield session.answers[-1]


def converse(session: Session, user: User, *, rank: bool = False) -> Session:
    """Run `simulate` to its end, and return the session."""
    for _ in simulate(session, user, rank=rank):
        pass
    return session


def text_of(candidate: Candidate, purpose: str) -> str:
    """Return a candidate's text; raise OptionError, naming the purpose, if it has none."""
    if not candidate.text.strip():
        raise OptionError(
            f"candidate {candidate.label} has no text {purpose}; pictures need one that says what "
            "they show"
        )
    return candidate.text


def check_user(user: User, pool: Pool, *, seed: int = 5) -> None:
    """Raise AssertionError, with the promise that is broken, if a user breaks its contract.

    Parameters
    ----------
    user : User
    pool : Pool
        At least two candidates that the user can compare.
    seed : int
        Of the session that the user is put through.
    """
    pairs = list(combinations(pool, 2))
    for first, second in pairs:
        same = user.knows(first, second) == user.knows(second, first)
        promise(same, "knows() is the same in both orders")
        if user.knows(first, second):
            _check_pair(user, first, second)
    promise(any(user.knows(*pair) for pair in pairs), "the user knows at least one pair")
    promise(user.worth(pool).shape == (len(pool),), "worth() has one number per candidate")
    baseline = pool.baseline
    if baseline is not None and user.knows(pool[0], baseline):
        rate = user.win_rate(pool[0], baseline)
        promise(0.0 <= rate <= 1.0, "win_rate() is a probability")
    for per_screen, rank in ((3, False), (4, True)):
        session = Session(pool, seed=seed, budget=4 * len(pool), per_screen=per_screen)
        ended = converse(session, user, rank=rank).finished
        promise(ended, f"a session with {per_screen} candidates per screen ends")
    session = converse(Session(pool, seed=seed, budget=4 * len(pool), reask=True), user)
    promise(session.finished, "a session comes to its end")


def _check_pair(user: User, first: Candidate, second: Candidate) -> None:
    one, other = user.prefers(first, second), user.prefers(second, first)
    promise(0.0 <= one <= 1.0, "prefers() is a probability")
    rest = math.isclose(one + other, 1.0, abs_tol=1e-9)
    promise(rest or one == other, "prefers() the other way round is the rest, or a tie")
    promise(one == user.prefers(first, second), "prefers() does not change by asking")
    winner = user.choose(Comparison(first, second, 0, 0.0))
    promise(winner in (first, second), "choose() returns one of the two")
    if rest and one in (0.0, 1.0):
        promise(winner == (first if one else second), "choose() follows prefers()")
