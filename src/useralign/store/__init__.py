"""What outlives a request: pools, sessions and studies in SQLite or PostgreSQL."""

from __future__ import annotations

from useralign.store.interactions import (
    Interactions,
    Screen,
    SessionSummary,
    StoredSession,
    UserResponse,
)
from useralign.store.keys import digest, pseudonym, token
from useralign.store.pool_jobs import PoolJob
from useralign.store.store import Store, open_store

__all__ = [
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
