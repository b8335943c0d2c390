"""Studies that take nobody new for a while."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column; what was closed stays closed."""
    op.add_column(
        "studies", sa.Column("paused", sa.Boolean(), nullable=False, server_default=sa.false())
    )
