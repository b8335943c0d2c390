"""A database by its address: SQLite in a file, or PostgreSQL.

SQLite runs with a write-ahead log, full synchronisation and a busy time-out; writers of one
process queue at a lock instead of polling the file. PostgreSQL may be shared by several servers.
These two are the databases that are meant: the locks and the removal of deleted data are theirs.

What a driver says about a failure may hold what people wrote. So an error of the database becomes
an error of ours, in our words, and one line in the log with the name of the driver's error alone.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Float, create_engine, event, literal_column, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from useralign.errors import ConflictError, MissingExtraError, OptionError, StoreError
from useralign.files import data_dir
from useralign.store.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import URL, Connection, Engine, Executable, Row, Table
    from sqlalchemy.pool import ConnectionPoolEntry

    Insert = sqlite.Insert | postgresql.Insert

BUSY_SECONDS = 30
POOL_SECONDS = 10  # how long a request waits for a connection
_log = logging.getLogger("useralign.store")
_TIMES = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)",
}
_WRITING = "useralign_writing"
_BRIEFLY = 200  # milliseconds
_PATIENTLY = 5_000  # milliseconds, for each of the two steps of wiping
_LOCK_WAIT = "2s"  # for each table
# By the codes of SQLite and of PostgreSQL; the rest is "cannot be reached".
_REASONS = {
    "its disk is full": {"SQLITE_FULL", "53100"},
    "it is busy": {"SQLITE_BUSY", "SQLITE_LOCKED", "40001", "40P01", "55P03", "57014"},
}
# Another server was faster: a row that may be there once is there, or one that is needed is gone.
_RACES = {
    "SQLITE_CONSTRAINT_UNIQUE",
    "SQLITE_CONSTRAINT_PRIMARYKEY",
    "SQLITE_CONSTRAINT_FOREIGNKEY",
    "23505",
    "23503",
}
_OURS = (DataError, ProgrammingError, IntegrityError)  # mistakes of ours, not of the database


def insert_for(connection: Connection, table: Table) -> Insert:
    """Return an INSERT that can say what to do ON CONFLICT."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


