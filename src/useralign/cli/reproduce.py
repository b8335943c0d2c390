"""`useralign reproduce`: the paper's evaluation, with our numbers beside the paper's."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from useralign.cli.options import AsJson, Embedder, Jobs, OutFolder, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.progress import TaskID

    from useralign.lab.reproduce import Reproduction

_WHAT = (
    "all, figure1, figure2, theory, figure3, figure4, near, tables, win-rates, head-to-head, "
    "large-pool, large-pools, wall-clock, costs, food2d, unbiased, or dsp, which needs --data."
)


def reproduce(
    what: Annotated[str, typer.Argument(help=_WHAT)] = "all",
    out: OutFolder = Path("reproduction"),
    engine: Annotated[str, typer.Option(help="Where to compute: local or dask.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, tcp://...")
    ] = None,
    jobs: Jobs = None,
    seeds: Annotated[int, typer.Option(help="How many seeds; the paper has 5.")] = 5,
    users: Annotated[
        str, typer.Option(help="persona, or judge: a language model plays them.")
    ] = "persona",
    model: Annotated[
        str | None, typer.Option(help="With judge: openai:gpt-4o-mini, local:NAME, a .gguf.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="With judge: a folder of pools, or a domain. With dsp: the file, or fetch."
        ),
    ] = None,
    embedder: Embedder = None,
    questions: Annotated[
        int | None, typer.Option(help="With judge: how many questions, from the first.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(help="With judge: the most to spend, in US dollars.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's evaluation, offline; finished work in the folder is not done again.

    With --users judge a language model plays the users, as in the paper: its main experiment.
    """
    from useralign.errors import OptionError
    from useralign.lab.reproduce import Judges
    from useralign.lab.reproduce import reproduce as run

    options: dict[str, Any] = {
        "engine": engine,
        "scheduler": scheduler,
        "jobs": jobs,
        "seeds": seeds,
    }
    if users not in ("persona", "judge"):
        raise OptionError(f"--users {users} is not known; expected persona or judge")
    if what == "dsp" and users == "persona":
        options["data"], data = _dsp_file(data), None
    of_judges = (model, data, embedder, questions, max_cost)
    if users == "persona" and any(option is not None for option in of_judges):
        raise OptionError(
            "--model, --data, --embedder, --questions and --max-cost go with --users judge"
        )
    if users == "judge":
        if model is None or data is None:
            raise OptionError("--users judge needs --model, and --data with pools to judge")
        options["judges"] = Judges(model, data, embedder, questions, max_cost, _say)
    if as_json:
        _print_json(run(what, out, **options))
        return
    from rich.console import Console

    errors = Console(stderr=True)
    with progress_bars(errors) as report:
        work = run(what, out, progress=report, **options)
    _show(work)


def _dsp_file(data: str | None) -> str | None:
    """Return the path of the public DSP file, downloaded if that is asked for."""
    from useralign.pooling.dsp import LICENCE, SHA256, SOURCE, fetch_dsp

    if data != "fetch":
        return data
    _say(f"{LICENCE}\nFrom {SOURCE}\nsha256 {SHA256}")
    return str(fetch_dsp())


def _say(text: str) -> None:
    typer.echo(text, err=True)


@contextlib.contextmanager
def progress_bars(console: Console) -> Iterator[Callable[[str, int, int, float | None], None]]:
    """Yield what shows how far each part is: a bar on a terminal, one line per part elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def report(label: str, done: int, total: int, left: float | None) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total, left="")
                if not (console.is_terminal or console.quiet):
                    typer.echo(f"{label}: {total:,} to do", err=True)
            text = "" if left is None or done == total else f"{_duration(left)} left"
            bars.update(tasks[label], completed=done, total=total, left=text)

        yield report


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
