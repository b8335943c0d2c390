"""Two servers over one database, at the same moment: one row, and nobody sees an error."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import func, insert, select, text

from tests.databases import PostgresServer
from tests.store import first_schema
from useralign import Pool
from useralign.errors import ConflictError, StoreError
from useralign.store import Interactions, Store, open_store
from useralign.store.database import Database, sqlite_url
from useralign.store.schema import persons, pools

ME = "me"
MANY = 20


@pytest.fixture
def servers(store_url: str) -> Iterator[list[Store]]:
    opened = [open_store(store_url) for _ in range(2)]
    yield opened
    for server in opened:
        server.close()


def rows(store: Store, table: object) -> int:
    with store.reading() as connection:
        counted = select(func.count()).select_from(table)  # type: ignore[arg-type]
        return int(connection.execute(counted).scalar_one())


def test_twenty_first_requests_with_one_cookie(servers: list[Store]) -> None:
    barrier = Barrier(MANY)

    def visit(number: int) -> bool:
        barrier.wait()
        return servers[number % 2].persons.visit(ME, 100.0).remember

    with ThreadPoolExecutor(MANY) as threads:
        assert list(threads.map(visit, range(MANY))) == [False] * MANY
    assert rows(servers[0], persons) == 1


@pytest.mark.parametrize("owner", [ME, None])
def test_twenty_equal_pools(servers: list[Store], pool: Pool, owner: str | None) -> None:
    barrier = Barrier(MANY)

    def add(number: int) -> str:
        barrier.wait()
        return servers[number % 2].pools.add(pool, owner)

    with ThreadPoolExecutor(MANY) as threads:
        assert len(set(threads.map(add, range(MANY)))) == 1
    assert rows(servers[0], pools) == 1


def test_two_keys_of_one_name(servers: list[Store]) -> None:
    barrier = Barrier(MANY)

    def add(number: int) -> bool:
        barrier.wait()
        try:
            servers[number % 2].keys.add("mine")
        except (ConflictError, ValueError):
            return False
        return True

    with ThreadPoolExecutor(MANY) as threads:
        assert sum(threads.map(add, range(MANY))) == 1
    assert [key.name for key in servers[0].keys.all()] == ["mine"]


def test_what_comes_back_stands_beside_what_was_made_again(store: Store, pool: Pool) -> None:
    live = Interactions(store)
    sessions = []
    for moment in (100.0, 200.0, 300.0):
        screen = live.create(store.pools.add(pool, ME), ME, {"seed": 1})
        sessions.append(screen.session_id)
        if moment < 300.0:
            store.personal.delete_all(ME, moment)
    assert store.personal.restore(ME)
    assert {summary.id for summary in live.all(ME)} == set(sessions)
    newest = live.open(sessions[-1], ME).screen.pool_id
    assert store.pools.add(pool, ME) == newest


def test_copies_of_earlier_versions_are_set_apart(
    tmp_path: Path, postgres_server: PostgresServer, pool: Pool
) -> None:
    for url in (sqlite_url(tmp_path / "old.db"), postgres_server.blank()):
        database = Database(url)
        first_schema.create(database)
        with database.writing() as connection:
            for number, owner in enumerate((None, None, ME, ME, "other")):
                row = {"id": str(number), "owner": owner, "fingerprint": pool.fingerprint}
                row |= {"kind": "text", "question": "?", "data": "{}"}
                connection.execute(insert(pools).values(**row, created=0.0))
            for number in range(2):
                key = {"id": str(number), "name": "mine", "created": 0.0}
                line = "INSERT INTO api_keys (id, name, created) VALUES (:id, :name, :created)"
                connection.execute(text(line), key)
        database.close()
        store = open_store(url)
        ids = [store.pools.add(pool, owner) for owner in (None, ME, "other")]
        assert ids == ["0", "2", "4"]
        assert rows(store, pools) == 5
        assert len({key.name for key in store.keys.all()}) == 2
        store.close()


def test_another_programs_file_stays_as_it_is(tmp_path: Path) -> None:

    path, before = tmp_path / "theirs.db", tmp_path / "before.db"
    for statement in (
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)",
        "CREATE TABLE alembic_version (version_num VARCHAR(32))",
        "INSERT INTO alembic_version VALUES ('ae1027a6acf')",
        "DELETE FROM alembic_version",
    ):
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        shutil.copy(path, before)
        with pytest.raises(StoreError, match="another program"):
            open_store(sqlite_url(path))
        with sqlite3.connect(path) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        connection.close()
        assert names <= {"notes", "alembic_version"}
        if "alembic_version" not in names:
            assert path.read_bytes() == before.read_bytes()


def test_another_programs_schema_on_postgresql(postgres_server: PostgresServer) -> None:

    url = postgres_server.blank()
    database = Database(url)
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE notes (id INTEGER)"))
    with pytest.raises(StoreError, match="another program"):
        open_store(url)
    database.close()
