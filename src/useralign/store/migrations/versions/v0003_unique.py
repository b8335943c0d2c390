"""One pool and one name of a key, once each, also across servers; counters of limits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_PLAIN = "fingerprint NOT LIKE '%:%'"
_OWN = f"{_PLAIN} AND owner NOT LIKE 'gone-%'"
_SHARED = f"{_PLAIN} AND owner IS NULL"
# Two servers may have stored one pool at the same moment: the copies are set apart, since
# sessions use them, and the first is found from now on.
_SET_APART = f"""
UPDATE pools SET fingerprint = 'copy:' || fingerprint WHERE {_PLAIN} AND EXISTS (
    SELECT 1 FROM pools AS other WHERE other.fingerprint = pools.fingerprint
    AND coalesce(other.owner, '') = coalesce(pools.owner, '') AND other.id < pools.id)
"""  # noqa: S608 - nothing but the line above
_RENAME = """
UPDATE api_keys SET name = name || ' ' || substr(id, 1, 8) WHERE EXISTS (
    SELECT 1 FROM api_keys AS other WHERE other.name = api_keys.name AND other.id < api_keys.id)
"""


def upgrade() -> None:
    """Set copies apart, then forbid them."""
    op.execute(_SET_APART)
    op.execute(_RENAME)
    op.create_index(
        "uq_pools_own",
        "pools",
        ["owner", "fingerprint"],
        unique=True,
        sqlite_where=sa.text(_OWN),
        postgresql_where=sa.text(_OWN),
    )
    op.create_index(
        "uq_pools_shared",
        "pools",
        ["fingerprint"],
        unique=True,
        sqlite_where=sa.text(_SHARED),
        postgresql_where=sa.text(_SHARED),
    )
    op.create_index(op.f("ix_api_keys_name"), "api_keys", ["name"], unique=True)
    op.create_table(
        "rate_limits",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rate_limits")),
    )
