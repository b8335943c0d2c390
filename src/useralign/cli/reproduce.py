"""`useralign reproduce`: the paper's evaluation, with our numbers beside the paper's."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from useralign.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from useralign.lab.reproduce import Reproduction

_WHAT = (
    "all, figure2, figure3, figure4, tables, head-to-head, large-pool, wall-clock, costs, food2d "
    "or unbiased."
)


def reproduce(
    what: Annotated[str, typer.Argument(help=_WHAT)] = "all",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder for everything; made if need be.")
    ] = Path("reproduction"),
    engine: Annotated[str, typer.Option(help="Where to compute: local or dask.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, tcp://...")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="How many processes; all cores if not given.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds; the paper has 5.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's evaluation, offline; finished work in the folder is not done again."""
    from useralign.lab.reproduce import reproduce as run

    options = {"engine": engine, "scheduler": scheduler, "jobs": jobs, "seeds": seeds}
    if as_json:
        _print_json(run(what, out, **options))  # type: ignore[arg-type]
        return
    from rich.console import Console

    errors = Console(stderr=True)
    with progress_bars(errors) as report:
        work = run(what, out, progress=report, **options)  # type: ignore[arg-type]
    _show(work)


@contextlib.contextmanager
def progress_bars(console: Console) -> Iterator[ProgressBars]:
    """Show progress on a console for as long as the context lasts."""
    with _bars(console) as bars:
        yield ProgressBars(bars, console)


class ProgressBars:
    """Shows how far each part is: a bar on a terminal, one line per part elsewhere."""

    def __init__(self, bars: Progress, console: Console) -> None:
        self._bars = bars
        self._plain = not console.is_terminal and not console.quiet
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, label: str, done: int, total: int, left: float | None) -> None:
        """Show how far a part is."""
        if label not in self._tasks:
            self._tasks[label] = self._bars.add_task(label, total=total, left="")
            if self._plain:
                typer.echo(f"{label}: {total:,} to do", err=True)
        text = "" if left is None or done == total else f"{_duration(left)} left"
        self._bars.update(self._tasks[label], completed=done, total=total, left=text)


def _bars(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        disable=not console.is_terminal,
    )


def _show(work: Reproduction) -> None:
    """Print the summary, the claims that do not hold, and where the report is."""
    typer.echo(work.report.summary())
    for verdict in work.report.verdicts:
        if not verdict.holds:
            typer.echo(f"\n  {verdict.claim} ({verdict.where}): does not hold.")
            typer.echo(f"    ours:  {verdict.ours}\n    paper: {verdict.paper}\n    {verdict.why}")
    typer.echo(f"\n{len(work.written)} files; begin with {work.out / 'report.html'}")


def _print_json(work: Reproduction) -> None:
    value = {
        "summary": work.report.summary(),
        "facts": work.report.facts,
        "verdicts": [verdict.to_dict() for verdict in work.report.verdicts],
        "tables": [t.to_dict() for part in work.report.sections for t in part.tables],
        "files": [str(path) for path in work.written],
    }
    print_json(value)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
