"""Exports as CSV, JSON lines or Parquet, with a codebook; read back, they are equal.

The datasets: `answers`, a row per choice; `participants`, a row each, with flags; `pages`, a row
per page of each; `fields`, what was filled in; `candidates`, what was compared; and `payments`,
which names the recruiting service's workers and is never part of the others. The design as it was
is written beside them. Rows are written as they
come from the database, so that memory does not grow with their number.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from useralign import __version__
from useralign.errors import FileFormatError, OptionError
from useralign.extras import import_extra
from useralign.files import write_atomically
from useralign.store import studies
from useralign.store.studies import ATTENTION, CHUNK, EARLIER, LATER, RANDOM, pseudonym_of
from useralign.study.design import COMPARISONS, DONE, EVALUATION, QUERY, split_stage
from useralign.study.flags import LEFT, measure_people
from useralign.study.flow import CLIENT, MILLISECONDS, SIDES
from useralign.study.pages import in_language
from useralign.study.recruitment import platform_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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

T = TypeVar("T")
FORMATS = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
BASELINE = "baseline"
# The datasets of an export, unless others are named.
SHARED = ("answers", "participants", "pages", "fields", "candidates")
_INSTRUCTED, _FORBIDDEN = "instructed", "forbidden"  # the two options of an attention check
_ROLES = (EARLIER, LATER, RANDOM)
_ASSIGNED = ("domain", "question", "method", "condition", "persona")
# Where a cell may begin: at the start, and behind what some sheets split at.
_FORMULA = re.compile(r"(^|[;\t])(?=[ ,|]*[=+@\t\r\n'-])")
_NEUTRALISED = re.compile(r"(^|[;\t])'")
_ARROW = {"text": "string", "whole": "int64", "number": "float64", "truth": "bool_"}


class Column(NamedTuple):
    """A column of an export."""

    name: str
    kind: str  # text, whole, number or truth
    meaning: str


_CODEBOOK = tomllib.loads((Path(__file__).parent / "data/codebook.toml").read_text("utf-8"))
COLUMNS = {
    dataset: [Column(name, *about) for name, about in columns.items()]
    for dataset, columns in _CODEBOOK.items()
}
_FORMULAS = (
    "In CSV files a text that a spreadsheet would take for a formula (it begins with `=`, `+`, "
    "`-`, `@`, a tab or a line break, or one of these follows a semicolon or a tab, separators "
    "such as commas left out) or that has an "
    "apostrophe there has one more apostrophe in that place. "
    "`useralign.study.export.read_rows` takes it away."
)


def export(
    store: Store,
    study: Study,
    out: Path,
    form: str | None = None,
    *,
    datasets: tuple[str, ...] = SHARED,
) -> list[Path]:
    """Write a study's data, its design and a codebook, and return the files.

    `out` is a folder, created if need be; or a file such as `name.parquet`, which is the first
    dataset in the format of its suffix, with the others beside it. `form` is one of `FORMATS`: that
    of the suffix, or CSV, when not given.
    """
    named = bool(out.suffix) and not out.is_dir()
    suffix = out.suffix.removeprefix(".") if named else "csv"
    if (form or suffix) not in FORMATS:
        raise OptionError(
            f"unknown format {form or suffix!r}; expected one of {', '.join(FORMATS)}"
        )
    if named and form not in (None, suffix):
        raise OptionError(f"{out} is to be {form}, and its name says {suffix}; leave --format out")
    form = form or suffix
    folder, stem = (out.parent, out.stem) if named else (out, study.slug)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{stem}-{name}.{form}" for name in datasets}
    paths |= {datasets[0]: out} if named else {}
    for name, path in paths.items():
        with path.open("wb") as file:
            file.writelines(stream(store, study, name, form))
    texts = {"design.json": design_text(study), "codebook.md": codebook(study, datasets)}
    return [
        *paths.values(),
        *(write_atomically(folder / f"{stem}-{end}", text) for end, text in texts.items()),
    ]


def design_text(study: Study) -> str:
    """Return the design as it was, as JSON; `version` is that of the export."""
    value = {"version": __version__, "created": _moment(study.created)}
    return json.dumps(value | {"design": study.design.to_dict()}, ensure_ascii=False, indent=1)


def stream(store: Store, study: Study, dataset: str, form: str) -> Iterator[bytes]:
    """Iterate over the bytes of an export; memory does not grow with its length."""
    if dataset not in COLUMNS:
        raise OptionError(f"unknown data {dataset!r}; expected one of {', '.join(COLUMNS)}")
    encode = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[form]
    return encode(dataset_rows(store, study, dataset), COLUMNS[dataset])


def dataset_rows(store: Store, study: Study, dataset: str) -> Iterator[Record]:
    """Iterate over the rows of a dataset, one of `COLUMNS`."""
    make = {
        "answers": _answers,
        "participants": _participants,
        "pages": _pages,
        "fields": _fields,
        "candidates": _candidates,
        "payments": _payments,
    }[dataset]
    with studies.streaming(store, study.slug) as records:
        yield from make(records, store, study)


def _answers(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    for author, answer in records.comparison_answers():
        pool = _pool(store, study, author.assignment)
        left, *others = (pool[index].label for index in answer.candidates)
        screen = (COMPARISONS, "comparison", left, " | ".join(others))
        two = len(others) == 1
        side = SIDES[answer.position] if two else str(answer.position + 1)
        row = _answer(author, answer, screen, side) | {"seed": answer.seed}
        yield row if two else row | {"winner": [left, *others][answer.position]}
    for author, matchup in records.matchup_answers():
        names = _INSTRUCTED, _FORBIDDEN
        if matchup.role != ATTENTION:
            names = _pool(store, study, author.assignment)[matchup.candidate].label, BASELINE
        left, right = names if matchup.side == "left" else names[::-1]
        row = _answer(author, matchup, (EVALUATION, matchup.role, left, right), matchup.chosen)
        yield row | {"step": _step(study, author.assignment, matchup.role)}


def _step(study: Study, assignment: Assignment, role: str) -> int | None:
    """Return the checkpoint that a role is evaluated at."""
    checkpoints = study.design.checkpoints(assignment.domain, assignment.method)
    return dict(zip((LATER, EARLIER), reversed(checkpoints), strict=False)).get(role)


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
        "round": answer.round + 1,
        "step": None,
        "seed": None,
    }


def _people(
    records: StudyRecords, *reads: Callable[[list[str]], Mapping[str, Any]]
) -> Iterator[tuple[Any, ...]]:
    """Iterate over the participants, each with what these read of some at a time, or None."""
    for chunk in records.participants():
        tables = [read([who.id for who in chunk]) for read in reads]
        for who in chunk:
            yield who, *(table.get(who.id) for table in tables)


def _participants(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    design = study.design
    measure = partial(measure_people, records, design.pages)
    reads = (records.stage_times, records.matchups_of, records.page_answers_of, measure)
    for who, entered, matchups, answers, measures in _people(records, *reads):
        pool = _pool(store, study, who.assignment)
        first = {one.role: one for one in matchups or () if one.round == 0}
        client = {one.field: one.value for one in answers or () if one.page == CLIENT}
        measured = asdict(measures)
        yield {
            **_participant(who, entered or {}, first, pool),
            "rounds": len(who.rounds) or 1,
            "data": design.data,
            "outcome": who.outcome,
            "language": who.language,
            **{name: client.get(name) for name in ("device", "screen", "version")},
            **{k: round(v, 3) if isinstance(v, float) else v for k, v in measured.items()},
            **measures.flags(design.flags),
        }


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


def _pages(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    del store, study
    for who, times, answers in _people(records, records.stage_times, records.page_answers_of):
        entered = sorted((times or {}).items(), key=itemgetter(1))
        ends = [moment for _, moment in entered[1:]]
        for (stage, moment), end in zip(entered, [*ends, None], strict=True):
            page, number = split_stage(stage)
            here = [one for one in answers or () if one.page == stage]
            spent = [int(one.value or 0) for one in here if one.field == MILLISECONDS]
            yield {
                "participant": who.pseudonym,
                "page": page,
                "round": number + 1,
                "entered": _moment(moment),
                "server_seconds": None if end is None else round(end - moment, 3),
                "page_seconds": sum(spent) / 1000 if spent else None,
                "times_left": sum(int(one.value or 0) for one in here if one.field == LEFT),
            }


def _fields(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    del store
    entries = {(page.id, entry.id): entry for page in study.design.pages for entry in page.fields}
    for who, answers in _people(records, records.page_answers_of):
        for one in answers or ():
            page, number = split_stage(one.page)
            entry = entries.get((page, one.field))
            if entry is None:  # what the page measured
                continue
            yield {
                "participant": who.pseudonym,
                "page": page,
                "round": number + 1,
                "attempt": one.attempt + 1,
                "field": one.field,
                "value": one.value,
                "correct": None if entry.correct is None else entry.is_correct(one.value),
                "answered": _moment(one.answered),
            }


def _candidates(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    del records
    language, *others = study.design.languages
    for domain, questions in study.questions.items():
        for name, question in questions.items():
            pool = store.pools.of_session(question.pool_id)
            labelled = [(one.label, one) for one in pool]
            labelled += [] if pool.baseline is None else [(BASELINE, pool.baseline)]
            for label, one in labelled:
                metas = {name: one.meta.get(f"text_{name}") for name in others}
                texts = {name: text for name, text in metas.items() if text}
                yield {
                    "domain": domain,
                    "question": name,
                    "query": in_language(question.text, language),
                    "candidate": label,
                    "text": one.meta.get(f"text_{language}", one.text) or None,
                    "media": one.meta.get("media"),
                    "translations": json.dumps(texts, ensure_ascii=False) if texts else None,
                }


def _payments(records: StudyRecords, store: Store, study: Study) -> Iterator[Record]:
    del store
    for (who,) in _people(records):
        worker, submission, task = platform_ids(who.recruitment)
        yield {
            "participant": who.pseudonym,
            "source": who.source,
            "worker": worker,
            "assignment": submission,
            "task": task,
            "finished": None if who.finished is None else _moment(who.finished),
            "code": who.code or study.recruitment.code(who.outcome or "", who.source),
        }


def _assigned(assignment: Assignment) -> Record:
    return {name: getattr(assignment, name) for name in _ASSIGNED}


def _pool(store: Store, study: Study, assignment: Assignment) -> Pool:
    return store.pools.of_session(study.question_of(assignment).pool_id)


def _span(entered: dict[str, float], begin: str, end: str) -> float | None:
    if begin not in entered or end not in entered:
        return None
    return round(entered[end] - entered[begin], 3)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Iterate over the lines of a CSV table that no spreadsheet takes for formulas."""
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(map(_cell, row))


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return neutral(value)


