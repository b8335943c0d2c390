"""The first schema; databases of version 0.1.0 have it."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: a new database has the newest schema from the beginning."""
