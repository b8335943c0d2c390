"""Recorded people as cases: their ratings, or else their answers, say what an item is worth.

The baseline, which personalisation must beat, is the item that everybody else likes best.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import OptionError
from useralign.lab.bench.cases import Case
from useralign.users import People, RecordedPerson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.pool import Pool

QUESTION = "Which do you like better?"


@lru_cache(maxsize=2)
def people_of(folder: str) -> People:
    """Read a folder of records, once a process."""
    return People.read(folder)


def fingerprint(folder: str | Path) -> str:
    """Return a hash of the files of a folder of records."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.*")):
        if path.stem in ("items", "answers", "ratings"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def usable_people(folder: str) -> list[str]:
    """Name everybody who can be asked at least one pair, and does not like all items alike.

    Raises
    ------
    OptionError
        If there is nobody.
    """
    people = people_of(folder)
    found = []
    for name in people.names:
        items = rated_or_compared(people, name)
        if len(items) > 1 and np.ptp(_worth(people.person(name), items)) > 0:
            found.append(name)
    if not found:
        raise OptionError(
            f"{folder}: nobody there prefers one item to another; a person needs two items with "
            "different ratings, or one answer"
        )
    return found


@lru_cache(maxsize=64)
def recorded_case(folder: str, name: str, seed: int) -> Case:
    """Return a recorded person with the items that they rated, or else compared.

    Parameters
    ----------
    folder : str
    name : str
    seed : int
        For the answers to pairs that they found equal.
    """
    people = people_of(folder)
    items = rated_or_compared(people, name)
    pool = _pool(people, name)
    worth = _worth(people.person(name), items)
    baseline = items.index(_favourite(people.without(name), items))
    wins = (1.0 + np.sign(worth - worth[baseline])) / 2.0
    return Case(pool, worth, wins, lambda: people.person(name, seed=seed))


def rated_or_compared(people: People, name: str) -> list[str]:
    """List the items of a person: those with a rating if there are any, else those compared."""
    person = people.person(name)
    seen = set(person.ratings) or {ident for pair in person.pairs for ident in pair}
    return [ident for ident in people.items.texts if ident in seen]


def _pool(people: People, name: str) -> Pool:
    ratings = people.ratings.get(name)
    mine = People(people.items, {}, {name: ratings}) if ratings else people
    return mine.pool(QUESTION, person=name)


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
