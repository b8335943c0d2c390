"""`useralign doctor`: what is here, what is missing, and the command that adds it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from useralign.cli.doctor import EXTRAS, Finding, findings
from useralign.methods import list_methods


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("USERALIGN_DATABASE", raising=False)


def rows() -> dict[str, Finding]:
    return {row.topic: row for row in findings()}


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Make modules look as if they were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in modules else find(name)
    )


def test_everything_has_a_row() -> None:
    found = rows()
    for extra in ("web", "postgres", "parquet", "local", "openai"):
        assert f"extra {extra}" in found
    assert found["methods"].state.split(", ") == list_methods()
    assert "frugal" in found["methods"].state
    assert found["local models"].remedy.startswith("useralign models pull")


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_comes_with_the_command(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = EXTRAS[extra]
    hide(monkeypatch, module)
    row = rows()[f"extra {extra}"]
    assert row.good is None
    assert row.state.endswith("not installed")
    assert row.remedy == f"pip install 'useralign[{extra}]'"


def test_the_database_is_a_file_of_our_own_that_looking_does_not_make(tmp_path: Path) -> None:
    row = rows()["database"]
    assert row.good
    assert str(tmp_path / "data" / "useralign.db") in row.state
    assert "first used" in row.state
    assert not (tmp_path / "data" / "useralign.db").exists()


def test_the_database_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "postgresql+psycopg://me:secret-word@db.example/kept"
    monkeypatch.setenv("USERALIGN_DATABASE", address)
    row = rows()["database"]
    assert row.good
    assert "db.example/kept" in row.state
    assert "secret-word" not in row.state
    hide(monkeypatch, "psycopg")
    row = rows()["database"]
    assert row.good is False
    assert row.remedy == "pip install 'useralign[postgres]'"


def test_an_address_that_is_none_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_DATABASE", "mysql://me:secret-word@db/kept")
    row = rows()["database"]
    assert row.good is False
    assert "secret-word" not in row.state
    assert "USERALIGN_DATABASE" in row.remedy


def test_without_the_web_extra_there_is_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "sqlalchemy")
    assert rows()["database"].remedy == "pip install 'useralign[web]'"
