"""Applications over real stores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import event

from tests.web.browser import Browser
from useralign.store import Store, open_store
from useralign.web import Settings
from useralign.web.app import create_app


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test meets the models, keys or pools of whoever runs it."""
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL", "USERALIGN_SECRET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def app(store: Store) -> FastAPI:
    """The application over SQLite and over PostgreSQL."""
    return create_app(store)


@pytest.fixture
def browser(app: FastAPI) -> Browser:
    return Browser(app)


@pytest.fixture
def light(sqlite_copy: str) -> Iterator[Store]:
    """SQLite alone, where the database is not the point."""
    opened = open_store(sqlite_copy)
    yield opened
    opened.close()


@pytest.fixture
def patient(light: Store) -> Store:
    """The same, to be waited for by threads alone: an event loop would hold up everybody."""

    def check(*_: object) -> None:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()

    event.listen(light.engine, "before_cursor_execute", check)
    return light


@pytest.fixture
def open_app(light: Store) -> FastAPI:
    """The application as it is reached from elsewhere."""
    return create_app(light, Settings(secret="a secret of many letters", loopback=False))  # noqa: S106
