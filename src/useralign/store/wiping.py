"""Taking what was deleted out of a database's files, where it would otherwise linger."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from useralign.errors import StoreError
from useralign.store.schema import metadata

if TYPE_CHECKING:
    from useralign.store.database import Database

_TRIES = 100
_PAUSE = 0.1  # seconds
_BRIEFLY = 200  # milliseconds


def wipe(database: Database) -> None:
    """Rewrite the files of a database without what was deleted; others wait meanwhile.

    Raises
    ------
    StoreError
        If somebody kept reading all the while. What was deleted is deleted, but the files still
        hold it.
    """
    if database.sqlite:
        _wipe_sqlite(database)
    else:
        _wipe_postgres(database)


def rinse(database: Database) -> bool:
    """Do what takes no time and keeps nobody waiting, and tell whether it was possible.

    SQLite has overwritten what was deleted in its file; the log, which may still hold it, is
    emptied unless somebody is reading. PostgreSQL's files are left to its own vacuum.
    """
    if not database.sqlite:
        return False
    raw = database.engine.raw_connection()
    try:
        cursor = raw.cursor()
        (patience,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {_BRIEFLY}")
        emptied = _empty_log(cursor)
        cursor.execute(f"PRAGMA busy_timeout = {patience}")
        return emptied
    finally:
        raw.close()


def _empty_log(cursor: Any) -> bool:
    """Empty SQLite's log, and tell whether that was possible: nobody reads from it."""
    busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _wipe_sqlite(database: Database) -> None:
    raw = database.engine.raw_connection()
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


def _wipe_postgres(database: Database) -> None:
    engine = database.engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for table in metadata.sorted_tables:
            connection.execute(text(f"VACUUM (FULL, ANALYZE) {table.name}"))
        # Statistics hold samples of the tables, and old files go with a checkpoint. Only some
        # users may do this; for others the server does it in its own time.
        for command in ("VACUUM FULL pg_statistic", "CHECKPOINT"):
            with suppress(DBAPIError):
                connection.execute(text(command))
