"""The files of recorded people: items, answers and ratings, as JSONL or as CSV.

    items.jsonl    {"id": "a", "text": "..."} or {"id": "a", "features": [0.1, 0.2]}
    answers.jsonl  {"person": "p1", "first": "a", "second": "b", "winner": "a"}, null for a tie
    ratings.jsonl  {"person": "p1", "item": "a", "rating": 4}

A CSV file has the same names in its first line. An empty winner is a tie, and every column of
items.csv but `id` and `text` is a feature. Where both forms are there, the JSONL file counts.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Items:
    """What people judged.

    Parameters
    ----------
    texts : mapping of str to str
        Ids to texts, in the order of the file; empty where there is none.
    features : mapping of str to tuple of float
        Ids to features of one length; empty when the texts are to be embedded.
    """

    texts: Mapping[str, str]
    features: Mapping[str, tuple[float, ...]]


def read_items(folder: str | Path) -> Items:
    """Read the items of a folder.

    Raises
    ------
    FileFormatError
        If there are none, an id occurs twice, or some have features and others do not.
    """
    found: dict[str, tuple[str, tuple[float, ...]]] = {}

    def add(record: Mapping[str, Any]) -> None:
        ident = _ident(record, "id")
        if ident in found:
            raise ValueError(f"the id {ident!r} occurs twice")
        text = str(record.get("text") or "")
        features = tuple(_number(value) for value in record.get("features") or ())
        if not text.strip() and not features:
            raise ValueError(f"item {ident!r} has neither a text nor features")
        if found and len(features) != len(next(iter(found.values()))[1]):
            raise ValueError(f"item {ident!r} has {len(features)} features, others another number")
        found[ident] = text, features

    if not _each(Path(folder), "items", add):
        raise FileFormatError(f"{folder}: has no items.jsonl or items.csv with at least one item")
    texts = {ident: text for ident, (text, _) in found.items()}
    return Items(texts, {ident: row for ident, (_, row) in found.items() if row})


def read_answers(folder: str | Path, items: Items) -> dict[str, list[tuple[str, str, str | None]]]:
    """Read the answers of a folder by person; none if it has no such file."""
    found: dict[str, list[tuple[str, str, str | None]]] = {}

    def add(record: Mapping[str, Any]) -> None:
        first, second = (_known(record, key, items) for key in ("first", "second"))
        winner = None if record["winner"] in (None, "") else _ident(record, "winner")
        if first == second or winner not in (first, second, None):
            raise ValueError(
                f"the winner of {first!r} and {second!r} must be one of these two different "
                f"items, or empty for a tie; got {winner!r}"
            )
        found.setdefault(_ident(record, "person"), []).append((first, second, winner))

    _each(Path(folder), "answers", add)
    return found


def read_ratings(folder: str | Path, items: Items) -> dict[str, dict[str, float]]:
    """Read the ratings of a folder by person; none if it has no such file."""
    found: dict[str, dict[str, float]] = {}

    def add(record: Mapping[str, Any]) -> None:
        person, item = _ident(record, "person"), _known(record, "item", items)
        if item in found.setdefault(person, {}):
            raise ValueError(f"{person} rated {item!r} twice")
        found[person][item] = _number(record["rating"])

    _each(Path(folder), "ratings", add)
    return found


def _each(folder: Path, stem: str, add: Callable[[Mapping[str, Any]], None]) -> int:
    """Hand over every record of a file, and say where it is when it is not usable."""
    count = 0
    for path, number, record in _records(folder, stem):
        try:
            add(record)
        except KeyError as error:
            raise FileFormatError(f"{path}, line {number}: {error} is missing") from error
        except (ValueError, TypeError) as error:
            raise FileFormatError(f"{path}, line {number}: {error}") from error
        count += 1
    return count


def _records(folder: Path, stem: str) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    lines, table = folder / f"{stem}.jsonl", folder / f"{stem}.csv"
    path = lines if lines.exists() else table
    if not path.exists():
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path == lines:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield path, number, _parsed(path, number, line)
            else:
                rows = csv.DictReader(file, strict=True)
                for row in rows:
                    yield path, rows.line_num, _row(row) if stem == "items" else row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path}: cannot be read ({error})") from error


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}, line {number}: is not JSON ({error})") from error
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise FileFormatError(f"{path}, line {number}: expected an object, got {kind}")
    return record


def _row(row: dict[str, Any]) -> dict[str, Any]:
    features = [value for key, value in row.items() if key not in ("id", "text")]
    return {"id": row.get("id"), "text": row.get("text"), "features": features}


def _ident(record: Mapping[str, Any], key: str) -> str:
    value = record[key]
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{key} must be a name, got {value!r}")
    return str(value)


def _known(record: Mapping[str, Any], key: str, items: Items) -> str:
    ident = _ident(record, key)
    if ident not in items.texts:
        raise ValueError(f"{key} names {ident!r}, which is not among the items")
    return ident


def _number(value: Any) -> float:
    if isinstance(value, bool) or value is None:
        raise ValueError(f"expected a number, got {value!r}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {value!r}")
    return number
