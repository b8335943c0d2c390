"""Tokens that open something, the keys of the HTTP API, and what the database keeps of them.

A key is shown once; the database has its hash.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from useralign.errors import OptionError
from useralign.store.database import Part
from useralign.store.schema import api_keys

PREFIX = "ua_"
_LONGEST_NAME = 100


def token() -> str:
    """Return a new token of 256 random bits, safe in addresses and cookies."""
    return secrets.token_urlsafe(32)


def digest(value: str) -> str:
    """Return the hash of a token: who reads the database cannot use it."""
    return hashlib.sha256(value.encode()).hexdigest()


def pseudonym(value: str, key: str) -> str:
    """Return a stable stand-in for an outside identifier, which only the key's holder can link."""
    return hmac.new(key.encode(), value.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the HTTP API, without the key itself."""

    name: str
    created: float  # seconds since 1970


class ApiKeys(Part):
    """The keys of the HTTP API."""

    def add(self, name: str) -> str:
        """Make a key and return it; it cannot be shown again. One name, one key."""
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME:
            raise OptionError(
                f"a key needs a name of 1 to {_LONGEST_NAME} characters, got {name!r}"
            )
        key = PREFIX + token()
        with self._database.writing() as connection:
            if connection.execute(select(api_keys.c.id).where(api_keys.c.name == name)).first():
                raise OptionError(
                    f"there is a key {name!r} already; remove it, or choose another name"
                )
            row = {"id": digest(key), "name": name, "created": time.time()}
            connection.execute(insert(api_keys).values(row))
        return key

    def remove(self, name: str) -> bool:
        """Delete the key of a name; return whether there was one."""
        return self._database.change(delete(api_keys).where(api_keys.c.name == name)) > 0

    def all(self) -> list[ApiKey]:
        """List the keys, the oldest first."""
        rows = self._database.rows(select(api_keys).order_by(api_keys.c.created))
        return [ApiKey(row.name, row.created) for row in rows]

    def owner_of(self, key: str) -> str | None:
        """Return whom a key stands for, or None if it is none of ours."""
        owner = digest(key)
        return owner if self.holds(owner) else None

    def holds(self, owner: str) -> bool:
        """Return whether there is still a key that stands for somebody."""
        return self._database.first(select(api_keys.c.id).where(api_keys.c.id == owner)) is not None
