"""Exports as CSV, JSON lines or Parquet, with a codebook; read back, they are equal.

Three datasets: `answers`, a row per choice; `participants`, a row each; and `payments`, which
names the recruiting service's workers and is never part of the others. Rows are written as they
come from the database, so that memory does not grow with their number.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.errors import FileFormatError, OptionError
from useralign.extras import import_extra
from useralign.files import write_atomically
from useralign.store import studies
from useralign.store.studies import ATTENTION, CHUNK, EARLIER, LATER, RANDOM, pseudonym_of
from useralign.study.flow import COMPARISONS, DONE, EVALUATION, QUERY, SIDES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from useralign.pool import Pool
    from useralign.store import Store
    from useralign.store.studies import (
        Assignment,
        Author,
        ComparisonAnswer,
        Matchup,
        Participant,
        StudyRecords,
    )
    from useralign.study.studies import Study

    Record = dict[str, Any]

FORMATS = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
BASELINE = "baseline"
SHARED = ("answers", "participants")  # the datasets of an export, unless others are named
_INSTRUCTED, _FORBIDDEN = "instructed", "forbidden"  # the two options of an attention check
_ROLES = (EARLIER, LATER, RANDOM)
_ASSIGNED = ("domain", "question", "method", "condition", "persona")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_ARROW = {"text": "string", "whole": "int64", "number": "float64", "truth": "bool_"}


class Column(NamedTuple):
    """A column of an export.

    Parameters
    ----------
    name : str
    kind : {"text", "whole", "number", "truth"}
    meaning : str
    """

    name: str
    kind: str
    meaning: str


_CODEBOOK = tomllib.loads((Path(__file__).parent / "data/codebook.toml").read_text("utf-8"))
COLUMNS = {
    dataset: [Column(name, *about) for name, about in columns.items()]
    for dataset, columns in _CODEBOOK.items()
}
_FORMULAS = (
    "In CSV files a text that a spreadsheet would take for a formula (it begins with `=`, `+`, "
    "`-`, `@`, a tab or a line break) or that begins with an apostrophe has one more apostrophe "
    "in front. "
    "`useralign.study.export.read_rows` takes it away."
)


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
        Created if need be.
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
    return encode(dataset_rows(store, study, dataset), COLUMNS[dataset])


def check_form(form: str) -> None:
    """Raise OptionError if a format is not known."""
    if form not in FORMATS:
        raise OptionError(f"unknown format {form!r}; expected one of {', '.join(FORMATS)}")


def dataset_rows(store: Store, study: Study, dataset: str) -> Iterator[Record]:
    """Iterate over the rows of a dataset.

    Parameters
    ----------
    store : Store
    study : Study
    dataset : {"answers", "participants", "payments"}
    """
    make = {"answers": _answers, "participants": _participants, "payments": _payments}[dataset]
    with studies.streaming(store, study.slug) as records:
        yield from make(records, store, study)


def _answers(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    for author, answer in records.comparison_answers():
        pool = _pool(store, study, author.assignment)
        left, right = (pool[index].label for index in answer.candidates)
        screen = (COMPARISONS, "comparison", left, right)
        yield _answer(author, answer, screen, SIDES[answer.position])
    for author, matchup in records.matchup_answers():
        names = _INSTRUCTED, _FORBIDDEN
        if matchup.role != ATTENTION:
            names = _pool(store, study, author.assignment)[matchup.candidate].label, BASELINE
        left, right = names if matchup.side == "left" else names[::-1]
        yield _answer(author, matchup, (EVALUATION, matchup.role, left, right), matchup.chosen)


def _answer(
    author: Author,
    answer: ComparisonAnswer | Matchup,
    screen: tuple[str, str, str, str],
    side: str | None,
) -> Record:
    """Return a row of the answers; `screen` is stage, role, and the names on the left and right."""
    stage, role, left, right = screen
    asked, answered = answer.asked or 0.0, answer.answered or 0.0
    return {
        "participant": pseudonym_of(author.participant_id),
        "finished": author.finished,
        **_assigned(author.assignment),
        "stage": stage,
        "order": answer.number + 1,
        "role": role,
        "left": left,
        "right": right,
        "chosen": side,
        "winner": left if side == "left" else right,
        "asked": _moment(asked),
        "server_seconds": round(answered - asked, 3),
        "page_seconds": None if answer.milliseconds is None else answer.milliseconds / 1000,
    }


def _participants(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    for chunk in records.participants():
        ids = [who.id for who in chunk]
        entered, matchups = records.stage_times(ids), records.matchups_by_role(ids)
        for who in chunk:
            pool = _pool(store, study, who.assignment)
            yield _participant(who, entered.get(who.id, {}), matchups.get(who.id, {}), pool)


def _participant(
    who: Participant, entered: dict[str, float], matchups: dict[str, Matchup], pool: Pool
) -> Record:
    selected = {role: matchups[role].candidate for role in _ROLES if role in matchups}
    won = {role: matchup.won for role, matchup in matchups.items()}
    return {
        "participant": who.pseudonym,
        "source": who.source,
        **_assigned(who.assignment),
        "stage": who.stage,
        "finished": who.finished is not None,
        "started": _moment(who.created),
        "query_seconds": _span(entered, QUERY, COMPARISONS),
        "comparisons_seconds": _span(entered, COMPARISONS, EVALUATION),
        "evaluation_seconds": _span(entered, EVALUATION, DONE),
        **{role: pool[selected[role]].label if role in selected else None for role in _ROLES},
        **{f"{role}_won": won.get(role) for role in _ROLES},
        "coincide": len(set(selected.values())) < len(selected) if selected else None,
        "attention_passed": won.get(ATTENTION),
    }


def _payments(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    del store, study
    for chunk in records.participants():
        for who in chunk:
            ids = who.recruitment
            yield {
                "participant": who.pseudonym,
                "source": who.source,
                "worker": ids.get("PROLIFIC_PID") or ids.get("workerId"),
                "assignment": ids.get("SESSION_ID") or ids.get("assignmentId"),
                "task": ids.get("STUDY_ID") or ids.get("hitId"),
                "finished": None if who.finished is None else _moment(who.finished),
                "code": who.code,
            }


def _assigned(assignment: Assignment) -> Record:
    return {name: getattr(assignment, name) for name in _ASSIGNED}


def _pool(store: Store, study: Study, assignment: Assignment) -> Pool:
    question = study.question(assignment.domain, assignment.question)
    return store.pools.of_session(question.pool_id)


def _span(entered: dict[str, float], begin: str, end: str) -> float | None:
    if begin not in entered or end not in entered:
        return None
    return round(entered[end] - entered[begin], 3)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


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
            yield sink.drain()
    yield sink.drain()


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

    def drain(self) -> bytes:
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


def codebook(study: Study, datasets: tuple[str, ...] = SHARED) -> str:
    """Return the codebook of a study's export, as Markdown."""
    design = study.design
    lines = [
        f"# {design.title}: codebook",
        "",
        f"Study `{study.slug}`. Empty fields are unknown.",
        "",
    ]
    for entry in design.domains:
        steps = " and ".join(map(str, entry.checkpoints))
        lines.append(
            f"- {entry.name}: {entry.budget} comparisons, selections evaluated after {steps}."
        )
    lines += ["", _FORMULAS]
    for name in datasets:
        lines += ["", f"## {name}", "", "| column | kind | meaning |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.kind} | {c.meaning} |" for c in COLUMNS[name]]
    return "\n".join(lines) + "\n"
