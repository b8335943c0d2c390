"""What outlives a request: pools, sessions and studies in SQLite or PostgreSQL."""

from __future__ import annotations

from useralign.store.interactions import Interactions, Screen
from useralign.store.replay import Told
from useralign.store.store import Store, open_store
from useralign.store.tokens import digest, pseudonym, token

__all__ = [
    "Interactions",
    "Screen",
    "Store",
    "Told",
    "digest",
    "open_store",
    "pseudonym",
    "token",
]
