"""Addresses, schema and transactions, on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select, text

from tests.databases import PostgresServer
from tests.store import first_schema
from useralign.errors import OptionError, StoreError
from useralign.store import Store, open_store
from useralign.store.database import Database, default_url, sqlite_url
from useralign.store.migrate import NEWEST, version
from useralign.store.schema import metadata, persons

ROW = {"id": "a", "created": 0.0, "seen": 0.0, "remember": False, "share": False}


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://x/y", "sqlite://", "sqlite:///"])
def test_an_address_that_is_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_DATABASE", "nonsense")
    with pytest.raises(OptionError, match="expected sqlite"):
        open_store(url)


@pytest.mark.parametrize(
    "url", ["sqlite:////proc/none/x.db", "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"]
)
def test_a_database_that_cannot_be_reached(url: str) -> None:
    with pytest.raises((StoreError, OSError)):
        open_store(url)


def test_the_default_is_a_file_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USERALIGN_DATABASE", raising=False)
    monkeypatch.setenv("USERALIGN_DATA", str(tmp_path / "kept"))
    assert default_url().endswith("kept/useralign.db")
    open_store().close()
    assert (tmp_path / "kept" / "useralign.db").exists()


def test_a_new_database_has_the_schema_that_migrations_lead_to(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    for new, old in (
        (sqlite_url(tmp_path / "new.db"), sqlite_url(tmp_path / "old.db")),
        (postgres_server.blank(), postgres_server.blank()),
    ):
        earlier = Database(old)
        first_schema.create(earlier)
        earlier.close()
        for url in (new, old):
            store = open_store(url)
            with store.reading() as connection:
                assert version(connection) == NEWEST
                assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            store.close()


def test_opening_again_changes_nothing(store_url: str) -> None:
    open_store(store_url).close()
    again = open_store(store_url)
    with again.reading() as connection:
        assert connection.execute(select(persons)).all() == []
    again.close()


def test_servers_that_start_at_once_migrate_once(postgres_server: PostgresServer) -> None:
    address = postgres_server.blank()
    with ThreadPoolExecutor(4) as threads:
        for store in threads.map(lambda _: open_store(address), range(4)):
            with store.reading() as connection:
                assert connection.execute(select(persons)).all() == []
            store.close()


def test_a_database_that_was_lent_comes_back_empty(postgres_server: PostgresServer) -> None:
    with postgres_server.lent() as address:
        left_open = open_store(address)
        with left_open.writing() as connection:
            connection.execute(insert(persons).values(ROW))
    with postgres_server.lent() as again:
        assert again == address
        store = open_store(again)
        with store.reading() as connection:
            assert connection.execute(select(persons)).all() == []
        store.close()
    left_open.close()


def test_a_newer_database_is_left_alone(store: Store, store_url: str) -> None:
    with store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="newer"):
        open_store(store_url)


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    def half() -> None:
        with store.writing() as connection:
            connection.execute(insert(persons).values(ROW))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    with store.reading() as connection:
        assert connection.execute(select(persons)).all() == []


def test_sqlite_is_set_up_to_lose_nothing(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}")
    with store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "busy_timeout": 30_000,
        "foreign_keys": 1,
    }
    store.close()


def test_a_damaged_file_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("this is not a database, and long enough to be looked at as one" * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:///{path}")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://somebody:hunter2@host/name",
        "mysql://somebody:a/hunter2@host/name",
        "postgresql://somebody:a@hunter2@host/name",
        "postgresql://somebody:hunter2@host:port/name",
        "postgresql://somebody:a/hunter2@127.0.0.1:1/name",
        "postgresql://somebody@127.0.0.1:1/name?password=hunter2&connect_timeout=2",
    ],
)
def test_no_message_has_a_password(url: str) -> None:
    with pytest.raises((OptionError, StoreError)) as told:
        open_store(url)
    assert "hunter2" not in str(told.value)


def test_a_connection_in_use_while_all_are_closed_is_closed_after_use(store_url: str) -> None:
    store = open_store(store_url)
    with store.reading() as connection:
        driver = connection.connection.dbapi_connection
        store.close()
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        driver.execute("SELECT 1")  # type: ignore[union-attr]
