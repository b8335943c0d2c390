"""`useralign bench methods` end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import run
from tests.users.population import population


def test_recorded_people_from_a_folder_to_tables_and_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    people = population().write(tmp_path / "people")
    out = tmp_path / "out"
    command = ("bench", "methods", "--people", str(people), "--out", str(out), "--runs", "2")
    done = run(*command, "--methods", "useralign,tournament", "--jobs", "1", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "people, recorded people: 12 interactions" in done.stdout
    assert "…" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if "files in" not in line) <= 80
    assert "| tournament |" in (out / "summary.md").read_text()
    assert (out / "figures" / "people.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "figures" / "people.svg").exists()
    assert (out / "tables" / "people-recorded-regret.csv").exists()
    cells = json.loads((out / "results.json").read_text())["cells"]
    assert len(cells) == 24
    again = run(*command, "--methods", "tournament", "--json")
    assert again.returncode == 0, again.stderr
    value = json.loads(again.stdout)
    line = value["groups"][0]["methods"][0]
    assert line["method"] == "tournament"
    assert line["interactions"] == 12
    assert line["regret"]["20"]["mean"] < line["regret"]["0"]["mean"]
    assert line["top"]["0"] == {"mean": line["top"]["0"]["mean"], "sem": line["top"]["0"]["sem"]}


def test_a_domain_and_a_synthetic_pool(tmp_path: Path) -> None:
    command = ("bench", "methods", "-p", "food64d,synthetic2d", "-n", "1", "-m", "tournament")
    done = run(*command, "--users", "btl", "-o", str(tmp_path), "-j", "1", "--json")
    assert done.returncode == 0, done.stderr
    groups = json.loads(done.stdout)["groups"]
    assert [(g["pool"], g["users"]) for g in groups] == [
        ("food64d", "persona"),
        ("synthetic2d", "btl"),
    ]
    assert groups[0]["methods"][0]["interactions"] == 30
    assert groups[0]["methods"][0]["top"]["20"]["mean"] == 1.0


def test_mistakes_are_said_plainly(tmp_path: Path) -> None:
    done = run("bench", "methods", "-p", "moon", "-o", str(tmp_path))
    assert done.returncode == 1
    assert "unknown pool 'moon'" in done.stderr
    done = run("bench", "methods", "--people", str(tmp_path / "none"), "-o", str(tmp_path))
    assert done.returncode == 1
    assert "has no items.jsonl" in done.stderr
    done = run("bench", "methods", "-m", " , ", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "--methods ' , ' names nothing" in done.stderr
