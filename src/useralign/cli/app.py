"""The root command, with all command groups."""

from __future__ import annotations

from typing import Annotated

import typer

from useralign import __version__
from useralign.cli import ask


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"useralign {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Ask a question, compare a few answers, get the one that fits you."""


def build(*, whole: bool = True) -> typer.Typer:
    """Return the application; if not whole, with `ask` alone, which is to start at once."""
    app = typer.Typer(
        name="useralign",
        help="Ask a question, compare a few answers, get the one that fits you.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    app.command()(ask.ask)
    if whole:
        _add_rest(app)
    return app


def _add_rest(app: typer.Typer) -> None:
    from useralign.cli import bench, doctor, memory, models, pool, reproduce, serve, study

    app.add_typer(pool.app, name="pool")
    app.add_typer(models.app, name="models")
    app.add_typer(memory.app, name="memory")
    app.add_typer(serve.app, name="serve")
    app.command()(serve.mcp)
    app.add_typer(study.app, name="study")
    app.command()(reproduce.reproduce)
    app.add_typer(bench.app, name="bench")
    app.command()(doctor.doctor)
