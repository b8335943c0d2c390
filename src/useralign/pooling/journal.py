"""The draft of a pool: every reply of a model, on disk before anything else happens to it.

One JSON object a line. The first says which question, recipe and model the draft is for; each other
holds one reply, or the error in its place. A line is appended, flushed and synchronised the moment
its reply arrives, so that a process that is killed loses nothing it has paid for. Resuming is
replaying: the same requests are made in the same order, and those on file are answered from it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from useralign.errors import FileFormatError
from useralign.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "useralign-draft/1"


class Journal:
    """An append-only record of replies, by key. Use it as a context manager.

    Parameters
    ----------
    path : str or Path
        The file; made, with its folder, when it is not there.
    header : mapping
        What the draft is for. A file with another header is left alone.

    Attributes
    ----------
    damaged : int
        How many lines could not be read: the last one of a process that was killed, as a rule.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.damaged = 0
        self._header = {"format": FORMAT, **header}
        self._entries: dict[str, dict[str, Any]] = {}
        self._file: BinaryIO | None = None

    @property
    def images(self) -> Path:
        """The folder beside the draft for its pictures."""
        return self.path.with_name(f"{self.path.stem}-images")

    def __len__(self) -> int:
        return len(self._entries)

    def __enter__(self) -> Self:
        try:
            content = self.path.read_bytes() if self.path.exists() else b""
            if content:
                self._read(content)
            else:
                write_atomically(self.path, self._line(self._header))
            self._file = self.path.open("ab")
        except OSError as error:
            raise FileFormatError(
                f"the draft {self.path} cannot be read and written ({error.strerror}); "
                "give another path as draft="
            ) from error
        if content and not content.endswith(b"\n"):
            # Whatever was cut short stays a line of its own and spoils no other.
            self._file.write(b"\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if not self._entries and not self.damaged:
            self.path.unlink(missing_ok=True)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the entry of that key, if there is one."""
        return self._entries.get(key)

    def append(self, key: str, entry: Mapping[str, Any]) -> None:
        """Add an entry; it is on disk when this returns."""
        if self._file is None:
            raise RuntimeError("the journal is not open: use it in a with statement")
        whole = {"key": key, **entry}
        self._file.write(self._line(whole))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._entries[key] = whole

    @staticmethod
    def _line(data: Mapping[str, Any]) -> bytes:
        return json.dumps(data).encode() + b"\n"

    def _read(self, content: bytes) -> None:
        first, *others = content.split(b"\n")
        header = _object(first)
        if header is None or header.get("format") != FORMAT:
            raise FileFormatError(
                f"{self.path}: is not the draft of a pool (expected {FORMAT!r} in line 1); "
                "give another path as draft="
            )
        expected = json.loads(json.dumps(self._header))
        if header != expected:
            parts = [k for k in expected if header.get(k) != expected[k]]
            raise FileFormatError(
                f"{self.path}: is the draft of a pool with another {' and '.join(parts)}; "
                "give another path as draft=, or remove it"
            )
        for line in filter(None, others):
            entry = _object(line)
            if entry is None or not isinstance(entry.get("key"), str):
                self.damaged += 1
            else:
                self._entries.setdefault(entry["key"], entry)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
