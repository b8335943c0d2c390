"""The first schema."""

from __future__ import annotations

from alembic import op

from useralign.store.schema import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables."""
    metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop all tables."""
    metadata.drop_all(op.get_bind())
