"""Write the reference pages that are made from the code: commands and HTTP routes.

    python -m tools.reference

A test compares the pages with what this would write, so that nothing can be left undocumented.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer.main

from useralign.cli.app import build
from useralign.store import open_store
from useralign.web.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = Path(__file__).parent.parent / "docs" / "reference"
_NOTE = "<!-- Made by `python -m tools.reference`. -->"


def command_line() -> str:
    """Return the page of all commands with their arguments and options."""
    lines = [_NOTE, "# Command line", ""]
    lines += ["Every command takes `--help`; most take `--json` for use by other programs.", ""]
    for name, command in _commands(typer.main.get_command(build()), "useralign"):
        lines += [f"## {name}", "", (command.help or "").strip().replace("\b\n", ""), ""]
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            lines += ["| | | default |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if not children:
        yield name, command
        return
    for child in sorted(children):
        yield from _commands(children[child], f"{name} {child}")


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    named = any(name.startswith("-") for name in names)
    label = ", ".join(f"`{name}`" for name in names) if named else f"`{parameter.name.upper()}`"
    help_ = (getattr(parameter, "help", None) or "").replace("|", "\\|").replace("\n", " ")
    return f"| {label} | {help_} | {_default(parameter)} |"


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "needed"
    if value is None or value is False or callable(value) or value in ((), []):
        return ""
    return f"`{value}`"


def http() -> str:
    """Return the page of all HTTP routes, from the application's own description."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/reference.db")
        described = create_app(store).openapi()
        store.close()
    lines = [_NOTE, "# HTTP API", "", described["info"].get("description", "").strip(), ""]
    for path, methods in sorted(described["paths"].items()):
        for method, about in methods.items():
            lines += [f"## {method.upper()} {path}", "", about.get("summary", ""), ""]
            if about.get("description"):
                lines += [about["description"].strip(), ""]
            replies = about.get("responses", {}).items()
            lines += [f"- {code}: {reply.get('description', '')}" for code, reply in replies]
            lines += [""]
    return "\n".join(lines)


def main() -> None:
    """Write the pages."""
    PAGES.mkdir(exist_ok=True)
    (PAGES / "command-line.md").write_text(command_line(), encoding="utf-8")
    (PAGES / "http.md").write_text(http(), encoding="utf-8")


if __name__ == "__main__":
    main()
