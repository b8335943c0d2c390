"""How good the recommendation is on the way of a session: what several benchmarks print."""

from __future__ import annotations

from itertools import chain, islice

import numpy as np

import useralign as ua


def course(
    session: ua.Session, user: ua.User, *, most: int = 10**6, rank: bool = False
) -> list[float]:
    """Return the share of the pool that the recommended candidate is as good as, by answers.

    The first is that before any answer; `most` is how many answers are given at the most.
    """
    worth = user.worth(session.pool)
    answers = islice(ua.simulate(session, user, rank=rank), most)
    return [float(np.mean(worth <= worth[session.best.index])) for _ in chain([None], answers)]
