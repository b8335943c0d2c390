"""What outlives a request: pools, sessions and studies in SQLite or PostgreSQL."""

from __future__ import annotations

from useralign.extras import require_extra

require_extra(("sqlalchemy",), "what is kept in a database", "web")

# ruff: noqa: E402 - these need what is required above
from useralign.store.interactions import (
    FEW,
    Interactions,
    Screen,
    SessionSummary,
    StoredSession,
    UserResponse,
)
from useralign.store.keys import digest, pseudonym, token
from useralign.store.personal import GRACE
from useralign.store.pool_jobs import PoolJob
from useralign.store.store import Store, open_store

__all__ = [
    "FEW",
    "GRACE",
    "Interactions",
    "PoolJob",
    "Screen",
    "SessionSummary",
    "Store",
    "StoredSession",
    "UserResponse",
    "digest",
    "open_store",
    "pseudonym",
    "token",
]
