"""The commands of a study, one after the other as a researcher uses them."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.cli.terminal import Terminal
from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.pooling.conftest import dish
from tests.study.conftest import Walker
from useralign.cli.app import build
from useralign.errors import FileFormatError, NotFoundError, OptionError
from useralign.store import open_store
from useralign.study import ParticipantFlow
from useralign.study.recruitment import Arrival, arrive


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The study file of `init`, made small by hand."""
    path = tmp_path / "study.toml"
    assert call("init", str(path))["file"] == str(path)
    text = path.read_text(encoding="utf-8")
    text = text[: text.index('[[domains]]\nname = "visual512d"')] + text[text.index("[rec") :]
    for before, after in (
        ("participants = 960", "participants = 8"),
        ('questions = "all"  ', 'questions = ["food-01"]'),
        ("budget = 10", "budget = 4"),
        ("[5, 10]", "[2, 4]"),
        ("invitation = false", "invitation = true"),
        ('dinner-and-pictures"', 'small"'),
    ):
        assert before in text
        text = text.replace(before, after, 1)
    path.write_text(text, encoding="utf-8")
    return path


def call(*words: str) -> Any:
    """Run a command and return what its JSON says."""
    done = CliRunner().invoke(build(), ["study", *words, "--json"])
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


def said(*words: str) -> str:
    """Run a command and return what it prints for people."""
    done = CliRunner().invoke(build(), ["study", *words])
    assert done.exception is None, done.exception
    return str(done.stdout)


@contextmanager
def serving_texts() -> Iterator[str]:
    """A service that writes dishes."""
    server = ScriptedService()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    server.will(*(Reply(chat(dish(f"new {number}"))) for number in range(40)))
    yield server.base_url
    server.shutdown()
    server.server_close()


def test_from_the_file_to_the_results(file: Path, tmp_path: Path, store_url: str) -> None:
    where = ("--database", store_url)
    assert call("add", str(file), *where) == {"slug": "small", "cells": 4, "places": 2}
    assert call("add", str(file), *where)["slug"] == "small"
    links = call("invite", "small", "--count", "3", "--url", "https://x.example/", *where)
    assert len(set(links)) == 3
    assert all(link.startswith("https://x.example/study/small?invitation=") for link in links)
    with closing(open_store(store_url)) as store:
        flow = ParticipantFlow(store)
        walker = Walker(flow, flow.studies.get("small"))
        guest = arrive(walker.study, {"invitation": links[0].partition("invitation=")[2]})
        walker.finish(walker.enter(guest))
        leaving = walker.look(walker.enter(Arrival("link"))).participant.pseudonym
    status = call("status", "small", *where)
    assert (status["finished"], status["active"], status["wanted"]) == (1, 1, 8)
    assert "1 of 8 finished" in said("status", "small", *where)
    outcome = call("results", "small", *where)
    assert sum(row["count"] for row in outcome["results"]) == 4  # one method and Random, two steps
    assert outcome["finished"] == sum(outcome["attention"].values()) == 1
    assert {row["people"] for row in outcome["rates"]} == {1}
    assert all(row["low"] is None for row in outcome["rates"])
    assert {test["test"] for test in outcome["tests"]} == {"McNemar, exact"}
    shown = said("results", "small", "--without", "same_side", *where)
    assert "(0.0), n = 1" not in shown
    assert "Left out by flags: 1." in shown or "interval" not in shown
    assert "| UserAlign, paper |" not in said("results", "small", *where)  # other steps than 5, 10
    files = call("export", "small", "--out", str(tmp_path / "out"), "--payments", *where)
    assert [Path(name).name for name in files] == [
        "small-answers.csv", "small-participants.csv", "small-pages.csv", "small-fields.csv",
        "small-candidates.csv", "small-payments.csv", "small-design.json", "small-codebook.md",
    ]  # fmt: skip
    assert call("forget", "small", leaving, *where) == {"forgotten": leaving}
    assert call("status", "small", *where)["active"] == 0
    assert call("forget", "small", "--worker-ids", *where) == {"worker_ids": 1}
    assert call("close", "small", *where) == {"open": False, "state": "closed"}
    assert call("close", "small", "--reopen", *where)["open"]
    assert call("pause", "small", *where)["state"] == "paused"
    assert call("status", "small", *where)["state"] == "paused"
    assert call("open", "small", *where)["state"] == "open"
    assert call("pilot", "small", *where) == {"slug": "small-pilot"}
    assert call("status", "small-pilot", *where)["finished"] == 0
    with pytest.raises(OptionError, match="is a pilot itself"):
        call("pilot", "small-pilot", *where)


