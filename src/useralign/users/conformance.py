"""The contract of a user as a check that the author of a plug-in can run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from useralign.answers import Comparison
from useralign.session import Session
from useralign.users.base import converse

if TYPE_CHECKING:
    from useralign.pool import Candidate, Pool
    from useralign.users.base import User


def check_user(user: User, pool: Pool, *, seed: int = 5) -> None:
    """Raise AssertionError, saying which promise is broken, if a user breaks its contract.

    Parameters
    ----------
    user : User
    pool : Pool
        At least two candidates that the user can compare.
    seed : int
        Of the session that the user is put through.
    """
    known = 0
    for i, first in enumerate(pool):
        for second in list(pool)[:i]:
            _promise(
                user.knows(first, second) == user.knows(second, first),
                "knows() is the same in both orders",
            )
            if user.knows(first, second):
                known += 1
                _check_pair(user, first, second)
    _promise(known > 0, "the user knows at least one pair of the pool")
    _promise(user.worth(pool).shape == (len(pool),), "worth() has one number a candidate")
    baseline = pool.baseline
    if baseline is not None and user.knows(pool[0], baseline):
        rate = user.win_rate(pool[0], baseline)
        _promise(0.0 <= rate <= 1.0, "win_rate() is a probability")
    for shown, rank in ((3, False), (4, True)):
        several = Session(pool, seed=seed, budget=4 * len(pool), shown=shown)
        _promise(converse(several, user, rank=rank).finished, f"a session that shows {shown} ends")
    session = converse(Session(pool, seed=seed, budget=4 * len(pool), reask=True), user)
    _promise(session.finished, "a session comes to its end")


def _check_pair(user: User, first: Candidate, second: Candidate) -> None:
    one, other = user.prefers(first, second), user.prefers(second, first)
    _promise(0.0 <= one <= 1.0, "prefers() is a probability")
    rest = math.isclose(one + other, 1.0, abs_tol=1e-9)
    _promise(rest or one == other, "prefers() the other way round is the rest, or a tie")
    _promise(one == user.prefers(first, second), "prefers() does not change by asking")
    chosen = user.choose(Comparison(first, second, 0, 0.0))
    _promise(chosen in (first, second), "choose() returns one of the two")
    if rest and one in (0.0, 1.0):
        _promise(chosen == (first if one else second), "choose() follows prefers()")


def _promise(kept: bool, what: str) -> None:
    if not kept:
        raise AssertionError(f"broken promise: {what}")
