"""Recorded people: what they answered and rated, replayed to whoever asks.

    items.jsonl    {"id": "a", "text": "..."} or {"id": "a", "features": [0.1, 0.2]}
    answers.jsonl  {"person": "p1", "first": "a", "second": "b", "winner": "a"}, null for a tie
    ratings.jsonl  {"person": "p1", "item": "a", "rating": 4}

A CSV file has the same names in its first line. An empty winner is a tie, and every column of
items.csv but `id` and `text` is a feature. Where both forms are there, the JSONL file counts.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import AnswerError, FileFormatError, OptionError
from useralign.pool import Candidate, Pool
from useralign.users.base import User

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from useralign.answers import Comparison
    from useralign.models import Embedder

    Pair = tuple[str, str]
    Recorded = tuple[str, str, str | None]


class RecordedPerson(User):
    """Answers as a person did.

    A pair that was recorded, once or often, is answered by the share of times the first won; a tie
    counts as half. A pair that was not is answered from the ratings, equal ones being a tie.
    Anything else the person does not know: `knows` is False, and `simulate` skips it. Of ratings,
    by id, higher is better; the seed is for ties and for pairs answered both ways.
    """

    def __init__(
        self,
        name: str,
        answers: Iterable[Recorded] = (),
        ratings: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.name = name
        self.ratings = dict(ratings or {})
        self.generator = np.random.default_rng([seed, 11])
        self._won: dict[Pair, list[float]] = {}
        for first, second, winner in answers:
            if first == second or winner not in (first, second, None):
                raise AnswerError(
                    f"{self.name}: the winner of {first!r} and {second!r} must be one of these two "
                    f"different ids, or None for a tie; got {winner!r}"
                )
            low, high = sorted((first, second))
            self._won.setdefault((low, high), []).append(0.5 if winner is None else winner == low)

    def __repr__(self) -> str:
        return f"RecordedPerson({self.name!r}, {len(self._won)} pairs, {len(self.ratings)} ratings)"

    @property
    def pairs(self) -> list[Pair]:
        """The pairs of ids that were recorded, each once, sorted."""
        return sorted(self._won)

    def knows(self, first: Candidate, second: Candidate) -> bool:
        """Return whether the pair was recorded, or both were rated."""
        return self._share(first.label, second.label) is not None

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

        Raises AnswerError if the person never said anything about the pair.
        """
        share = self._share(first.label, second.label)
        if share is None:
            raise AnswerError(
                f"{self.name} never compared {first.label!r} with {second.label!r} and did not "
                "rate both; ask only what `knows` allows, or use `simulate`, which skips it"
            )
        return share

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison; ties are drawn."""
        share = self.prefers(pair.first, pair.second)
        sure = share in (0.0, 1.0)
        won = bool(share) if sure else self.generator.random() < share
        return pair.first if won else pair.second

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
    """Everybody in a folder of records, and the items that they judged."""

    texts: Mapping[str, str]  # ids to texts, in the order of the file; empty where there is none
    # ids to features of one length; empty when the texts are to be embedded
    features: Mapping[str, tuple[float, ...]]
    answers: Mapping[str, list[Recorded]]  # by person
    ratings: Mapping[str, dict[str, float]]  # by person, ids to ratings

    @classmethod
    def read(cls, folder: str | Path) -> People:
        """Read `items`, and `answers` or `ratings` or both, as JSONL or CSV files.

        Raises FileFormatError naming the file, the line and what is wrong with it.
        """
        texts, features = _read_items(Path(folder))
        answers = _read_answers(Path(folder), texts)
        ratings = _read_ratings(Path(folder), texts)
        if not answers and not ratings:
            raise OptionError(f"{folder}: has neither answers nor ratings of anybody")
        return cls(texts, features, answers, ratings)

    @property
    def names(self) -> list[str]:
        """Everybody, sorted."""
        return sorted({*self.answers, *self.ratings})

    def person(self, name: str, *, seed: int = 0) -> RecordedPerson:
        """Return one person.

        Raises OptionError if nobody of that name is on record.
        """
        if name not in self.answers and name not in self.ratings:
            raise OptionError(f"nobody called {name!r} is on record; see `names`")
        return RecordedPerson(
            name, self.answers.get(name, ()), self.ratings.get(name, {}), seed=seed
        )

    def without(self, name: str) -> People:
        """Return everybody else: what may be known about a person before asking them."""
        self.person(name)
        answers = {who: own for who, own in self.answers.items() if who != name}
        ratings = {who: own for who, own in self.ratings.items() if who != name}
        return replace(self, answers=answers, ratings=ratings)

    def pool(
        self,
        question: str = "Which is better?",
        *,
        embedder: str | Embedder | None = None,
        person: str | None = None,
    ) -> Pool:
        """Build the pool of all items, or of those that one person judged.

        Items without features are embedded.
        """
        idents = list(self.texts) if person is None else self.judged_by(person)
        candidates = [Candidate(text=self.texts[i], id=i, source="recorded") for i in idents]
        if self.features:
            return Pool(question, candidates, [self.features[ident] for ident in idents])
        return Pool.from_texts(question, candidates, embedder=embedder)

    def judged_by(self, name: str) -> list[str]:
        """Return the items that one person rated, or else compared, in the order of the file."""
        person = self.person(name)
        judged = set(person.ratings) or {ident for pair in person.pairs for ident in pair}
        return [ident for ident in self.texts if ident in judged]


def _read_items(folder: Path) -> tuple[dict[str, str], dict[str, tuple[float, ...]]]:
    """Read texts and features of items: either all have features, equally many, or none has."""
    texts: dict[str, str] = {}
    rows: dict[str, tuple[float, ...]] = {}
    for record, line in _records(folder, "items"):
        with line:
            ident = _ident(record, "id")
            if ident in texts:
                raise ValueError(f"the id {ident!r} occurs twice")
            text = str(record.get("text") or "")
            row = tuple(_number(value) for value in record.get("features") or ())
            if not text.strip() and not row:
                raise ValueError(f"item {ident!r} has neither a text nor features")
            if texts and len(row) != len(next(iter(rows.values()))):
                raise ValueError(f"item {ident!r} has {len(row)} features, others another number")
            texts[ident], rows[ident] = text, row
    if not texts:
        raise FileFormatError(f"{folder}: has no items.jsonl or items.csv with at least one item")
    return texts, {ident: row for ident, row in rows.items() if row}


def _read_answers(folder: Path, items: Collection[str]) -> dict[str, list[Recorded]]:
    """Read the answers of a folder by person; none if it has no such file."""
    answers: dict[str, list[Recorded]] = {}
    for record, line in _records(folder, "answers"):
        with line:
            first, second = (_item(record, key, items) for key in ("first", "second"))
            winner = None if record["winner"] in (None, "") else _ident(record, "winner")
            if first == second or winner not in (first, second, None):
                raise ValueError(
                    f"the winner of {first!r} and {second!r} must be one of these two different "
                    f"items, or empty for a tie; got {winner!r}"
                )
            answers.setdefault(_ident(record, "person"), []).append((first, second, winner))
    return answers


def _read_ratings(folder: Path, items: Collection[str]) -> dict[str, dict[str, float]]:
    """Read the ratings of a folder by person; none if it has no such file."""
    ratings: dict[str, dict[str, float]] = {}
    for record, line in _records(folder, "ratings"):
        with line:
            person, item = _ident(record, "person"), _item(record, "item", items)
            if item in ratings.setdefault(person, {}):
                raise ValueError(f"{person} rated {item!r} twice")
            ratings[person][item] = _number(record["rating"])
    return ratings


def _records(
    folder: Path, stem: str
) -> Iterator[tuple[dict[str, Any], contextlib.AbstractContextManager[None]]]:
    """Yield the records of a file, and for each what names its line in errors about it."""
    path = folder / f"{stem}.jsonl"
    if not path.exists():
        path = folder / f"{stem}.csv"
    if not path.exists():
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix == ".jsonl":
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        with _line(path, number):
                            record = _parsed(line)
                        yield record, _line(path, number)
            else:
                rows = csv.DictReader(file, strict=True)
                for row in rows:
                    yield _row(row) if stem == "items" else row, _line(path, rows.line_num)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path}: cannot be read ({error})") from error


@contextlib.contextmanager
def _line(path: Path, number: int) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise FileFormatError(f"{path}, line {number}: {error} is missing") from error
    except (ValueError, TypeError) as error:
        raise FileFormatError(f"{path}, line {number}: {error}") from error


def _parsed(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise TypeError(f"expected an object, got {type(record).__name__}")
    return record


def _row(row: dict[str, Any]) -> dict[str, Any]:
    features = [value for key, value in row.items() if key not in ("id", "text")]
    return {"id": row.get("id"), "text": row.get("text"), "features": features}


def _ident(record: Mapping[str, Any], key: str) -> str:
    value = record[key]
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{key} must be a name, got {value!r}")
    return str(value)


def _item(record: Mapping[str, Any], key: str, items: Collection[str]) -> str:
    ident = _ident(record, key)
    if ident not in items:
        raise ValueError(f"{key} names {ident!r}, which is not among the items")
    return ident


def _number(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        raise ValueError(f"expected a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {str(value)[:60]!r}")
    return number
