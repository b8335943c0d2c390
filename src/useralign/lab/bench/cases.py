"""The cases of a comparison: a pool, a user, and what each candidate is worth to them.

There are three sources. Personas of the shipped domains; synthetic pools with tastes that are known
exactly, and tastes that features do not explain; and recorded people, whose ratings, or else whose
answers, say what an item is worth, and whose baseline is what everybody else likes best.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign import domains
from useralign.domains import synthetic
from useralign.errors import OptionError
from useralign.lab.cell import baseline_of, pool_of, seed_of
from useralign.pool import Candidate, Pool
from useralign.users import BTL, Consistent, Erring, People, RankedPersona, RecordedPerson

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.answers import Comparison
    from useralign.users import User
    from useralign.users.base import Response

DOMAINS = ("food64d", "travel64d", "visual512d", "dsp64d")
SYNTHETIC = {"synthetic64d": (20, 64), "synthetic512d": (40, 512), "synthetic2d": (20, 2)}
USERS = ("consistent", "btl", "flip10", "flip20", "unexplained", "ranking")
_RATES = {"flip10": 0.1, "flip20": 0.2}
# How the personas of domains answer: by their ranking, with slips, by a coin, or "all equal".
PERSONAS = {"persona": 0.0, "slip05": 0.05, "slip10": 0.1, "coin": 0.5, "indifferent": None}
_NORM = 3.0  # S, the length of a synthetic preference vector
_QUESTION = "Which do you like better?"  # to recorded people


@dataclass(frozen=True, slots=True)
class Case:
    """Somebody with a pool."""

    pool: Pool
    worth: NDArray[np.float64]  # shape (K,); what each candidate is worth to the person
    wins: NDArray[np.float64]  # shape (K,); the win-rate of each against the baseline
    user: Callable[[], User]  # builds the person anew, as they were before any answer

    @property
    def regret(self) -> NDArray[np.float64]:
        """How much worse than the best each is: 0 for the best, 1 for the worst, shape (K,)."""
        span = float(np.ptp(self.worth))
        return np.asarray((self.worth.max() - self.worth) / span if span else 0.0 * self.worth)


class _Indifferent(Erring):
    """Somebody who calls every screen equal."""

    def response(self, comparison: Comparison) -> Response:  # noqa: ARG002
        return "equal"


def answering(case: Case, kind: str, seed: int) -> Case:
    """Return a persona's case with another way to answer, one of `PERSONAS`."""
    rate = PERSONAS[kind]
    if rate is None:
        return replace(case, user=lambda: _Indifferent(case.user(), 0.0))
    return replace(case, user=lambda: Erring(case.user(), rate, seed=seed)) if rate else case


@lru_cache(maxsize=64)
def persona_case(domain: str, question: str, persona: str, embedder: str) -> Case:
    """Return a persona of a domain, who answers by their ranking."""
    pool = pool_of(domain, "mixed", question, embedder)
    person = RankedPersona(domains.load(domain).question(question).persona(persona))
    return _case(pool, lambda: person)


@lru_cache(maxsize=64)
def synthetic_case(name: str, users: str, number: int, seed: int) -> Case:
    """Return a synthetic person.

    Users with a preference vector have the same one whatever their kind: `consistent`, `btl`, and
    consistent ones with 10 or 20% of slips. `unexplained` has utilities that were drawn apart from
    the features, `ranking` a ranking at random. `number` is which pool, from 0.
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


@lru_cache(maxsize=2)
def people_of(folder: str) -> People:
    """Read a folder of records, once per process."""
    return People.read(folder)


def fingerprint(folder: str | Path) -> str:
    """Return a hash of the files of a folder of records."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.*")):
        if path.stem in ("items", "answers", "ratings"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def usable_people(folder: str) -> list[str]:
    """Return everybody who can be asked at least one pair, and does not like all items alike.

    Raises OptionError if there is nobody.
    """
    people = people_of(folder)
    names = []
    for name in people.names:
        items = people.judged_by(name)
        if len(items) > 1 and np.ptp(_worth(people.person(name), items)) > 0:
            names.append(name)
    if not names:
        raise OptionError(
            f"{folder}: nobody there prefers one item to another; a person needs two items with "
            "different ratings, or one answer"
        )
    return names


@lru_cache(maxsize=64)
def recorded_case(folder: str, name: str, seed: int) -> Case:
    """Return a recorded person and the items they judged; the seed settles what they call equal."""
    people = people_of(folder)
    items = people.judged_by(name)
    pool = people.pool(_QUESTION, person=name)
    worth = _worth(people.person(name), items)
    baseline = items.index(_favourite(people.without(name), items))
    wins = (1.0 + np.sign(worth - worth[baseline])) / 2.0
    return Case(pool, worth, wins, lambda: people.person(name, seed=seed))


def _synthetic_pool(name: str, number: int, seed: int) -> Pool:
    """Draw candidates and a baseline: directions at random, in the plane points of a disc."""
    count, dimension = SYNTHETIC[name]
    pool_seed = seed_of("pool", name, number, seed)
    if dimension == synthetic.DIMENSION:
        points = synthetic.pool(pool_seed, count + 1).features
    else:
        points = np.random.default_rng(pool_seed).normal(size=(count + 1, dimension))
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
    person, baseline = user(), baseline_of(pool)
    wins = [person.win_rate(candidate, baseline) for candidate in pool]
    return Case(pool, person.worth(pool), np.array(wins), user)


def _worth(person: RecordedPerson, items: list[str]) -> NDArray[np.float64]:
    """Return the ratings; without any, the share of comparisons won; shape (K,)."""
    if person.ratings:
        return np.array([person.ratings[ident] for ident in items])
    shares = person.shares()
    return np.array([shares[ident] for ident in items])


def _favourite(others: People, items: list[str]) -> str:
    """Return the item that others rate highest, or else the one that wins most often."""
    votes: dict[str, list[float]] = {ident: [] for ident in items}
    for name in others.names:
        person = others.person(name)
        liked = _standardised(person.ratings) if person.ratings else person.shares()
        for ident in votes.keys() & liked.keys():
            votes[ident].append(liked[ident])
    means = [float(np.mean(votes[ident])) if votes[ident] else -np.inf for ident in items]
    return items[int(np.argmax(means))]


def _standardised(ratings: dict[str, float]) -> dict[str, float]:
    """Return ratings from 0, a person's lowest, to 1, their highest."""
    low, high = min(ratings.values()), max(ratings.values())
    return {ident: (value - low) / ((high - low) or 1.0) for ident, value in ratings.items()}
