"""`useralign models`: what can be used here; fetch and remove weights of models that run here."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from useralign.cli.options import AsJson, emit, print_json
from useralign.models import is_too_small, weights
from useralign.models.choice import services
from useralign.models.downloads import format_size, show_progress
from useralign.models.providers import find_servers

app = typer.Typer(
    no_args_is_help=True,
    help="List the models that can be used; fetch and remove those that run on this machine.",
)

SMALL = "too small to be chosen by itself"
Name = Annotated[str, typer.Argument(help="As `useralign models list` shows it.")]

Forget = Annotated[
    bool, typer.Option("--forget", help="Forget the checksum that was pinned at the first pull.")
]


@app.command()
def pull(name: Name = weights.DEFAULT_TEXT_MODEL, as_json: AsJson = False) -> None:
    """Fetch a model's weights; a pull that was cut off goes on where it stopped.

    hf:OWNER/REPO/FILE.gguf, with @REVISION at its end if need be, is any GGUF file at the hub.
    """
    entry = weights.resolve(name)
    with show_progress(name, entry.size) as progress:
        entry = weights.pull(entry, progress)
    path = weights.path_of(entry)
    value = {"name": name, "path": str(path), "size": entry.size, "sha256": entry.sha256}
    text = f"{name} is in {path}"
    if weights.is_hub_name(name) and entry.hub is not None:
        value["revision"] = entry.hub.revision
        text += (
            f"\nrevision {entry.hub.revision}\nsha256 {entry.sha256}\n"
            "Pinned on this machine when it was first pulled: a later pull must give the same "
            "file. It is not pinned by useralign, which knows nothing of it.\n"
            f"useralign ask --model {name}"
        )
    emit(as_json, value, text)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models that can be used or pulled, the servers found here, and the services."""
    rows = [*map(_own_row, weights.entries().values()), *_served_rows(), *_service_rows()]
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for row in rows:
        mark = "[green]✓[/]" if row["usable"] else "[dim]·[/]"
        size = format_size(int(row["size"])) if row["size"] else ""
        facts = escape(", ".join(filter(None, [row["where"], size, row["note"]])))
        command = f"\n[cyan]{escape(row['command'])}[/]" if row["command"] else ""
        table.add_row(mark, escape(row["name"]), facts + command)
    Console().print(table)


@app.command()
def remove(name: Name, forget: Forget = False, as_json: AsJson = False) -> None:
    """Delete a model's weights from this machine."""
    removed = weights.remove(name)
    if forget and weights.is_hub_name(name):
        weights.forget_pin(name)
    text = f"{name} was removed" if removed else f"{name} was not here"
    emit(as_json, {"name": name, "removed": removed}, text)


def _own_row(entry: weights.Weights) -> dict[str, Any]:
    """Return the row of a model that runs on this machine once it is pulled."""
    path = weights.path_of(entry)
    notes = [entry.kind if entry.kind != "text" else "", SMALL if is_too_small(entry.name) else ""]
    note = ", ".join(filter(None, [entry.licence, *notes]))
    command = "" if path else f"useralign models pull {entry.name}"
    names = ("kind", "title", "licence", "size", "sha256")
    facts = {name: getattr(entry, name) for name in names} | {"path": str(path) if path else None}
    return _row(entry.name, "this machine", note, usable=bool(path), command=command, **facts)


def _served_rows() -> list[dict[str, Any]]:
    """Return a row per model of a server found here, and one per server that has none."""
    rows = []
    for server in find_servers():
        where = f"{server.provider.label} at {server.where}"
        if not server.models:
            rows.append(_row(server.provider.name, where, server.trouble, usable=False))
        for model in server.models:
            note = SMALL if is_too_small(model.name, model.parameters) else ""
            rows.append(_row(server.name_of(model), where, note, usable=True))
    return rows


def _service_rows() -> list[dict[str, Any]]:
    rows = []
    for provider in services():
        note = f"{provider.key} is set" if provider.has_key else ""
        command = "" if provider.has_key else f"export {provider.key}=..."
        name = f"{provider.name}:{provider.model}"
        rows.append(_row(name, provider.label, note, usable=provider.has_key, command=command))
    return rows


def _row(
    name: str, where: str, note: str, *, usable: bool, command: str = "", **facts: Any
) -> dict[str, Any]:
    about = {"name": name, "kind": "text", "where": where, "title": name, "licence": None}
    file = {"size": None, "sha256": None, "path": None}
    return about | file | facts | {"usable": usable, "note": note, "command": command}
