"""`useralign doctor`: what is here, what is missing, and the command that adds it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.models.conftest import service
from tests.models.scripted_service import Reply, ScriptedService
from useralign.cli.doctor import EXTRAS, Finding, findings
from useralign.methods import list_methods
from useralign.models.providers import providers

__all__ = ["service"]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("USERALIGN_DATABASE", raising=False)
    for provider in providers().values():
        for name in (provider.key, f"{provider.key}_FILE", provider.address or "X"):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("useralign.models.providers._last", None)


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
    assert found["servers here"].remedy == "unset USERALIGN_SERVERS"
    for name in ("OpenAI", "Anthropic", "Google Gemini", "OpenRouter", "Groq", "Mistral"):
        assert found[name].remedy == f"export {name.split()[-1].upper()}_API_KEY=..."


def test_servers_and_keys(service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [{"id": f"m{number}-7b"} for number in range(7)]
    service.pages["/v1/models"] = Reply({"object": "list", "data": models})
    monkeypatch.setenv("USERALIGN_SERVERS", service.base_url)
    row = rows()["OpenAI-compatible service"]
    assert row.good
    assert row.state.endswith("m0-7b, m1-7b, m2-7b, m3-7b, m4-7b and 2 more")
    assert rows()["answers from"].state == f"{service.base_url}#m0-7b"
    monkeypatch.setenv("GROQ_API_KEY", "gsk-secret-word")
    assert rows()["answers from"].state == "groq"
    assert "secret-word" not in repr(findings())


def test_servers_that_do_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USERALIGN_SERVERS")
    monkeypatch.setattr("useralign.models.providers.find_servers", list)
    found = rows()
    assert found["Ollama"].remedy == "ollama serve"
    assert found["LM Studio"].remedy == "lms server start"
    assert found["Ollama"].good is None
    assert found["answers from"].remedy.startswith("useralign models pull")


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
