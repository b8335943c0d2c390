"""One pull of a file at a time, across processes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None], every: float = 0.2) -> Iterator[None]:
    """Hold a lock file; wait for as long as somebody else holds it.

    The system drops the lock when its holder ends, however it ends, so no lock is ever stale.
    The file itself stays: to delete it would let two holders lock two different files.

    Parameters
    ----------
    path : Path
    waiting : callable
        Called once, when it turns out that somebody else holds the lock.
    every : float
        Seconds between two tries.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    told = False
    try:
        while True:
            try:
                _take(handle)
                break
            except OSError:
                if not told:
                    waiting()
                    told = True
                time.sleep(every)
        yield
    finally:
        os.close(handle)
