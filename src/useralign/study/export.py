"""Exports as CSV, JSON lines or Parquet, written as the rows come, and read back equal."""

from __future__ import annotations

import csv
import io
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError, OptionError
from useralign.extras import import_extra
from useralign.files import write_atomically
from useralign.study.codebook import COLUMNS, SHARED, Column, codebook
from useralign.study.export_rows import CHUNK, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from useralign.store import Store
    from useralign.study.studies import Study

    Record = dict[str, Any]

FORMATS = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_ARROW = {"text": "string", "whole": "int64", "number": "float64", "truth": "bool_"}


def export(
    store: Store,
    study: Study,
    folder: Path,
    form: str = "csv",
    *,
    datasets: tuple[str, ...] = SHARED,
) -> list[Path]:
    """Write a study's data and codebook into a folder.

    Parameters
    ----------
    store : Store
    study : Study
    folder : Path
        Made if need be.
    form : {"csv", "jsonl", "parquet"}
    datasets : tuple of str
        Which of answers, participants and payments.

    Returns
    -------
    list of Path
        The files.
    """
    check_form(form)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in datasets:
        path = folder / f"{study.slug}-{name}.{form}"
        with path.open("wb") as file:
            for piece in stream(store, study, name, form):
                file.write(piece)
        written.append(path)
    words = codebook(study, datasets)
    return [*written, write_atomically(folder / f"{study.slug}-codebook.md", words)]


def stream(store: Store, study: Study, dataset: str, form: str) -> Iterator[bytes]:
    """Iterate over the bytes of an export; memory does not grow with its length."""
    check_form(form)
    if dataset not in COLUMNS:
        raise OptionError(f"unknown data {dataset!r}; expected one of {', '.join(COLUMNS)}")
    encode = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[form]
    return encode(rows_of(store, study, dataset), COLUMNS[dataset])


def check_form(form: str) -> None:
    """Raise OptionError if a format is not known."""
    if form not in FORMATS:
        raise OptionError(f"unknown format {form!r}; expected one of {', '.join(FORMATS)}")


def neutral(value: Any) -> Any:
    """Return a text so that no spreadsheet takes it for a formula."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _csv(rows: Iterable[Record], columns: list[Column]) -> Iterator[bytes]:
    names = [column.name for column in columns]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    for chunk in _chunks(rows):
        writer.writerows([_field(row[name]) for name in names] for row in chunk)
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return neutral(value)


def _jsonl(rows: Iterable[Record], columns: list[Column]) -> Iterator[bytes]:
    del columns
    for chunk in _chunks(rows):
        lines = (json.dumps(row, ensure_ascii=False) for row in chunk)
        yield ("\n".join(lines) + "\n").encode()


def _parquet(rows: Iterable[Record], columns: list[Column]) -> Iterator[bytes]:
    arrow, files = _arrow()
    fields = [(c.name, getattr(arrow, _ARROW[c.kind])()) for c in columns]
    schema = arrow.schema(fields)
    sink = _Sink()
    with files.ParquetWriter(sink, schema) as writer:
        for chunk in _chunks(rows, 20 * CHUNK):
            writer.write_table(arrow.Table.from_pylist(chunk, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that hands on what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._length += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        result = b"".join(self._pieces)
        self._pieces.clear()
        return result


def read_rows(path: Path, dataset: str) -> Iterator[Record]:
    """Read an export back, as the rows that were written.

    Parameters
    ----------
    path : Path
        A .csv, .jsonl or .parquet file.
    dataset : {"answers", "participants", "payments"}
    """
    columns = COLUMNS[dataset]
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    elif path.suffix == ".parquet":
        _, files = _arrow()
        for batch in files.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    else:
        with path.open(encoding="utf-8", newline="") as lines:
            reader = csv.reader(lines)
            if next(reader, None) != [column.name for column in columns]:
                raise FileFormatError(f"{path}: is not an export of {dataset}")
            for fields in reader:
                yield {c.name: _value(c, f) for c, f in zip(columns, fields, strict=True)}


def _value(column: Column, field: str) -> Any:
    if not field:
        return None
    if column.kind == "text":
        return field.removeprefix("'")
    if column.kind == "truth":
        return field == "true"
    return int(field) if column.kind == "whole" else float(field)


def _chunks(rows: Iterable[Record], size: int = CHUNK) -> Iterator[list[Record]]:
    rows = iter(rows)
    while chunk := list(islice(rows, size)):
        yield chunk


def _arrow() -> tuple[Any, Any]:
    needed = ("Parquet", "parquet")
    return import_extra("pyarrow", *needed), import_extra("pyarrow.parquet", *needed)
