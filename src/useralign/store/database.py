"""A database by its address: SQLite in a file, or PostgreSQL.

SQLite runs with a write-ahead log, full synchronisation and a busy time-out; writers of one
process queue at a lock instead of polling the file. PostgreSQL may be shared by several servers.

Another kind of database is a plug-in: an entry point in the group `useralign.stores` whose name is
the scheme of its addresses, and which is a function from an address to an SQLAlchemy engine.
`useralign.testing.check_store` tells whether it keeps what the store promises.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from useralign import registry
from useralign.errors import MissingExtraError, OptionError, StoreError
from useralign.files import data_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection, Engine

BUSY_SECONDS = 30
_WRITING = "useralign_writing"


def default_url() -> str:
    """Return the address used when none is given: `USERALIGN_DATABASE`, or a file of our own."""
    named = os.environ.get("USERALIGN_DATABASE")
    return named or sqlite_url(data_dir("useralign.db"))


def sqlite_url(path: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{path.absolute()}"


class Database:
    """Connections to one database.

    Parameters
    ----------
    url : str
        `sqlite:////path/to/file.db` or `postgresql+psycopg://user@host/name`.

    Raises
    ------
    OptionError
        If the address is not one of these.
    StoreError
        If the database cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.url = address(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.engine: Engine = registry.load("stores", self.url.get_backend_name())(self.url)
        self._turn = threading.Lock() if self.sqlite else nullcontext()
        try:
            with self.reading():
                pass
        except DatabaseError as error:
            self.close()
            raise StoreError(
                f"cannot open the database {self.url.render_as_string()}: {error.orig}; "
                "check the address, that the server runs, and the rights on the file"
            ) from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection for reading; it sees one state throughout on SQLite."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Lend a connection for one transaction: all of it is kept, or nothing."""
        lent = self.engine.connect
        with self._turn, lent().execution_options(**{_WRITING: True}) as open_, open_.begin():
            yield open_

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def address(url: str) -> URL:
    """Read the address of a database.

    Raises
    ------
    OptionError
        If it is none, or of a kind that is not installed.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() not in registry.names("stores"):
        raise OptionError(
            f"{_shown(url)!r} is no address of a database; expected sqlite:////path/to/file.db or "
            "postgresql+psycopg://user@host/name"
        )
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "sqlite" and not parsed.database:
        raise OptionError(f"{url!r} names no file; expected sqlite:////path/to/file.db")
    return parsed


def _shown(url: str) -> str:
    """Return an address without the password that may be in it."""
    return re.sub(r"//[^/@]*@", "//***@", url)


def sqlite_engine(url: URL) -> Engine:
    """Return an engine for a SQLite file, which is created where there is none."""
    Path(url.database or "").parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url,
        pool_size=20,
        max_overflow=40,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        for line in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "PRAGMA foreign_keys=ON",
            "PRAGMA secure_delete=ON",  # what is forgotten leaves no trace in free pages
        ):
            connection.execute(line)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get(_WRITING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def postgresql_engine(url: URL) -> Engine:
    """Return an engine for PostgreSQL."""
    try:
        return create_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise MissingExtraError("PostgreSQL", "postgres") from error
