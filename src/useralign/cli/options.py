"""Options that several commands have, and how a command prints its result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]
Embedder = Annotated[str | None, typer.Option(help="What turns answers into features.")]
Model = Annotated[str | None, typer.Option(help="openai:gpt-4o, local:NAME, a .gguf.")]
Images = Annotated[bool, typer.Option("--image", help="Pictures instead of texts.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", help="How many processes; all cores if not given.")
]
OutFolder = Annotated[
    Path, typer.Option("--out", "-o", help="The folder for everything; made if need be.")
]
Care = Annotated[
    bool | None,
    typer.Option(
        "--care/--no-care",
        help="List and weigh ideas before answers are written: slower, more varied. A local "
        "model does it unless told not to.",
        show_default=False,
    ),
]


def emit(as_json: bool, value: Any, text: str) -> None:
    """Print the result of a command: its data as JSON, or the text that a person reads."""
    if as_json:
        print_json(value)
    else:
        typer.echo(text)


def print_json(value: Any) -> None:
    """Print the data of a command on one line."""
    typer.echo(json.dumps(value, ensure_ascii=False))