def neutral(value: Any) -> Any:
    """Return a text so that no spreadsheet takes it for a formula."""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def _csv(rows: Iterable[Record], columns: list[Column]) -> Iterator[bytes]:
    names = [column.name for column in columns]
    lines = table_lines(names, ([row[name] for name in names] for row in rows))
    for chunk in _chunks(lines):
        yield "".join(chunk).encode()


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
    """Read an export back, as the rows that were written; `path` says which format it is."""
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
        return _NEUTRALISED.sub(r"\1", field)
    if column.kind == "truth":
        return field == "true"
    return int(field) if column.kind == "whole" else float(field)


def _chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    values = iter(values)
    while chunk := list(islice(values, size)):
        yield chunk


def _arrow() -> tuple[Any, Any]:
    needed = ("Parquet", "parquet")
    return import_extra("pyarrow", *needed), import_extra("pyarrow.parquet", *needed)


def codebook(study: Study, datasets: tuple[str, ...] = SHARED) -> str:
    """Return the codebook of a study's export, as Markdown."""
    design = study.design
    lines = [
        f"# {design.heading}: codebook",
        "",
        f"Study `{study.slug}`; its data are of kind `{design.data}`. Empty fields are unknown.",
        "The design as it was stands in the file whose name ends in `-design.json`.",
        f"The rules of the flags: {design.flags.model_dump()}. The design's seed: {design.seed}.",
        "",
    ]
    for domain in design.domains:
        for arm in design.arm_names:
            steps = " and ".join(map(str, design.checkpoints(domain.name, arm))) or "none"
            lines.append(
                f"- {domain.name}, {arm}: {design.budget(domain.name, arm)} comparisons, "
                f"selections evaluated after {steps}."
            )
    lines += ["", _FORMULAS]
    for name in datasets:
        lines += ["", f"## {name}", "", "| column | kind | meaning |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.kind} | {c.meaning} |" for c in COLUMNS[name]]
    return "\n".join(lines) + "\n"
