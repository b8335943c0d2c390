"""The other commands, and what all have in common."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_ask import DINNER
from tests.commands import run, run_apart
from useralign import Pool

COMMANDS = [
    ["ask"],
    ["pool", "generate"],
    ["pool", "import"],
    ["pool", "show"],
    ["pool", "dsp"],
    ["models", "pull"],
    ["models", "list"],
    ["models", "remove"],
    ["memory", "show"],
    ["memory", "forget"],
    ["memory", "fit"],
    ["study", "init"],
    ["study", "add"],
    ["study", "status"],
    ["study", "results"],
    ["study", "export"],
    ["study", "forget"],
    ["study", "invite"],
    ["study", "close"],
    ["study", "simulate"],
    ["reproduce"],
    ["bench", "methods"],
    ["serve"],
    ["serve", "keys", "add"],
    ["serve", "keys", "list"],
    ["serve", "keys", "remove"],
    ["doctor"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_and_has_json(command: list[str]) -> None:
    done = run(*command, "--help", COLUMNS="80")
    assert done.returncode == 0
    assert "--json" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_version() -> None:
    assert run_apart("--version").stdout.startswith("useralign 0.")


def test_doctor_names_what_is_missing_and_the_command() -> None:
    rows = {row["topic"]: row for row in json.loads(run("doctor", "--json").stdout)}
    assert rows["kernel"]["state"] == "compiled"
    assert rows["local models"]["remedy"].startswith("useralign models pull")
    assert any("default for texts" in row["state"] for row in rows.values())
    plain = run("doctor", OPENAI_API_KEY="sk-secret-value")
    assert "OPENAI_API_KEY is set" in plain.stdout
    assert "sk-secret" not in plain.stdout + plain.stderr


def test_import_then_show_then_ask(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    texts = ["Plant a lemon tree.", "Plant a lemon tree!", "Sow some radishes today."]
    file.write_text("\n".join(json.dumps({"text": t}) for t in texts), encoding="utf-8")
    done = run("pool", "import", str(file), "--question", "What to grow?")
    assert done.returncode == 0, done.stderr
    made = tmp_path / "mine.pool.json"
    assert len(Pool.load(made)) == 3
    shown = run("pool", "show", str(made), COLUMNS="80")
    assert shown.returncode == 0, shown.stderr
    assert "nearly the same" in shown.stdout
    assert "near is alike" in shown.stdout
    facts = json.loads(run("pool", "show", str(made), "--json").stdout)
    assert facts["near_duplicates"][0]["first"] == 0
    assert run("ask", "--pool", str(made)).returncode == 0


def test_show_a_shipped_question() -> None:
    done = run("pool", "show", DINNER, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "zero-waste" in done.stdout or "unbiased" in done.stdout


@pytest.mark.filterwarnings("default::useralign.errors.ScalingWarning")
def test_import_of_a_row_that_outweighs_all_others(tmp_path: Path) -> None:
    file, made = tmp_path / "mine.jsonl", tmp_path / "mine.json"
    rows = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [1e5, 1.0]}
    lines = (json.dumps({"text": text, "features": row}) for text, row in rows.items())
    file.write_text("\n".join(lines), encoding="utf-8")
    done = run("pool", "import", str(file), "--out", str(made))
    assert done.stderr.startswith("useralign: row 3 of the features is 82,843 times as long")
    assert len(done.stderr.splitlines()) == 1
    for source in (made, file):  # of a pool that was saved, too
        done = run("pool", "import", str(source), "--normalise", "clip", "--out", str(made))
        assert (done.returncode, done.stderr) == (0, "")
        assert Pool.load(made).normalise == "clip"
    done = run("pool", "import", str(file), "--normalise", "none", "--out", str(made))
    assert "Use normalise='ball'" in done.stderr


def test_import_of_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")
    done = run("pool", "import", str(empty))
    assert done.returncode == 1
    assert "empty.txt" in done.stderr


def test_show_makes_nothing() -> None:
    done = run("pool", "show", "missing.json", OPENAI_API_KEY="sk-x")
    assert done.returncode == 1
    assert "no file 'missing.json'" in done.stderr
    assert run("pool", "show", "x" * 300).returncode == 1


def test_doctor_prints_the_extras_whole() -> None:
    assert "useralign[openclip]" in run("doctor", COLUMNS="200").stdout
