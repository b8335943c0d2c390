"""Vectors on disk: one small SQLite file for each embedder.

SQLite is in the standard library, opens in under a millisecond, appends without rewriting, and
lets two processes write at once. It is only a cache: a file that is damaged is put aside and begun
anew, and a disk that is full or read-only costs time, never a result.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

from useralign.files import cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

log = logging.getLogger(__name__)

# Seconds to wait for another process that is writing.
PATIENCE = 10.0
# SQLite takes at least this many parameters in one statement, whatever its version.
_CHUNK = 500
# A vector of 384 or 512 numbers fits ten times into such a page; smaller ones waste half of it.
_PAGE = "PRAGMA page_size = 16384"
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB NOT NULL)"


class VectorStore:
    """A mapping from 32-byte keys to vectors, kept in a file.

    Parameters
    ----------
    identity : str
        What decides a vector besides the item. Each identity has a file of its own.
    folder : Path, optional
        Where the file is; `embeddings` in the cache folder when not given.
    """

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        readable = re.sub(r"[^A-Za-z0-9_-]+", "-", identity)[:40]
        digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
        self.path = (folder or cache_dir("embeddings")) / f"{readable}-{digest}.sqlite"

    def get(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float64]]:
        """Return the vectors, each of shape (d,), of those keys that are known."""
        if not self.path.exists():
            return {}
        try:
            with self._open() as base:
                return self._select(base, keys)
        except (sqlite3.Error, ValueError) as error:
            self._recover(error)
            return {}

    def put(self, vectors: Mapping[bytes, NDArray[np.float64]]) -> None:
        """Keep vectors, each of shape (d,). What cannot be written is let go."""
        rows = [(key, _packed(vector)) for key, vector in vectors.items()]
        for _ in range(2):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self._open() as base:
                    base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                    base.commit()
            except (sqlite3.Error, OSError) as error:
                if not self._recover(error):
                    return
            else:
                return

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        base = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            # A lost cache entry is made again, so there is no need to wait for the disk.
            base.execute("PRAGMA synchronous = OFF")
            base.execute(_PAGE)
            base.execute(_TABLE)
            yield base
        finally:
            base.close()

    def _select(
        self, base: sqlite3.Connection, keys: Sequence[bytes]
    ) -> dict[bytes, NDArray[np.float64]]:
        found: dict[bytes, NDArray[np.float64]] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, value FROM vectors WHERE key IN ({marks})"  # noqa: S608 - marks
            found.update((key, _unpacked(value)) for key, value in base.execute(query, chunk))
        return found

    def _recover(self, error: Exception) -> bool:
        """Put a damaged file aside; tell whether there is a point in trying again."""
        damaged = isinstance(error, ValueError) or (
            isinstance(error, sqlite3.DatabaseError)
            and not isinstance(error, sqlite3.OperationalError)
        )
        log.warning("the cache of vectors %s is not used: %s", self.path, error)
        if damaged:
            with contextlib.suppress(OSError):
                self.path.replace(self.path.with_suffix(".damaged"))
                # It belonged to the damaged file and would be played into the new one.
                self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
        return damaged


def _packed(vector: NDArray[np.float64]) -> bytes:
    """Return a type code and the numbers: four bytes each where that loses nothing."""
    row = np.ascontiguousarray(vector, dtype="<f8")
    short = row.astype("<f4")
    exact = bool((short == row).all())
    return b"f" + short.tobytes() if exact else b"d" + row.tobytes()


def _unpacked(value: bytes) -> NDArray[np.float64]:
    kind = {b"f": "<f4", b"d": "<f8"}.get(bytes(value[:1]))
    if kind is None:
        raise ValueError(f"unknown type code {bytes(value[:1])!r}")
    return np.frombuffer(value, dtype=kind, offset=1).astype(np.float64)
