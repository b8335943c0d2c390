"""Reporting how far a pull has come: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress


class PullProgress:
    """What a pull reports to; this one is silent."""

    def update(self, done: int) -> None:
        """Report the number of bytes that have come so far."""

    def note(self, message: str) -> None:
        """Report what a person would want to know."""


class Lines(PullProgress):
    """Report in lines of text, one for each tenth of the file."""

    def __init__(self, name: str, size: int, stream: TextIO) -> None:
        self._name = name
        self._size = size
        self._stream = stream
        self._tenth = 0

    def update(self, done: int) -> None:
        """Write a line when another tenth is done."""
        tenth = 10 * done // self._size
        if tenth > self._tenth:
            self._tenth = tenth
            self.note(f"{10 * tenth} % of {format_size(self._size)}")

    def note(self, message: str) -> None:
        """Write a line."""
        print(f"{self._name}: {message}", file=self._stream, flush=True)


class _Bar(PullProgress):
    """Report on a bar."""

    def __init__(self, name: str, size: int, bar: Progress) -> None:
        self._name = name
        self._bar = bar
        self._task = bar.add_task(name, total=size)

    def update(self, done: int) -> None:
        self._bar.update(self._task, completed=done)

    def note(self, message: str) -> None:
        self._bar.console.print(f"{self._name}: {message}", highlight=False)


@contextlib.contextmanager
def show_progress(name: str, size: int) -> Iterator[PullProgress]:
    """Report on the standard error stream: a bar if it is a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield Lines(name, size, sys.stderr)
        return
    from rich import progress  # noqa: PLC0415 - only a terminal needs it
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(name, size, bar)


def format_size(size: int) -> str:
    """Return a size in bytes as people read it."""
    if size >= 10**9:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10**6 else f"{size / 1e3:.0f} kB"