def take_turns(connection: Connection, name: str) -> None:
    """Wait until no other transaction has taken this turn; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
        connection.execute(lock, {"name": name})


def default_url() -> str:
    """Return the address used when none is given: `USERALIGN_DATABASE`, or a file of our own."""
    return os.environ.get("USERALIGN_DATABASE") or sqlite_url(data_dir("useralign.db"))


def sqlite_url(path: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{path.absolute()}"


class Database:
    """Connections to one database, by its address.

    That is `sqlite:////path/to/file.db` or `postgresql+psycopg://user@host/name`; others are an
    OptionError, a database that cannot be reached is a StoreError. `time` is, for use in
    statements, the time by the clock of the database, which all processes share, in seconds since
    1970.
    """

    def __init__(self, url: str) -> None:
        self.url = address(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.time = literal_column(_TIMES["sqlite" if self.sqlite else "postgresql"], Float)
        self.engine = _sqlite_engine(self.url) if self.sqlite else _postgresql_engine(self.url)
        self._turn = threading.Lock() if self.sqlite else nullcontext()
        self._closed = False
        event.listen(self.engine, "checkin", self._after_use)
        try:
            with self.engine.connect():
                pass
        except DatabaseError as error:
            self.close()
            raise StoreError(
                f"cannot open the database {self}: {error.orig}; "
                "check the address, that the server runs, and the rights on the file"
            ) from error

    def __str__(self) -> str:
        return without_password(self.url.render_as_string())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading; it sees one state throughout on SQLite.

        A database that cannot be reached, is too busy, or whose disk is full, is a StoreError.
        """
        with _in_our_words(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[Connection]:
        """Yield a connection for one transaction: all of it is written, or nothing.

        What need not outlive a power cut (not `lasting`) is written faster. A ConflictError if
        another server has just written or deleted what this depends on; else raises as `reading`
        does.
        """
        options = {_WRITING: "FULL" if lasting else "NORMAL"}
        with (
            _in_our_words(),
            self._turn,
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            if not (lasting or self.sqlite):
                connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
            yield connection

    def rows(self, query: Executable) -> Sequence[Row[Any]]:
        """Return the rows of a query."""
        with self.reading() as connection:
            return connection.execute(query).all()

    def first(self, query: Executable) -> Row[Any] | None:
        """Return the first row of a query; None if it has none."""
        with self.reading() as connection:
            return connection.execute(query).first()

    def change(self, statement: Executable, *, lasting: bool = True) -> int:
        """Run one statement by itself; return how many rows it changed."""
        with self.writing(lasting=lasting) as connection:
            return connection.execute(statement).rowcount

    def close(self) -> None:
        """Close all connections: idle ones now, one that a thread still uses when it is done."""
        self._closed = True
        self.engine.dispose()

    def _after_use(self, _: Any, record: ConnectionPoolEntry) -> None:
        """Close a connection whose pool was closed meanwhile, and which nobody would close."""
        if self._closed:
            record.invalidate()

    def wipe(self) -> list[str]:
        """Rewrite the files without what was deleted; others wait meanwhile.

        Who reads or writes all the while (an export, say) is waited for only so long. Returns the
        files or tables that may still hold what was deleted; none if all went well.
        """
        return _wipe_sqlite(self.engine) if self.sqlite else _wipe_postgresql(self.engine)

    def rinse(self) -> bool:
        """Remove deleted data from the files if that takes no time; return whether it was possible.

        SQLite has overwritten what was deleted in its file; the log, which may still hold it, is
        emptied unless somebody is reading. PostgreSQL's files are left to its own vacuum.
        """
        if not self.sqlite:
            return False
        with _patience(self.engine, _BRIEFLY) as cursor:
            return _empty_log(cursor)


class Part:
    """One kind of thing that a database keeps."""

    def __init__(self, database: Database) -> None:
        self._database = database


def address(url: str) -> URL:
    """Parse the address of a database; what is none, or of another kind, is an OptionError."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter of a port that is no number
        parsed = None
    if parsed is None or parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise OptionError(
            f"{without_password(url)!r} is no address of a database; expected "
            "sqlite:////path/to/file.db or postgresql+psycopg://user@host/name"
        )
    if "@" in (parsed.host or ""):
        raise OptionError(
            f"{without_password(url)!r} has a second @; write one in a password as %40"
        )
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "sqlite" and not parsed.database:
        raise OptionError(f"{url!r} names no file; expected sqlite:////path/to/file.db")
    return parsed


def without_password(url: str) -> str:
    """Return an address without the password that may be in it, wherever it stands."""
    url = re.sub(r"(//[^:/@]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return re.sub(r"(password=)[^&]*", r"\1***", url)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Turn errors of a driver into ours, with one line in the log."""
    try:
        yield
    except (DBAPIError, PoolTimeoutError) as error:
        code = _code(error)
        if code in _RACES:
            raise ConflictError("another request was quicker just now; try again") from error
        if isinstance(error, _OURS):
            raise
        _log.warning("the database failed: %s %s", type(error).__name__, code)
        reasons = [reason for reason, codes in _REASONS.items() if code in codes]
        reason = (reasons or ["it cannot be reached"])[0]
        raise StoreError(
            f"the database cannot do this now, {reason}; nothing is lost, try again in a moment"
        ) from error


def _code(error: Exception) -> str:
    """Return the name or number that a database has for an error."""
    cause = getattr(error, "orig", None)
    return str(getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or "")


def _sqlite_engine(url: URL) -> Engine:
    """Return an engine for a SQLite file, which is created where there is none."""
    Path(url.database or "").parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url,
        pool_size=20,
        max_overflow=40,
        pool_timeout=POOL_SECONDS,
        hide_parameters=True,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        for line in (
            "PRAGMA synchronous=FULL",
            "PRAGMA foreign_keys=ON",
            "PRAGMA secure_delete=ON",  # what is forgotten leaves no trace in free pages
        ):
            connection.execute(line)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not tables or "alembic_version" in tables:  # another program's file stays as it is
            connection.execute("PRAGMA journal_mode=WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if writing := connection.get_execution_options().get(_WRITING):
            connection.exec_driver_sql(f"PRAGMA synchronous={writing}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _postgresql_engine(url: URL) -> Engine:
    """Return an engine for PostgreSQL."""
    try:
        return create_engine(
            url,
            pool_size=10,
            max_overflow=10,
            pool_timeout=POOL_SECONDS,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={} if "connect_timeout" in url.query else {"connect_timeout": 5},
        )
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise MissingExtraError("PostgreSQL", "postgres") from error


def _empty_log(cursor: Any) -> bool:
    """Empty SQLite's log; return whether that was possible: nobody reads from it."""
    busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


@contextmanager
def _patience(engine: Engine, milliseconds: int) -> Iterator[Any]:
    """Yield a cursor of SQLite that waits so long, and no longer, for others."""
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        (usual,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {milliseconds}")
        yield cursor
        cursor.execute(f"PRAGMA busy_timeout = {usual}")
    finally:
        raw.close()


def _wipe_sqlite(engine: Engine) -> list[str]:
    file = str(engine.url.database)
    with _patience(engine, _PATIENTLY) as cursor:
        try:
            cursor.execute("VACUUM")
        except sqlite3.OperationalError:
            return [file]
        return [] if _empty_log(cursor) else [f"{file}-wal"]


def _wipe_postgresql(engine: Engine) -> list[str]:
    left = []
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text(f"SET lock_timeout = '{_LOCK_WAIT}'"))
        for table in metadata.sorted_tables:
            try:
                connection.execute(text(f"VACUUM (FULL, ANALYZE) {table.name}"))
            except OperationalError:
                left.append(table.name)
        # Statistics hold samples of the tables, and old files go with a checkpoint. Only some
        # users may do this; for others the server does it in its own time.
        for command in ("VACUUM FULL pg_statistic", "CHECKPOINT"):
            with suppress(DBAPIError):
                connection.execute(text(command))
        connection.execute(text("RESET lock_timeout"))
    return left
