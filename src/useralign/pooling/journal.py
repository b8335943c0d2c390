"""The draft of a pool: every reply of a model, on disk before anything else happens to it.

One JSON object a line. The first says which question, recipe and model the draft is for; each other
holds one reply, or the error in its place. A line is appended, flushed and synchronised the moment
its reply arrives, so that a process that is killed loses nothing it has paid for. Resuming is
replaying: the same requests are made in the same order, and those on file are answered from it.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from filelock import FileLock, Timeout

from useralign.errors import FileFormatError
from useralign.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "useralign-draft/1"
_POLL_SECONDS = 0.1


class DraftJournal:
    """An append-only record of replies, by key. Use it as a context manager.

    The header says what the draft is for: a file with another one is left alone. `damaged` counts
    the lines that could not be read: the last one of a process that was killed, as a rule.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.damaged = 0
        self._header = {"format": FORMAT, **header}
        self._entries: dict[str, dict[str, Any]] = {}
        self._file: BinaryIO | None = None
        # Not by the thread: a pool may be waited for in one and made in another.
        lock = self.path.with_name(f".{self.path.name}.lock")
        self._lock = FileLock(lock, thread_local=False)

    @property
    def images(self) -> Path:
        """The folder beside the draft for its pictures."""
        return self.path.with_name(f"{self.path.stem}-images")

    def __len__(self) -> int:
        return len(self._entries)

    async def wait(self) -> None:
        """Wait until no other run has the draft open, without holding up the event loop."""
        while not self._take():
            await asyncio.sleep(_POLL_SECONDS)

    def _take(self) -> bool:
        """Whether the draft is ours now; a process that ends lets go of it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise FileFormatError(
                f"the draft {self.path} cannot be read and written ({error.strerror}); "
                "give another path as draft="
            ) from error
        return True

    def __enter__(self) -> Self:
        if not self._lock.is_locked and not self._take():
            raise FileFormatError(
                f"the draft {self.path} is being filled by another run; wait for it to end, or "
                "give another path as draft="
            )
        try:
            return self._open()
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> Self:
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
        # Only who has the lock gets here: nobody else is filling it.
        if not self._entries and not self.damaged:
            self.path.unlink(missing_ok=True)
        self._lock.release()

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
