"""Pages of studies: their answers, outcomes, languages, and several questions per participant."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns and the table; who had finished has completed."""
    op.add_column("participants", sa.Column("outcome", sa.String(length=16), nullable=True))
    op.add_column("participants", sa.Column("language", sa.String(length=16), nullable=True))
    op.add_column("participants", sa.Column("rounds", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("matchups", sa.Column("round", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "page_answers",
        sa.Column("participant_id", sa.String(length=64), nullable=False),
        sa.Column("page", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("field", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("answered", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant_id"],
            ["participants.id"],
            name=op.f("fk_page_answers_participant_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "participant_id", "page", "attempt", "field", name=op.f("pk_page_answers")
        ),
    )
    op.execute("UPDATE participants SET outcome = 'completed' WHERE finished IS NOT NULL")
