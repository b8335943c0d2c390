"""Reporting how far a pull has come: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        self._stream.write(f"{self._name}: {message}\n")
        self._stream.flush()


@contextlib.contextmanager
def show_progress(name: str, size: int) -> Iterator[PullProgress]:
    """Report on the standard error stream: a bar if it is a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield Lines(name, size, sys.stderr)
        return
    with _bar(name, size) as progress:
        yield progress


@contextlib.contextmanager
def _bar(name: str, size: int) -> Iterator[PullProgress]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=size)

        class OnBar(PullProgress):
            def update(self, done: int) -> None:
                bar.update(task, completed=min(done, size))

            def note(self, message: str) -> None:
                bar.console.print(f"{name}: {message}", highlight=False)

        yield OnBar()


def format_size(size: int) -> str:
    """Return a size in bytes as people read it."""
    if size >= 10**9:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10**6 else f"{size / 1e3:.0f} kB"
