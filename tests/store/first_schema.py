"""The first schema, as version 0.1.0 created it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from useralign.store.database import Database
from useralign.store.migrate import versions


def create(database: Database) -> None:
    """Create all tables in an empty database."""
    with database.writing() as connection:
        _create_tables(Operations(MigrationContext.configure(connection)))
        versions.create(connection)
        connection.execute(sa.insert(versions).values(version_num="0001"))


def _create_tables(op: Operations) -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.create_table(
        "media",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_media")),
    )
    op.create_table(
        "persons",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=False),
        sa.Column("remember", sa.Boolean(), nullable=False),
        sa.Column("share", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persons")),
    )
    op.create_table(
        "pools",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pools")),
    )
    op.create_index(
        op.f("ix_pools_owner_fingerprint"), "pools", ["owner", "fingerprint"], unique=False
    )
    op.create_table(
        "studies",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("design", sa.JSON(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
    )
    op.create_table(
        "makings",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("made", sa.Integer(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("arrived", sa.JSON(), nullable=False),
        sa.Column("pool_id", sa.String(length=64), nullable=True),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pool_id"], ["pools.id"], name=op.f("fk_makings_pool_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_makings")),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=False),
        sa.Column("pool_id", sa.String(length=64), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pool_id"], ["pools.id"], name=op.f("fk_sessions_pool_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_owner"), "sessions", ["owner"], unique=False)
    op.create_table(
        "participants",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("study_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=True),
        sa.Column("recruitment", sa.JSON(), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.Column("assignment", sa.JSON(), nullable=False),
        sa.Column("session_id", sa.String(length=64), nullable=True),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=False),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name=op.f("fk_participants_session_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_participants_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_participants")),
        sa.UniqueConstraint("study_id", "code", name=op.f("uq_participants_study_id_code")),
        sa.UniqueConstraint("study_id", "number", name=op.f("uq_participants_study_id_number")),
        sa.UniqueConstraint("study_id", "worker", name=op.f("uq_participants_study_id_worker")),
    )
    op.create_index(
        op.f("ix_participants_study_id_cell"), "participants", ["study_id", "cell"], unique=False
    )
    op.create_table(
        "steps",
        sa.Column("session_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("view", sa.JSON(), nullable=False),
        sa.Column("asked", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=True),
        sa.Column("told", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("answered", sa.Float(), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=True),
        sa.CheckConstraint("(kind IS NULL) = (answered IS NULL)", name=op.f("ck_steps_whole")),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_steps_session_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", "number", name=op.f("pk_steps")),
    )
    op.create_table(
        "matchups",
        sa.Column("participant_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("candidate", sa.Integer(), nullable=False),
        sa.Column("side", sa.String(length=8), nullable=False),
        sa.Column("asked", sa.Float(), nullable=False),
        sa.Column("chosen", sa.String(length=8), nullable=True),
        sa.Column("answered", sa.Float(), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=True),
        sa.CheckConstraint("(chosen IS NULL) = (answered IS NULL)", name=op.f("ck_matchups_whole")),
        sa.ForeignKeyConstraint(
            ["participant_id"],
            ["participants.id"],
            name=op.f("fk_matchups_participant_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("participant_id", "number", name=op.f("pk_matchups")),
    )
    op.create_table(
        "stages",
        sa.Column("participant_id", sa.String(length=64), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("entered", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant_id"],
            ["participants.id"],
            name=op.f("fk_stages_participant_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("participant_id", "stage", name=op.f("pk_stages")),
    )
