"""Recorded people: what real persons said about pairs, or how they rated items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import AnswerError, OptionError
from useralign.pool import Candidate, Pool
from useralign.users.base import User
from useralign.users.records import Items, read_answers, read_items, read_ratings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from useralign.answers import Comparison
    from useralign.models.embedders import Embedder

    Pair = tuple[str, str]


class RecordedPerson(User):
    """Answers as a person did.

    A pair that was recorded, once or often, is answered by the share of times the first won; a tie
    counts as half. A pair that was not is answered from the ratings, equal ones being a tie.
    Anything else the person does not know: `knows` tells, and `converse` skips it.

    Parameters
    ----------
    name : str
    answers : iterable of (first, second, winner)
        Ids; the winner is None for a tie.
    ratings : mapping of str to float, optional
        Ids to ratings, higher is better.
    seed : int
        For settling ties and pairs answered both ways.
    """

    def __init__(
        self,
        name: str,
        answers: Iterable[tuple[str, str, str | None]] = (),
        ratings: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.name = name
        self.ratings = dict(ratings or {})
        self.generator = np.random.default_rng([seed, 11])
        self._won: dict[Pair, list[float]] = {}
        for first, second, winner in answers:
            self._record(first, second, winner)

    def __repr__(self) -> str:
        return f"RecordedPerson({self.name!r}, {len(self._won)} pairs, {len(self.ratings)} ratings)"

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of ids that were recorded, each once, sorted."""
        return sorted(self._won)

    def knows(self, first: Candidate, second: Candidate) -> bool:
        """Return whether the pair was recorded, or both were rated."""
        return self._share(first.label, second.label) is not None

    def answerable(self, pool: Pool) -> list[tuple[int, int]]:
        """List the pairs of places in a pool that can be asked."""
        places = range(len(pool))
        return [(i, j) for i in places for j in places[i + 1 :] if self.knows(pool[i], pool[j])]

    def shares(self) -> dict[str, float]:
        """Return for each item that was compared the share of its comparisons that it won.

        A pair counts once, however often it was recorded.
        """
        won: dict[str, list[float]] = {}
        for (low, high), records in self._won.items():
            share = float(np.mean(records))
            won.setdefault(low, []).append(share)
            won.setdefault(high, []).append(1.0 - share)
        return {ident: float(np.mean(values)) for ident, values in won.items()}

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the share of times that `first` won.

        Raises
        ------
        AnswerError
            If the person never said anything about the pair.
        """
        share = self._share(first.label, second.label)
        if share is None:
            raise AnswerError(
                f"{self.name} never compared {first.label!r} with {second.label!r} and did not "
                "rate both; ask only what `knows` allows, or use `converse`, which skips it"
            )
        return share

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison; ties are drawn."""
        share = self.prefers(pair.first, pair.second)
        sure = share in (0.0, 1.0)
        won = bool(share) if sure else self.generator.random() < share
        return pair.first if won else pair.second

    def _record(self, first: str, second: str, winner: str | None) -> None:
        if first == second or winner not in (first, second, None):
            raise AnswerError(
                f"{self.name}: the winner of {first!r} and {second!r} must be one of these two "
                f"different ids, or None for a tie; got {winner!r}"
            )
        low, high = sorted((first, second))
        self._won.setdefault((low, high), []).append(0.5 if winner is None else winner == low)

    def _share(self, first: str, second: str) -> float | None:
        if first == second:
            return 0.5
        low, high = sorted((first, second))
        if (low, high) in self._won:
            share = float(np.mean(self._won[low, high]))
            return share if first == low else 1.0 - share
        if first in self.ratings and second in self.ratings:
            return (1.0 + float(np.sign(self.ratings[first] - self.ratings[second]))) / 2.0
        return None


@dataclass(frozen=True, slots=True)
class People:
    """Everybody in a folder of records, and the items that they judged.

    Parameters
    ----------
    items : Items
    answers : mapping of str to list
        By person, tuples (first, second, winner or None).
    ratings : mapping of str to dict
        By person, ids to ratings.
    """

    items: Items
    answers: Mapping[str, list[tuple[str, str, str | None]]]
    ratings: Mapping[str, dict[str, float]]

    @classmethod
    def read(cls, folder: str | Path) -> People:
        """Read `items`, and `answers` or `ratings` or both, as JSONL or CSV files.

        Raises
        ------
        FileFormatError
            Naming the file, the line and what is wrong with it.
        """
        items = read_items(folder)
        answers, ratings = read_answers(folder, items), read_ratings(folder, items)
        if not answers and not ratings:
            raise OptionError(f"{folder}: has neither answers nor ratings of anybody")
        return cls(items, answers, ratings)

    @property
    def names(self) -> list[str]:
        """Everybody, sorted."""
        return sorted({*self.answers, *self.ratings})

    def person(self, name: str, *, seed: int = 0) -> RecordedPerson:
        """Return one person.

        Raises
        ------
        OptionError
            If nobody of that name is on record.
        """
        if name not in self.answers and name not in self.ratings:
            raise OptionError(f"nobody called {name!r} is on record; see `names`")
        return RecordedPerson(
            name, self.answers.get(name, ()), self.ratings.get(name, {}), seed=seed
        )

    def without(self, name: str) -> People:
        """Return everybody else: what may be known about a person before asking them."""
        self.person(name)
        return People(
            self.items,
            {who: what for who, what in self.answers.items() if who != name},
            {who: what for who, what in self.ratings.items() if who != name},
        )

    def leave_one_out(self, *, seed: int = 0) -> Iterator[tuple[RecordedPerson, People]]:
        """Iterate over everybody, each with the others' records."""
        for name in self.names:
            yield self.person(name, seed=seed), self.without(name)

    def pool(
        self,
        question: str = "Which is better?",
        *,
        embedder: str | Embedder | None = None,
        person: str | None = None,
    ) -> Pool:
        """Build the pool of all items, or of those that one person compared or rated.

        Parameters
        ----------
        question : str
        embedder : str or Embedder, optional
            For items without features; the default embedder when not given.
        person : str, optional
        """
        chosen = list(self.items.texts) if person is None else self._touched(person)
        candidates = [
            Candidate(text=self.items.texts[ident], id=ident, source="recorded") for ident in chosen
        ]
        if self.items.features:
            return Pool(question, candidates, [self.items.features[ident] for ident in chosen])
        return Pool.from_texts(question, candidates, embedder=embedder)

    def _touched(self, name: str) -> list[str]:
        person = self.person(name)
        seen = {ident for pair in person.pairs for ident in pair} | set(person.ratings)
        return [ident for ident in self.items.texts if ident in seen]
