"""The root command, with all command groups."""

from __future__ import annotations

from typing import Annotated

import typer

from useralign import __version__
from useralign.cli import ask, bench, doctor, memory, models, pool, reproduce, serve, study

app = typer.Typer(
    name="useralign",
    help="Ask a question, compare a few answers, get the one that fits you.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"useralign {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Ask a question, compare a few answers, get the one that fits you."""


app.command()(ask.ask)
app.add_typer(pool.app, name="pool")
app.add_typer(models.app, name="models")
app.add_typer(memory.app, name="memory")
app.add_typer(serve.app, name="serve")
app.add_typer(study.app, name="study")
app.command()(reproduce.reproduce)
app.add_typer(bench.app, name="bench")
app.command()(doctor.doctor)
