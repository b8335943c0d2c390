"""`useralign memory`: learn, look, forget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.cli.test_ask import DINNER, PAPER
from tests.commands import run
from tests.memory.people import Crowd
from tests.users.population import population
from useralign import FileFormatError, Session
from useralign.cli.memory import recalled, remember
from useralign.cli.saved import Saved
from useralign.memory import Memory
from useralign.methods import method_for


def held(budget: int = 4, seed: int = 0) -> Session:
    """A session that somebody answered, always for the first of two."""
    session = Session(Crowd.draw().pool, epsilon=None, budget=budget, seed=seed)
    while (pair := session.ask()) is not None:
        session.tell(pair.first)
    return session


def test_learning_looking_and_forgetting(tmp_path: Path) -> None:
    folder = population(people=8, items=10, dimension=8, pairs=8).write(tmp_path / "people")
    mine, file = tmp_path / "mine.json", tmp_path / "memory.json"
    Saved(mine).write(held())
    done = run("memory", "fit", str(folder), str(mine), "--out", str(file), "--json")
    assert done.returncode == 0, done.stderr
    learnt = json.loads(done.stdout)
    assert learnt["others"][0]["people"] == 8
    assert learnt["sessions"][0]["answers"] == 4
    assert json.loads(run("memory", "show", str(file), "--json").stdout) == learnt
    shown = run("memory", "show", str(file))
    assert "  1  Which?, 4 answers" in shown.stdout
    assert "Your past answers lean towards:" in shown.stdout
    done = run("memory", "forget", str(file), "1", "--json")
    assert json.loads(done.stdout) == {"forgotten": 1, "left": 0, "file": True}
    assert "dish" not in file.read_text()
    assert run("memory", "forget", str(file), "--all").returncode == 0
    assert not file.exists()


def test_wrong_usage(tmp_path: Path) -> None:
    file = Memory((Crowd.draw().past(1, 3),)).save(tmp_path / "memory.json")
    before = file.read_text()
    for extra in ([], ["2"], ["0"], ["1", "--all"]):
        done = run("memory", "forget", str(file), *extra)
        assert done.returncode == 2, extra
    assert file.read_text() == before
    file.write_text(before[:100])
    done = run("memory", "show", str(file))
    assert done.returncode == 1
    assert "memory.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_simulated_people_are_nobodys_memory(tmp_path: Path) -> None:
    mine, file = tmp_path / "mine.json", tmp_path / "memory.json"
    Saved(mine).write(held(), "simulated: somebody")
    done = run("memory", "fit", str(mine), "--out", str(file))
    assert done.returncode == 1
    assert "simulated" in done.stderr
    assert not file.exists()


def test_a_session_is_remembered_once(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    pool, frugal = Crowd.draw().pool, method_for("frugal")
    assert recalled(frugal, file, pool, grows=False).options()["prior"] is None
    remember(file, held(0))
    assert not file.exists()  # nothing was said
    for budget in (2, 4, 4):  # the same session, gone on
        remember(file, held(budget))
    remember(file, held(4, seed=1))
    assert [len(past) for past in Memory.load(file).own] == [4, 4]
    assert recalled(frugal, file, pool, grows=False).options()["prior"] is not None


def test_a_damaged_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text("{")
    with pytest.raises(FileFormatError):
        remember(file, held())
    assert file.read_text() == "{"


def test_a_person_who_names_a_file_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    asked = ("ask", DINNER, "--method", "frugal", "--budget", "3", "--memory", str(file))
    for _ in range(2):
        with Terminal(*asked) as terminal:
            for _ in range(3):
                terminal.wait_for("good enough")
                terminal.press("1")
            terminal.wait_for("q quit")
            terminal.press("q")
            assert terminal.finish() == 0
    first, second = Memory.load(file).own
    assert len(first) == len(second) == 3
    assert first.wins != second.wins or first.keys != second.keys
    with Terminal(*asked, "--no-memory") as terminal:
        for _ in range(3):
            terminal.wait_for("good enough")
            terminal.press("1")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish() == 0
    assert len(Memory.load(file).own) == 2


def test_a_simulated_person_uses_a_memory_and_leaves_it_alone(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    Memory((Crowd.draw().past(1, 3),)).save(file)
    before = file.read_text()
    done = run("ask", DINNER, "--method", "frugal", "--budget", "2", "--memory", str(file))
    assert done.returncode == 0, done.stderr
    assert file.read_text() == before
    done = run("ask", DINNER, *PAPER, "--budget", "2", USERALIGN_MEMORY=str(file))
    assert "--method frugal does" in done.stdout
    file.write_text("{")
    done = run("ask", DINNER, "--memory", str(file))
    assert done.returncode == 1
    assert "memory.json" in done.stderr