def test_mistakes(file: Path, tmp_path: Path) -> None:
    where = ("--database", f"sqlite:///{tmp_path / 'x.db'}")
    with pytest.raises(OptionError, match="is there already"):
        call("init", str(file))
    with pytest.raises(NotFoundError, match="useralign study add"):
        call("status", "none", *where)
    with pytest.raises(FileFormatError):
        call("add", str(tmp_path / "none.toml"), *where)
    call("add", str(file), *where)
    for words in ([], ["p-0", "--worker", "x"], ["p-0", "--worker-ids"]):
        with pytest.raises(OptionError, match="say whom to forget"):
            call("forget", "small", *words, *where)
    for url in ("http://127.0.0.1:9", "nonsense", "http://[::"):
        with pytest.raises(OptionError, match="no server answers at"):
            call("simulate", str(file), "--participants", "1", "--url", url)
    with pytest.raises(OptionError, match="source"):
        call("simulate", str(file), "--source", "elsewhere")


def test_simulate(file: Path, sqlite_copy: str) -> None:
    options = ("--participants", "8", "--concurrency", "8", "--window", "2", "--drop-out", "0.2")
    outcome = call("simulate", str(file), *options, "--database", sqlite_copy)
    assert outcome["simulation"]["finished"] >= 8
    assert outcome["simulation"]["troubles"] == {}
    assert outcome["simulation"]["missing"] == 0
    assert outcome["status"]["finished"] == outcome["simulation"]["finished"]
    assert {"p50", "p95", "p99", "max"} == set(outcome["simulation"]["latency"])


def test_init_writes_a_file_that_is_right(tmp_path: Path) -> None:
    answers = tmp_path / "answers.txt"
    answers.write_text("Walk.\nSwim.\nSleep.\nRead a book.\n", encoding="utf-8")
    for kind in ("texts", "paper"):
        path = tmp_path / f"{kind}.toml"
        given = ("--kind", kind, "--answers", "answers.txt", "--participants", "10")
        call("init", str(path), *given)
        about = call("check", str(path))
        assert sum(cell["places"] for cell in about["cells"]) >= 10
    assert 'wording = "paper"' in path.read_text(encoding="utf-8")
    assert "paper.toml is right" in said("check", str(path))
    with pytest.raises(OptionError, match="paper, texts or pictures"):
        call("init", str(tmp_path / "x.toml"), "--kind", "sounds")


def test_init_asks_four_questions(tmp_path: Path) -> None:
    path = tmp_path / "asked.toml"
    with Terminal("study", "init", str(path)) as terminal:
        for words, answer in (
            ("What do people compare", "texts"),
            ("Which question", "What now?"),
            ("Where are they", "mine.jsonl"),
            ("How many", "24"),
        ):
            terminal.wait_for(words)
            terminal.press(f"{answer}\r")
        assert terminal.finish() == 0
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    assert written["participants"] == 24
    assert written["questions"][0]["text"] == "What now?"
    assert written["questions"][0]["pool"] == "mine.jsonl"


def test_a_model_writes_the_answers_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made.toml"
    call("init", str(path), "--kind", "texts", "--answers", "openai:gpt-4o-mini")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('id = "first"', 'id = "first"\nsize = 4'), encoding="utf-8")
    with pytest.raises(FileFormatError, match="useralign study prepare"):
        call("check", str(path))
    with serving_texts() as url:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
        before = call("prepare", str(path))
        assert before["made"] == []
        count, cost = before["estimate"][0]["cost"]
        assert count == 4
        assert 0 < cost < 0.01
        made = call("prepare", str(path), "--yes")["made"]
    assert made == [str(tmp_path / "first.pool.json")]
    assert call("prepare", str(path), "--yes") == {"made": [], "estimate": []}
    assert call("check", str(path))["questions"] == 1


def test_all_words_can_be_copied(tmp_path: Path) -> None:
    for language in ("en", "de"):
        texts = tomllib.loads(said("words", "--language", language))["words"]
        assert texts == call("words", "--language", language)
        assert "{number}" in texts["progress"]
    with pytest.raises(OptionError, match="en, de"):
        call("words", "--language", "xx")
