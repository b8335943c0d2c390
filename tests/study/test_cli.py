"""The commands of a study, one after the other as a researcher uses them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.study.conftest import Walker
from useralign.cli.app import app
from useralign.errors import FileFormatError, NotFoundError, OptionError
from useralign.store import open_store
from useralign.study import ParticipantFlow
from useralign.study.recruiting import Arrival, arrive


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
    done = CliRunner().invoke(app, ["study", *words, "--json"])
    if done.exception is not None:
        raise done.exception
    return json.loads(done.stdout)


def said(*words: str) -> str:
    """Run a command and return what it prints for people."""
    done = CliRunner().invoke(app, ["study", *words])
    assert done.exception is None, done.exception
    return str(done.stdout)


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
    found = call("status", "small", *where)
    assert (found["finished"], found["active"], found["wanted"]) == (1, 1, 8)
    assert "1 of 8 finished" in said("status", "small", *where)
    told = call("results", "small", *where)
    assert sum(row["count"] for row in told["results"]) == 4  # one method and Random, two steps
    assert told["finished"] == sum(told["attention"].values()) == 1
    assert "| UserAlign, paper |" not in said("results", "small", *where)  # other steps than 5, 10
    files = call("export", "small", "--out", str(tmp_path / "out"), "--payments", *where)
    assert [Path(name).name for name in files] == [
        "small-answers.csv", "small-participants.csv", "small-payments.csv", "small-codebook.md",
    ]  # fmt: skip
    assert call("forget", "small", leaving, *where) == {"forgotten": leaving}
    assert call("status", "small", *where)["active"] == 0
    assert call("forget", "small", "--worker-ids", *where) == {"worker_ids": 1}
    assert call("close", "small", *where) == {"open": False}
    assert call("close", "small", "--reopen", *where) == {"open": True}


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
    with pytest.raises(OptionError, match="source"):
        call("simulate", str(file), "--source", "elsewhere")


def test_simulate(file: Path, store_url: str) -> None:
    options = ("--participants", "8", "--concurrency", "8", "--window", "2", "--drop-out", "0.2")
    told = call("simulate", str(file), *options, "--database", store_url)
    assert told["simulation"]["finished"] >= 8
    assert told["simulation"]["troubles"] == {}
    assert told["simulation"]["missing"] == 0
    assert told["status"]["finished"] == told["simulation"]["finished"]
    assert {"p50", "p95", "p99", "max"} == set(told["simulation"]["latency"])
