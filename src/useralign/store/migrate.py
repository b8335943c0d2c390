"""Bring a database to the newest schema: a new one at once, one of an earlier version by steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, String, Table, insert, inspect, select, text, update

from useralign.errors import StoreError
from useralign.store.database import take_turns
from useralign.store.schema import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from useralign.store.database import Database

_PLAIN = "fingerprint NOT LIKE '%:%'"
# The statements that lead to each version. Databases of version 0.1.0 have 0001; a step is never
# changed, and each is SQL that both databases understand.
STEPS = {
    # Pages of studies: answers, outcomes, languages, and several questions per participant.
    "0002": (
        "ALTER TABLE participants ADD COLUMN outcome VARCHAR(16)",
        "ALTER TABLE participants ADD COLUMN language VARCHAR(16)",
        "ALTER TABLE participants ADD COLUMN rounds JSON",
        "ALTER TABLE matchups ADD COLUMN round INTEGER DEFAULT 0 NOT NULL",
        """CREATE TABLE page_answers (
            participant_id VARCHAR(64) NOT NULL,
            page VARCHAR(16) NOT NULL,
            attempt INTEGER NOT NULL,
            field VARCHAR(40) NOT NULL,
            value TEXT,
            answered FLOAT NOT NULL,
            CONSTRAINT fk_page_answers_participant_id FOREIGN KEY (participant_id)
                REFERENCES participants (id) ON DELETE CASCADE,
            CONSTRAINT pk_page_answers PRIMARY KEY (participant_id, page, attempt, field))""",
        "UPDATE participants SET outcome = 'completed' WHERE finished IS NOT NULL",
    ),
    # One pool and one name of a key, once each, also across servers; counters of limits. Two
    # servers may have stored one pool at the same moment: the copies are set apart, since sessions
    # use them, and the first is found from now on.
    "0003": (
        f"""UPDATE pools SET fingerprint = 'copy:' || fingerprint WHERE {_PLAIN} AND EXISTS (
            SELECT 1 FROM pools AS other WHERE other.fingerprint = pools.fingerprint
            AND coalesce(other.owner, '') = coalesce(pools.owner, '')
            AND other.id < pools.id)""",  # noqa: S608 - nothing but the line above
        """UPDATE api_keys SET name = name || ' ' || substr(id, 1, 8) WHERE EXISTS (
            SELECT 1 FROM api_keys AS other
            WHERE other.name = api_keys.name AND other.id < api_keys.id)""",
        f"""CREATE UNIQUE INDEX uq_pools_own ON pools (owner, fingerprint)
            WHERE {_PLAIN} AND owner NOT LIKE 'gone-%'""",
        f"""CREATE UNIQUE INDEX uq_pools_shared ON pools (fingerprint)
            WHERE {_PLAIN} AND owner IS NULL""",
        "CREATE UNIQUE INDEX ix_api_keys_name ON api_keys (name)",
        """CREATE TABLE rate_limits (
            id VARCHAR(64) NOT NULL,
            until FLOAT NOT NULL,
            CONSTRAINT pk_rate_limits PRIMARY KEY (id))""",
    ),
    # Studies that take nobody new for a while.
    "0004": ("ALTER TABLE studies ADD COLUMN paused BOOLEAN DEFAULT FALSE NOT NULL",),
}
NEWEST = max(STEPS)
# The table of Alembic, which earlier versions used: the same name and form.
versions = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))


def migrate(database: Database) -> None:
    """Run the steps that a database has not seen; nothing when it is up to date.

    A database of a newer version of useralign, or of another program, is a StoreError; then nothing
    in it has changed.
    """
    with database.reading() as connection:
        if version(connection) == NEWEST:
            return
    with database.writing() as connection:
        take_turns(connection, "migration")  # several servers may start at once
        current = version(connection)
        if current is None:
            metadata.create_all(connection)
            versions.create(connection)
            connection.execute(insert(versions).values(version_num=NEWEST))
        elif current > NEWEST:
            raise StoreError(
                f"the database has schema {current}, which is newer than this version's {NEWEST}; "
                "update useralign"
            )
        else:
            steps = [lines for number, lines in STEPS.items() if number > current]
            for line in (line for lines in steps for line in lines):
                connection.execute(text(line))
            connection.execute(update(versions).values(version_num=NEWEST))


def version(connection: Connection) -> str | None:
    """Return the schema's version, or None for a database with nothing in it."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    names: list[str] = []
    if versions.name in tables:
        names = list(connection.execute(select(versions.c.version_num)).scalars())
    if len(names) != 1 or not re.fullmatch(r"\d{4}", names[0]) or "sessions" not in tables:
        raise StoreError(
            f"the database has tables of another program ({', '.join(sorted(tables)[:3])}), or its "
            "schema has no version; give the address of a new database, or of one of useralign's"
        )
    return names[0]
