"""`useralign models`: fetch, list and remove the weights of models that run here."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from useralign.cli.options import AsJson, emit, print_json
from useralign.models import weights
from useralign.models.progress import format_size, show_progress

app = typer.Typer(
    no_args_is_help=True,
    help="Fetch, list and remove the weights of models that run on this machine.",
)

Name = Annotated[str, typer.Argument(help="As `useralign models list` shows it.")]


@app.command()
def pull(name: Name = weights.DEFAULT_TEXT_MODEL, as_json: AsJson = False) -> None:
    """Fetch a model's weights; a pull that was cut off goes on where it stopped."""
    entry = weights.find(name)
    with show_progress(entry.name, entry.size) as progress:
        path = weights.ensure(entry, progress)
    value = {"name": name, "path": str(path), "size": entry.size, "sha256": entry.sha256}
    emit(as_json, value, f"{name} is in {path}")


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models that can be pulled, and those that have been."""
    rows = [_row(entry) for entry in weights.catalogue().values()]
    if as_json:
        print_json(rows)
        return
    table = Table("name", "kind", "size", "licence", "here", box=None, pad_edge=False)
    for row in rows:
        size = format_size(int(str(row["size"])))
        pulled = "yes" if row["path"] else "no"
        table.add_row(str(row["name"]), str(row["kind"]), size, str(row["licence"]), pulled)
    Console().print(table)


@app.command()
def remove(name: Name, as_json: AsJson = False) -> None:
    """Delete a model's weights from this machine."""
    removed = weights.remove(name)
    text = f"{name} was removed" if removed else f"{name} was not here"
    emit(as_json, {"name": name, "removed": removed}, text)


def _row(entry: weights.Weights) -> dict[str, object]:
    path = weights.path_of(entry)
    return {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "licence": entry.licence,
        "size": entry.size,
        "sha256": entry.sha256,
        "path": str(path) if path else None,
    }
