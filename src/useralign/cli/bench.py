"""`useralign bench`: methods compared on the same people, candidates and luck."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from useralign.cli.options import AsJson, Jobs, OutFolder, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from useralign.lab.bench.contest import Contest
    from useralign.lab.bench.summary import Group, Line

app = typer.Typer(help="Compare methods.", no_args_is_help=True)

_SHORT = {
    "win": "win-rate %",
    "top": "best %",
    "regret": "regret %",
    "top3": "best three %",
    "words": "words read %",
}
_POOLS = (
    "Comma-separated: food64d, travel64d, visual512d, dsp64d, synthetic64d, synthetic512d, "
    "synthetic2d. All if not given, or none with --people."
)
_USERS = (
    "Comma-separated. Of the synthetic pools: consistent, btl, flip10, flip20, unexplained, "
    "ranking; all if not given. Of the others: persona (if not given), slip05, slip10, coin, "
    "indifferent."
)


@app.callback()
def root() -> None:
    """Compare methods."""


@app.command("methods")
def compare(
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            "-m",
            help="Comma-separated; all installed if not given. `few` is the preset for people.",
        ),
    ] = None,
    pools: Annotated[str | None, typer.Option("--pools", "-p", help=_POOLS)] = None,
    users: Annotated[str | None, typer.Option("--users", help=_USERS)] = None,
    people: Annotated[
        Path | None,
        typer.Option(help="A folder of recorded people: items, and answers or ratings."),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", "-n", help="Synthetic pools of a kind; interactions a person, at most 5."
        ),
    ] = 100,
    show: Annotated[
        int | None,
        typer.Option(min=2, max=9, help="How many candidates a screen has; 2 if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
    jobs: Jobs = None,
    out: OutFolder = Path("bench-methods"),
    as_json: AsJson = False,
) -> None:
    """Compare ways of choosing what to ask, with 20 questions each.

    All methods meet the same people and candidates with the same seeds.

    Finished work in the folder is not done again, so methods and runs can be added later.
    """
    from useralign.lab.bench.contest import contest

    plan = contest(
        _names("--methods", methods),
        _names("--pools", pools),
        users=_names("--users", users),
        runs=runs,
        seed=seed,
        people=people,
        show=show,
    )
    groups = _run(plan, out, jobs, quiet=as_json)
    files = _write(groups, out)
    if as_json:
        value = {
            "runs": plan.runs,
            "seed": plan.seed,
            "groups": [group.to_dict() for group in groups],
            "files": [str(path) for path in files],
        }
        print_json(value)
        return
    _show(groups)
    typer.echo(f"\n{len(files)} files in {out}; all tables are in {out / 'summary.md'}")


def _names(option: str, text: str | None) -> list[str] | None:
    """Return the names of a comma-separated list; None when it was not given."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter(f"{option} {text!r} names nothing; leave it out to have all")
    return names


def _run(plan: Contest, out: Path, jobs: int | None, *, quiet: bool) -> list[Group]:
    from rich.console import Console

    from useralign.cli.reproduce import progress_bars
    from useralign.lab.bench.contest import run_contest
    from useralign.lab.bench.summary import summarise

    errors = Console(stderr=True, quiet=quiet)
    with progress_bars(errors) as report:
        cells, spent = run_contest(
            plan,
            out,
            jobs=jobs,
            progress=lambda done, total, left: report("methods", done, total, left),
        )
    return summarise(cells, spent, plan)


def _write(groups: list[Group], out: Path) -> list[Path]:
    """Write the tables, and the figures where they can be drawn."""
    from useralign.errors import MissingExtraError
    from useralign.files import write_atomically
    from useralign.lab.bench.summary import (
        clock_table,
        metric_tables,
        overviews,
        screen_tables,
        short_tables,
        write_figures,
    )

    over, clock = [*overviews(groups), *screen_tables(groups)], clock_table(groups)
    tables = (*over, *metric_tables(groups), clock)
    files = [path for table in tables for path in table.write(out / "tables")]
    pages = [table.to_markdown() for table in (*over, clock, *short_tables(groups))]
    files.append(write_atomically(out / "summary.md", "\n".join(pages)))
    try:
        files += write_figures(groups, out / "figures")
    except MissingExtraError as error:
        typer.echo(f"no figures: {error}", err=True)
    return files


def _show(groups: list[Group]) -> None:
    from rich.console import Console

    console = Console()
    for group in groups:
        console.print(_table(group))
        for line in group.lines:
            if (end := line.end) is not None:
                console.print(
                    f"{line.method}: {end.screens:g} screens of {end.per_screen}, "
                    f"{_percent(end.words)}% of the words, best three {_percent(end.top3)}%, "
                    f"regret {_percent(end.regret)}%",
                    highlight=False,
                )


def _table(group: Group) -> Table:
    """Lay out a group within 80 columns: three blocks of rows, a column a number of answers."""
    from rich.table import Table

    from useralign.lab.bench.contest import TIMES

    title = f"{group.title}: {group.lines[0].count} interactions"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("answers", no_wrap=True)
    for heading in (*(str(t) for t in TIMES), "to 90", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for metric, heading in _SHORT.items():
        if metric not in group.lines[0].means:
            continue
        table.add_row(heading, style="bold")
        for line in group.lines:
            ends = _ends(line) if metric == "win" else ("", "")
            means = (_percent(line.means[metric][t]) for t in TIMES)
            table.add_row(f"  {line.method[:13]}", *means, *ends)
    return table


def _percent(mean: Any) -> str:
    return f"{100 * mean.mean:.0f}±{100 * mean.sem:.0f}"


def _ends(line: Line) -> tuple[str, str]:
    reached = "-" if line.to_level is None else str(line.to_level)
    spent = line.milliseconds
    digits = 2 if spent is not None and spent < 10 else 0
    return reached, "-" if spent is None else f"{spent:.{digits}f}"
