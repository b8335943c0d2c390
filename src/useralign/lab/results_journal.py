"""The journal of a run: each finished cell on disk before the next batch is looked at.

`cells.jsonl` has one finished cell a line, synchronised to the disk batch by batch. A process that
is killed can leave at most its last line cut off; that line is dropped, and its cell computed anew.
`timings.jsonl` has the seconds that each cell took, apart from the results, which have no times.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from useralign.files import write_atomically
from useralign.lab.results import to_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from useralign.lab.engines import Outcome

CELLS = "cells.jsonl"
TIMINGS = "timings.jsonl"
_NEEDED = {"key", "steps", "stopped_at", "stop_reason", "pool_size"}


class Journal:
    """The finished cells of a run, by key. Use it as a context manager.

    Parameters
    ----------
    folder : str or Path

    Attributes
    ----------
    cells : dict of str to dict
    dropped : int
        How many lines could not be read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.cells: dict[str, dict[str, Any]] = {}
        self.dropped = 0
        self._files: list[BinaryIO] = []

    def __enter__(self) -> Self:
        path = self.folder / CELLS
        self.cells, self.dropped = _read(path)
        if self.dropped:
            write_atomically(path, "".join(f"{to_line(cell)}\n" for cell in self.cells.values()))
        self._files = [_appending(path), _appending(self.folder / TIMINGS)]
        return self

    def __exit__(self, *_: object) -> None:
        while self._files:
            self._files.pop().close()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Add what is finished; it is on disk when this returns."""
        done = {o.key: (o.cell, o.seconds) for o in outcomes if o.cell is not None}
        cells, timings = self._files
        for key, (cell, seconds) in done.items():
            timing = {"key": key, "seconds": round(seconds, 6), "answers": cell["stopped_at"]}
            timings.write(json.dumps(timing).encode() + b"\n")
            cells.write(f"{to_line(cell)}\n".encode())
            self.cells[key] = cell
        for file in (timings, cells):
            file.flush()
            os.fsync(file.fileno())


def read_timings(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read the seconds and the number of answers of each cell, by key."""
    found: dict[str, dict[str, Any]] = {}
    path = Path(folder) / TIMINGS
    for line in path.read_bytes().splitlines() if path.exists() else ():
        entry = _object(line)
        if {"key", "seconds", "answers"} <= entry.keys():
            found[entry["key"]] = entry
    return found


def _read(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the cells of a journal, and the number of lines that could not be read."""
    if not path.exists():
        return {}, 0
    *lines, rest = path.read_bytes().split(b"\n")
    found = [_object(line) for line in lines]
    good = {entry["key"]: entry for entry in found if entry.keys() >= _NEEDED}
    bad = sum(not entry.keys() >= _NEEDED for entry in found)
    return good, bad + bool(rest)


def _appending(path: Path) -> BinaryIO:
    """Open a file to append to; whatever was cut short in it stays a line of its own."""
    cut = path.exists() and not path.read_bytes().endswith(b"\n")
    file = path.open("ab")
    if cut and file.tell():
        file.write(b"\n")
    return file


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
