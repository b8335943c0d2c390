"""The check that plug-in authors run passes on the built-in stores, and can fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection

from useralign.store import Interactions
from useralign.store.database import Database
from useralign.testing import check_store


def test_the_built_in_stores_conform(store_url: str) -> None:
    check_store(store_url)


def test_a_store_that_does_not_roll_back(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(Database):
        @contextmanager
        def writing(self) -> Iterator[Connection]:
            with self._turn, self.engine.connect() as connection:
                try:
                    yield connection
                finally:
                    connection.commit()

    monkeypatch.setattr("useralign.store.store.Database", Careless)
    with pytest.raises(AssertionError, match="transaction that failed"):
        check_store(store_url)


def test_a_store_that_shows_strangers(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Interactions.screen
    monkeypatch.setattr(Interactions, "screen", lambda self, name, _: original(self, name, "one"))
    with pytest.raises(AssertionError, match="stranger"):
        check_store(store_url)
