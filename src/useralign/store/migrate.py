"""Bring a database to the newest schema: a new one at once, one of an earlier version by steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, String, Table, insert, inspect, text

from useralign.errors import StoreError
from useralign.store.database import take_turns
from useralign.store.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

    from useralign.store.database import Database

NEWEST = "0004"


def migrate(database: Database) -> None:
    """Run the migrations that a database has not seen; nothing when it is up to date.

    A database of a newer version of useralign, or of another program, is a StoreError; then nothing
    in it has changed.
    """
    with database.reading() as connection:
        if version(connection) == NEWEST:
            return
    with database.writing() as connection:
        take_turns(connection, "migration")  # several servers may start at once
        current = version(connection)
        if current == NEWEST:
            return
        if current is not None and current > NEWEST:
            raise StoreError(
                f"the database has schema {current}, which is newer than this version's {NEWEST}; "
                "update useralign"
            )
        if current is None:
            _create(connection)
            return
        from alembic import command  # noqa: PLC0415 - slow, and seldom needed

        command.upgrade(configuration(connection), NEWEST)


def _create(connection: Connection) -> None:
    """Create all tables, and the one in which Alembic looks for the version."""
    metadata.create_all(connection)
    versions = Table(
        "alembic_version", MetaData(), Column("version_num", String(32), primary_key=True)
    )
    versions.create(connection)
    connection.execute(insert(versions).values(version_num=NEWEST))


def version(connection: Connection) -> str | None:
    """Return the schema's version, or None for a database with nothing in it."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    names: list[str] = []
    if "alembic_version" in tables:
        names = list(connection.execute(text("SELECT version_num FROM alembic_version")).scalars())
    if len(names) != 1 or not re.fullmatch(r"\d{4}", names[0]) or "sessions" not in tables:
        raise StoreError(
            f"the database has tables of another program ({', '.join(sorted(tables)[:3])}), or its "
            "schema has no version; give the address of a new database, or of one of useralign's"
        )
    return names[0]


def configuration(connection: Connection) -> Config:
    """Return Alembic's configuration for a connection."""
    from alembic.config import Config  # noqa: PLC0415 - slow, and seldom needed

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
