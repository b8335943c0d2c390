"""Telling how far a pull has come: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from useralign.models.weights.entries import Weights


class Progress(Protocol):
    """What a pull reports to."""

    def at(self, done: int) -> None:
        """So many bytes of the file are there, or on their way."""

    def say(self, message: str) -> None:
        """Something that a person would want to know."""


class Silent:
    """Report nothing."""

    def at(self, done: int) -> None:
        """Ignore it."""

    def say(self, message: str) -> None:
        """Ignore it."""


class Lines:
    """Report in lines of text, one for each tenth of the way.

    Parameters
    ----------
    entry : Weights
    stream : text file
    """

    def __init__(self, entry: Weights, stream: TextIO) -> None:
        self._entry = entry
        self._stream = stream
        self._tenth = 0

    def at(self, done: int) -> None:
        """Write a line when another tenth is done."""
        tenth = 10 * done // self._entry.size
        if tenth > self._tenth:
            self._tenth = tenth
            self.say(f"{10 * tenth} % of {megabytes(self._entry.size)}")

    def say(self, message: str) -> None:
        """Write a line."""
        self._stream.write(f"{self._entry.name}: {message}\n")
        self._stream.flush()


@contextlib.contextmanager
def shown(entry: Weights) -> Iterator[Progress]:
    """Report on the standard error stream: a bar if it is a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield Lines(entry, sys.stderr)
        return
    with _bar(entry) as progress:
        yield progress


@contextlib.contextmanager
def _bar(entry: Weights) -> Iterator[Progress]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(entry.name, total=entry.size)

        class OnBar:
            def at(self, done: int) -> None:
                bar.update(task, completed=min(done, entry.size))

            def say(self, message: str) -> None:
                bar.console.print(f"{entry.name}: {message}", highlight=False)

        yield OnBar()


def megabytes(size: int) -> str:
    """Write a size as people read it."""
    if size >= 10**9:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10**6 else f"{size / 1e3:.0f} kB"
