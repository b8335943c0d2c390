"""A database by its address: SQLite in a file, or PostgreSQL.

SQLite runs with a write-ahead log, full synchronisation and a busy time-out; writers of one
process queue at a lock instead of polling the file. PostgreSQL may be shared by several servers.
These two are the databases that are meant: the locks and the removal of deleted data are theirs.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, NoSuchModuleError

from useralign.errors import MissingExtraError, OptionError, StoreError
from useralign.files import data_dir
from useralign.store.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection, Engine

BUSY_SECONDS = 30
_WRITING = "useralign_writing"
_TRIES = 100
_PAUSE = 0.1  # seconds
_BRIEFLY = 200  # milliseconds


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
        self.engine = _sqlite_engine(self.url) if self.sqlite else _postgresql_engine(self.url)
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
        """Yield a connection for reading; it sees one state throughout on SQLite."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection for one transaction: all of it is written, or nothing."""
        connect = self.engine.connect
        with (
            self._turn,
            connect().execution_options(**{_WRITING: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def wipe(self) -> None:
        """Rewrite the files without what was deleted; others wait meanwhile.

        Raises
        ------
        StoreError
            If somebody kept reading all the while. What was deleted is deleted, but the files
            still hold it.
        """
        if self.sqlite:
            _wipe_sqlite(self.engine)
        else:
            _wipe_postgresql(self.engine)

    def rinse(self) -> bool:
        """Remove deleted data from the files as far as that takes no time.

        SQLite has overwritten what was deleted in its file; the log, which may still hold it, is
        emptied unless somebody is reading. PostgreSQL's files are left to its own vacuum.

        Returns
        -------
        bool
            Whether it was possible.
        """
        if not self.sqlite:
            return False
        raw = self.engine.raw_connection()
        try:
            cursor = raw.cursor()
            (patience,) = cursor.execute("PRAGMA busy_timeout").fetchone()
            cursor.execute(f"PRAGMA busy_timeout = {_BRIEFLY}")
            emptied = _empty_log(cursor)
            cursor.execute(f"PRAGMA busy_timeout = {patience}")
            return emptied
        finally:
            raw.close()


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
    if parsed is None or parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise OptionError(
            f"{_without_password(url)!r} is no address of a database; expected "
            "sqlite:////path/to/file.db or postgresql+psycopg://user@host/name"
        )
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "sqlite" and not parsed.database:
        raise OptionError(f"{url!r} names no file; expected sqlite:////path/to/file.db")
    return parsed


def _without_password(url: str) -> str:
    """Return an address without the password that may be in it."""
    return re.sub(r"//[^/@]*@", "//***@", url)


def _sqlite_engine(url: URL) -> Engine:
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


def _postgresql_engine(url: URL) -> Engine:
    """Return an engine for PostgreSQL."""
    try:
        return create_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise MissingExtraError("PostgreSQL", "postgres") from error


def _empty_log(cursor: Any) -> bool:
    """Empty SQLite's log; return whether that was possible: nobody reads from it."""
    busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _wipe_sqlite(engine: Engine) -> None:
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute("VACUUM")
        for _ in range(_TRIES):
            if _empty_log(cursor):
                return
            time.sleep(_PAUSE)
    finally:
        raw.close()
    raise StoreError("the file is being read all the time; stop the server, then do this again")


def _wipe_postgresql(engine: Engine) -> None:
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        for table in metadata.sorted_tables:
            connection.execute(text(f"VACUUM (FULL, ANALYZE) {table.name}"))
        # Statistics hold samples of the tables, and old files go with a checkpoint. Only some
        # users may do this; for others the server does it in its own time.
        for command in ("VACUUM FULL pg_statistic", "CHECKPOINT"):
            with suppress(DBAPIError):
                connection.execute(text(command))
