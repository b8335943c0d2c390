"""Keys of the HTTP API: shown once, kept as hashes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from useralign.errors import OptionError
from useralign.store import digest, token
from useralign.store.schema import api_keys

if TYPE_CHECKING:
    from useralign.store import Store

PREFIX = "ua_"
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key.

    Parameters
    ----------
    name : str
    created : float
        Seconds since 1970.
    """

    name: str
    created: float


def add(store: Store, name: str) -> str:
    """Make a key and return it; it cannot be shown again.

    Parameters
    ----------
    store : Store
    name : str
        What the key is for; one name, one key.
    """
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME:
        raise OptionError(f"a key needs a name of 1 to {_LONGEST_NAME} characters, got {name!r}")
    key = PREFIX + token()
    with store.writing() as connection:
        if connection.execute(select(api_keys.c.id).where(api_keys.c.name == name)).first():
            raise OptionError(f"there is a key {name!r} already; remove it, or choose another name")
        row = {"id": digest(key), "name": name, "created": time.time()}
        connection.execute(insert(api_keys).values(row))
    return key


def remove(store: Store, name: str) -> bool:
    """Delete the key of a name; tell whether there was one."""
    with store.writing() as connection:
        found = connection.execute(delete(api_keys).where(api_keys.c.name == name))
        return found.rowcount > 0


def listed(store: Store) -> list[Key]:
    """List the keys, the oldest first."""
    with store.reading() as connection:
        rows = connection.execute(select(api_keys).order_by(api_keys.c.created)).all()
    return [Key(row.name, row.created) for row in rows]


def owner_of(store: Store, key: str) -> str | None:
    """Return whom a key stands for, or None if it is none of ours."""
    known = digest(key)
    with store.reading() as connection:
        found = connection.execute(select(api_keys.c.id).where(api_keys.c.id == known)).first()
    return None if found is None else known
