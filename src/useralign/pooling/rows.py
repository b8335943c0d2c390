"""Candidates out of the files that people have: plain text, JSON Lines, CSV.

Every reader returns rows: a candidate, its features if the file has them, and where it stands.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.errors import FileFormatError
from useralign.pool import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FEATURE = re.compile(r"f\d+")


class Row(NamedTuple):
    """One candidate of a file."""

    candidate: Candidate
    features: list[float] | None
    where: str


def text_rows(path: Path) -> Iterator[Row]:
    """Read a text file: paragraphs if a blank line divides any, else one candidate a line."""
    lines = decoded(path).splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    filled = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    blank = filled and len(filled) < len(lines) - filled[0][0] + 1
    previous = 0
    block: list[str] = []
    start = 0
    for number, line in filled:
        if block and (not blank or number > previous + 1):
            yield _text_row(path, start, block)
            block = []
        start = start if block else number
        block.append(line)
        previous = number
    if block:
        yield _text_row(path, start, block)


def _text_row(path: Path, line: int, block: list[str]) -> Row:
    return Row(Candidate(text=" ".join(block), source="given"), None, f"{path}, line {line}")


def jsonl_rows(path: Path) -> Iterator[Row]:
    """Read JSON Lines: strings, or objects with `text` or `image`, and `features` if any."""
    # Not splitlines(): JSON strings may hold what that takes for the end of a line.
    for number, line in enumerate(decoded(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{where}: is not JSON, or was cut short ({error})") from error
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise FileFormatError(
                f'{where}: expected a string or an object such as {{"text": "..."}}; got '
                f"{type(value).__name__}"
            )
        features = value.pop("features", None)
        numbers = None if features is None else _numbers(features, where)
        yield Row(_candidate(value, path, where), numbers, where)


def csv_rows(path: Path) -> Iterator[Row]:
    """Read CSV with a column `text` or `image`; features stand in columns `f0`, `f1`, ..."""
    reader = csv.reader(io.StringIO(decoded(path), newline=""), strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        axes = _axes(columns, path)
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(columns):
                raise FileFormatError(
                    f"{where}: has {len(cells)} cells, expected {len(columns)} as in line 1; was "
                    "the file cut short, or is a comma not in quotes?"
                )
            row = dict(zip(columns, cells, strict=True))
            numbers = [row.pop(axis) for axis in axes]
            filled = {name: cell for name, cell in row.items() if cell.strip()}
            yield Row(
                _candidate(filled, path, where), _numbers(numbers, where) if axes else None, where
            )
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: is not CSV ({error})") from error


def _axes(columns: list[str], path: Path) -> list[str]:
    """Check the columns and return those of the features, in their order."""
    if not {"text", "image"} & set(columns):
        found = ", ".join(columns[:10])
        raise FileFormatError(
            f"{path}, line 1: expected a column named text or image; found {found or 'nothing'}"
        )
    if len(set(columns)) < len(columns):
        raise FileFormatError(f"{path}, line 1: a column is named twice in {', '.join(columns)}")
    axes = [f"f{place}" for place in range(sum(bool(_FEATURE.fullmatch(c)) for c in columns))]
    if missing := [axis for axis in axes if axis not in columns]:
        raise FileFormatError(
            f"{path}, line 1: features must stand in columns f0 to f{len(axes) - 1} without a gap; "
            f"{missing[0]} is missing"
        )
    return axes


def _numbers(values: Any, where: str) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise FileFormatError(f"{where}: features must be finite numbers; got {str(values)[:60]}")
    return numbers


def _candidate(value: dict[str, Any], path: Path, where: str) -> Candidate:
    for name in ("text", "image", "id", "source", "interest"):
        if name == "id" and isinstance(value.get(name), int):
            value = {**value, name: str(value[name])}
        if value.get(name) is not None and not isinstance(value[name], str):
            raise FileFormatError(f"{where}: {name} must be a text; got {str(value[name])[:60]}")
    if not isinstance(value.get("meta", {}), dict):
        raise FileFormatError(f"{where}: meta must be an object; got {str(value['meta'])[:60]}")
    image = value.get("image")
    if not (value.get("text") or "").strip() and not image:
        raise FileFormatError(f"{where}: expected a text or an image; both are missing or empty")
    if image:
        file = path.parent / image
        if not file.is_file():
            raise FileFormatError(f"{where}: there is no image {file}")
        value = {**value, "image": str(file.absolute())}
    given = {name: item for name, item in value.items() if item is not None and name != "index"}
    return Candidate.from_dict({"source": "given", **given})


def decoded(path: Path) -> str:
    """Return a file's text.

    Raises
    ------
    FileFormatError
        If it cannot be read, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: is not UTF-8 text (byte {data[error.start]:#04x}); save it as "
            "UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileFormatError(f"{path}, line {line}: is not text (it holds a zero byte)")
    return text
