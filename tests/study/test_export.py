"""Exports read back equal, name nobody, and carry no formulas."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import pytest

from tests.study.conftest import Clock, Walker, small_design
from useralign import __version__
from useralign.errors import FileFormatError, OptionError
from useralign.store import Store, open_store
from useralign.study import Design, ParticipantFlow
from useralign.study.export import (
    COLUMNS,
    FORMATS,
    SHARED,
    codebook,
    dataset_rows,
    export,
    neutral,
    read_rows,
)
from useralign.study.recruitment import Arrival

WORKER = "=HYPERLINK(0)"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """One database of either kind for all tests here, which only read it."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('export') / 'test.db'}"
        else:
            url = stack.enter_context(request.getfixturevalue("postgres_server").lent())
        yield stack.enter_context(closing(open_store(url)))


@pytest.fixture(scope="module")
def told(store: Store) -> Walker:
    flow = ParticipantFlow(store, Clock(), Random(5))
    walker = Walker(flow, flow.studies.add(small_design()))
    rng = Random(4)
    ids = {"PROLIFIC_PID": WORKER, "STUDY_ID": "'quoted'", "SESSION_ID": "-1+1"}
    walker.finish(walker.enter(Arrival("prolific", WORKER, ids)), lambda _: rng.randrange(2))
    for _ in range(3):
        walker.finish(walker.enter(), lambda _: rng.randrange(2))
    left = walker.enter()
    for _ in range(3):
        walker.answer(left)
    return walker


@pytest.mark.parametrize("form", FORMATS)
def test_round_trip(told: Walker, store: Store, tmp_path: Path, form: str) -> None:
    datasets = tuple(COLUMNS)
    files = export(store, told.study, tmp_path, form, datasets=datasets)
    assert len(files) == len(datasets) + 2
    for name, path in zip(datasets, files, strict=False):
        expected = list(dataset_rows(store, told.study, name))
        assert list(read_rows(path, name)) == expected
        assert [list(row) for row in expected] == [[c.name for c in COLUMNS[name]]] * len(expected)


def test_what_it_says(told: Walker, store: Store) -> None:
    answers = list(dataset_rows(store, told.study, "answers"))
    assert len(answers) == 4 * (4 + 4) + 2
    assert {row["role"] for row in answers} == {
        "comparison", "earlier", "later", "random", "attention",
    }  # fmt: skip
    for row in answers:
        assert row["winner"] == row[row["chosen"]]
        if row["role"] in ("earlier", "later", "random"):
            assert (row["left"] == "baseline") != (row["right"] == "baseline")
        assert row["page_seconds"] == 1.5
    people = list(dataset_rows(store, told.study, "participants"))
    assert [row["finished"] for row in people] == [True] * 4 + [False]
    assert people[-1]["stage"] == "comparisons"
    assert people[-1]["later"] is None
    first = {row["role"]: row for row in answers if row["participant"] == people[0]["participant"]}
    assert people[0]["later_won"] == (first["later"]["winner"] != "baseline")
    assert people[0]["later"] in (first["later"]["left"], first["later"]["right"])


def test_what_it_says_of_people(told: Walker, store: Store) -> None:
    people = list(dataset_rows(store, told.study, "participants"))
    assert {row["version"] for row in people} == {__version__}
    assert {row["data"] for row in people} == {"study"}
    assert [row["outcome"] for row in people] == ["completed"] * 4 + [None]
    assert [row["choices"] for row in people] == [7] * 4 + [2]
    assert {row["seconds_per_choice"] for row in people} == {1.5}
    answers = list(dataset_rows(store, told.study, "answers"))
    for row in answers:
        assert (row["seed"] is None) == (row["stage"] == "evaluation")
        assert row["step"] == {"earlier": 2, "later": 4}.get(row["role"])
    texts = {
        (row["question"], row["candidate"]): row["text"]
        for row in dataset_rows(store, told.study, "candidates")
    }
    for row in answers:
        if row["role"] != "attention":
            assert texts[row["question"], row["left"]]
            assert texts[row["question"], row["right"]]
    stages = list(dataset_rows(store, told.study, "pages"))
    first = [row["page"] for row in stages if row["participant"] == people[0]["participant"]]
    assert first == ["query", "comparisons", "evaluation", "done"]
    assert all(row["server_seconds"] for row in stages if row["page"] == "query")


def test_a_name_says_what_is_written(told: Walker, store: Store, tmp_path: Path) -> None:
    files = export(store, told.study, tmp_path / "new" / "mine.parquet")
    assert [path.name for path in files] == [
        "mine.parquet", "mine-participants.parquet", "mine-pages.parquet", "mine-fields.parquet",
        "mine-candidates.parquet", "mine-design.json", "mine-codebook.md",
    ]  # fmt: skip
    assert files[0].read_bytes().startswith(b"PAR1")
    stored = json.loads(files[-2].read_text(encoding="utf-8"))
    assert Design.from_dict(stored["design"]) == told.study.design
    with pytest.raises(OptionError, match="its name says parquet"):
        export(store, told.study, tmp_path / "mine.parquet", "csv")
    with pytest.raises(OptionError, match="unknown format 'xlsx'"):
        export(store, told.study, tmp_path / "mine.xlsx")


def test_nobody_is_named(told: Walker, store: Store, tmp_path: Path) -> None:
    for path in export(store, told.study, tmp_path, "csv"):
        text = path.read_text(encoding="utf-8")
        assert "HYPERLINK" not in text
        assert "quoted" not in text
    payments = list(dataset_rows(store, told.study, "payments"))
    assert payments[0]["worker"] == WORKER
    assert [row["code"] is None for row in payments] == [True] + [False] * 3 + [
        True
    ]  # a link's own


def test_no_cell_is_a_formula(told: Walker, store: Store, tmp_path: Path) -> None:
    path = export(store, told.study, tmp_path, "csv", datasets=("payments",))[0]
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'" + WORKER in cells
    assert "''quoted'" in cells
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in cells)
    for text in ("=1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "'x", " ,=1", "|@x"):
        assert neutral(text) == "'" + text
    assert neutral(";=1") == ";'=1"  # where a sheet splits at semicolons
    assert neutral("a;b;-c; d") == "a;b;'-c; d"
    assert neutral("plain = text") == "plain = text"
    assert neutral(-3) == -3


def test_the_codebook_explains_every_column(told: Walker) -> None:
    text = codebook(told.study, tuple(COLUMNS))
    for name, columns in COLUMNS.items():
        assert f"## {name}" in text
        for column in columns:
            assert f"\n| {column.name} | {column.kind} | {column.meaning} |\n" in text
            assert "|" not in column.meaning
    assert "payments" not in codebook(told.study, SHARED)


def test_the_codebook_says_how_often_each_arm_asks(flow: ParticipantFlow) -> None:
    four = {"name": "four", "method": "frugal", "budget": 3, "checkpoints": [1, 3]}
    text = codebook(flow.studies.add(small_design(slug="arms", methods=["useralign", four])))
    assert "- food64d, useralign: 4 comparisons, selections evaluated after 2 and 4." in text
    assert "- food64d, four: 3 comparisons, selections evaluated after 1 and 3." in text


def test_mistakes(told: Walker, store: Store, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="csv, jsonl, parquet"):
        export(store, told.study, tmp_path, "xlsx")
    with pytest.raises(OptionError, match="answers, participants, pages"):
        export(store, told.study, tmp_path, "csv", datasets=("secrets",))
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(FileFormatError):
        list(read_rows(wrong, "answers"))
