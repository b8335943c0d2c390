"""Whom a method is tried on: a pool, somebody to answer, and what the answers are worth to them.

There are three sources. Personas of the shipped domains; synthetic pools with tastes that are known
exactly, and tastes that features do not explain; and recorded people.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from useralign import domains
from useralign.domains import synthetic
from useralign.errors import OptionError
from useralign.lab.cells import pool_of, seed_of
from useralign.pool import Candidate, Pool
from useralign.users import BTL, Consistent, Erring, RankedPersona

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.users import User

DOMAINS = ("food64d", "travel64d", "visual512d", "dsp64d")
SYNTHETIC = {"synthetic64d": (20, 64), "synthetic512d": (40, 512), "synthetic2d": (20, 2)}
USERS = ("consistent", "btl", "flip10", "flip20", "unexplained", "ranking")
_RATES = {"flip10": 0.1, "flip20": 0.2}
_NORM = 3.0  # S, the length of a synthetic preference vector


@dataclass(frozen=True, slots=True)
class Case:
    """Somebody with a pool.

    Parameters
    ----------
    pool : Pool
    worth : ndarray, shape (K,)
        What each candidate is worth to the person.
    wins : ndarray, shape (K,)
        The win-rate of each against the baseline.
    user : callable
        Makes the person anew, as they were before any answer.
    """

    pool: Pool
    worth: NDArray[np.float64]
    wins: NDArray[np.float64]
    user: Callable[[], User]

    @property
    def regret(self) -> NDArray[np.float64]:
        """How much worse than the best each is: 0 for the best, 1 for the worst, shape (K,)."""
        span = float(np.ptp(self.worth))
        return np.asarray((self.worth.max() - self.worth) / span if span else 0.0 * self.worth)


@lru_cache(maxsize=64)
def persona_case(domain: str, question: str, persona: str, embedder: str) -> Case:
    """Return a persona of a domain, who answers by their ranking."""
    pool = pool_of(domain, "mixed", question, embedder)
    person = RankedPersona(domains.load(domain).question(question).persona(persona))
    return _case(pool, lambda: person)


@lru_cache(maxsize=64)
def synthetic_case(name: str, users: str, number: int, seed: int) -> Case:
    """Return a synthetic person.

    Parameters
    ----------
    name : str
        One of `SYNTHETIC`.
    users : str
        One of `USERS`. Those with a preference vector have the same one, whatever their kind:
        `consistent`, `btl`, and consistent ones with 10 or 20% of slips. `unexplained` has
        utilities that were drawn apart from the features, `ranking` a ranking at random.
    number : int
        Which pool, from 0.
    seed : int
        Of everything.
    """
    pool = _synthetic_pool(name, number, seed)
    draw = np.random.default_rng(seed_of("taste", name, number, seed))
    if users in ("unexplained", "ranking"):
        return _unexplained(pool, users, draw)
    theta = draw.normal(size=pool.dimension)
    theta *= _NORM / np.linalg.norm(theta)
    answers = seed_of("answers", name, users, number, seed)

    def person() -> User:
        kind = BTL if users == "btl" else Consistent
        user = kind(pool, theta, seed=answers)
        return Erring(user, _RATES[users], seed=answers) if users in _RATES else user

    return _case(pool, person)


def _synthetic_pool(name: str, number: int, seed: int) -> Pool:
    """Draw candidates and a baseline: directions at random, in the plane points of a disc."""
    count, dimension = SYNTHETIC[name]
    place = seed_of("pool", name, number, seed)
    if dimension == synthetic.DIMENSION:
        points = synthetic.pool(place, count + 1).features
    else:
        points = np.random.default_rng(place).normal(size=(count + 1, dimension))
        points /= 2.0 * np.linalg.norm(points, axis=1, keepdims=True)
    return Pool(
        f"{name}, pool {number}",
        None,
        points[:-1],
        Candidate(id="baseline"),
        normalise="none",
        baseline_features=points[-1],
    )


def _unexplained(pool: Pool, users: str, draw: np.random.Generator) -> Case:
    """Return somebody whose taste has nothing to do with the features."""
    worth = draw.normal(size=len(pool) + 1)
    if users == "ranking":
        worth = np.argsort(np.argsort(draw.normal(size=len(worth)))).astype(np.float64)
    labels = [candidate.label for candidate in pool] + ["baseline"]
    person = RankedPersona([labels[int(k)] for k in np.argsort(-worth)])
    wins = (worth[:-1] > worth[-1]).astype(np.float64)
    return Case(pool, worth[:-1], wins, lambda: person)


def _case(pool: Pool, user: Callable[[], User]) -> Case:
    person = user()
    if pool.baseline is None:
        raise OptionError(f"{pool.question!r} has no baseline to measure win-rates against")
    wins = [person.win_rate(candidate, pool.baseline) for candidate in pool]
    return Case(pool, person.worth(pool), np.array(wins), user)
