"""Get the pool for a question: read it, find it, or generate it with a progress bar."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from useralign.cli import keys, screens
from useralign.domains import find_question
from useralign.errors import ModelUnavailableError
from useralign.pooling import (
    PoolRequest,
    find_pool,
    generate_requested,
    load_generator,
    read_pool,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from useralign.domains import Question
    from useralign.models import Generator
    from useralign.pool import Pool
    from useralign.pooling import Event


def get_pool(request: PoolRequest, console: Console) -> tuple[Pool, Question | None]:
    """Return the pool for a question, and the shipped question if it is one."""
    if request.file is not None:
        return read_pool(request.file, request.question or None, request.embedder), None
    if (existing := find_pool(request)) is not None:
        return existing
    return generate(request, console), None


def shipped_question(pool: Pool) -> Question | None:
    """Return the shipped question whose answers a pool has, and no others, if there is one."""
    match = find_question(pool.question)
    answers = {(answer.id, answer.text) for answer in match[1].candidates} if match else set()
    return match[1] if match and answers.issuperset((c.id, c.text) for c in pool) else None


def generate(request: PoolRequest, console: Console) -> Pool:
    """Generate a pool with a model, showing how it fills, and add it to the library."""
    try:
        generator = load_generator(request.model)
    except ModelUnavailableError as error:
        if request.model or not keys.has_terminal():
            raise
        generator = _offer(console, str(error).partition(". ")[0])
    with _progress_bar(console, f"Answers from {generator.model}") as report:
        return generate_requested(request, generator, report)


def _offer(console: Console, reason: str) -> Generator:
    """Print why there is no model and offer to fetch the default one; anything but y says no."""
    from useralign.models import remedies, weights
    from useralign.models.downloads import format_size, show_progress

    entry = weights.find(weights.DEFAULT_TEXT_MODEL)
    console.print(
        f"{reason[0].upper()}{reason[1:]}. Fetch {entry.name} ({format_size(entry.size)}, "
        f"{entry.licence}) to run on this machine? [y/N] ",
        end="",
    )
    with keys.keyboard():
        answer = keys.read_key()
    console.print(answer)
    if answer != "y":
        ways = "\n".join(f"  {way.command}" for way in remedies())
        raise ModelUnavailableError(
            f"no model to make answers with; give --pool FILE with your own, or run one of\n{ways}"
        )
    with show_progress(entry.name, entry.size) as progress:
        weights.ensure(entry, progress)
    return load_generator(f"local:{entry.name}")


@contextmanager
def _progress_bar(console: Console, title: str) -> Iterator[Callable[[Event], None]]:
    """Yield what shows the events of a generation: a bar, and each answer as it arrives."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)

        def print_line(mark: str, text: str) -> None:
            """Print what came, above the bar; further lines of a text stand below its first."""
            row = Table.grid(padding=(0, 2))
            row.add_column(width=4, justify="right")
            row.add_row(mark, Text(text))
            bar.console.print(row, style="dim")

        def report(event: Event) -> None:
            bar.update(task, completed=event.made, total=event.wanted or None)
            if event.kind == "candidate" and event.candidate is not None:
                bar.update(task, description=title)
                print_line(str(event.made), screens.clean(str(event.candidate), 200))
            elif event.kind == "rejected" and event.note:
                print_line("-", f"left out: {event.note}")
            elif event.kind == "ideas":
                bar.update(task, description=event.note.capitalize())

        yield report
