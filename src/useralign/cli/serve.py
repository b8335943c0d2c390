"""`useralign serve` and `useralign mcp`: the web application, the keys of its API, assistants."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from useralign.cli.options import AsJson, emit
from useralign.errors import OptionError

if TYPE_CHECKING:
    from useralign.store import Store

app = typer.Typer(invoke_without_command=True, help="Serve the web pages and the HTTP API.")
keys = typer.Typer(no_args_is_help=True, help="Keys of the HTTP API, for programs elsewhere.")
app.add_typer(keys, name="keys")

Database = Annotated[
    str | None,
    typer.Option(help="Where to keep things: sqlite:////path, postgresql+psycopg://..."),
]


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8000,
    database: Database = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(help="A file with the secret; else USERALIGN_SECRET. Needed beyond here."),
    ] = None,
    workers: Annotated[int, typer.Option(help="How many processes.", min=1, max=64)] = 1,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Believe the proxy's X-Forwarded headers.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="A name to answer to; may be given several times.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Another site whose pages may use <user-align>, such as https://app.example; may "
            "be given several times. Else USERALIGN_ORIGINS, with commas between them."
        ),
    ] = None,
    making: Annotated[
        bool | None,
        typer.Option(
            "--making/--no-making",
            help="Whether visitors may have a model make answers; by default only here.",
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(help="The model behind /v1, such as ollama:llama3.2; else the best here."),
    ] = None,
    open_browser: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open a browser.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve the web pages and the HTTP API until Ctrl-C.

    On this machine it works at once. To be reached from elsewhere it needs a secret.
    """
    if context.invoked_subcommand is not None:
        return
    _need_web()
    from useralign.web.serving import serve as run
    from useralign.web.settings import settings_at

    settings = settings_at(
        host,
        secret=_secret(secret_file),
        hosts=allowed_host or (),
        trust_proxy=behind_proxy,
        workers=workers,
        making=making,
        upstream=upstream,
        origins=frozenset(origin or listed_origins()),
    )
    opens = sys.stdout.isatty() if open_browser is None else open_browser

    def ready(address: str) -> None:
        emit(as_json, {"address": address}, f"useralign is at {address}")
        sys.stdout.flush()
        if opens:
            import webbrowser

            webbrowser.open(address)

    run(settings, host, port, database, ready)


@keys.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, this once."""
    key = _store(database).keys.add(name)
    text = f"{key}\nKeep it safe: it is not shown again. Send it as Authorization: Bearer"
    emit(as_json, {"name": name, "key": key}, text)


@keys.command("list")
def list_keys(database: Database = None, as_json: AsJson = False) -> None:
    """List the keys by name."""
    from datetime import UTC, datetime

    rows = [
        {"name": key.name, "created": datetime.fromtimestamp(key.created, UTC).isoformat()}
        for key in _store(database).keys.all()
    ]
    emit(as_json, rows, "\n".join(f"{row['created'][:10]}  {row['name']}" for row in rows))


@keys.command("remove")
def remove_key(
    name: Annotated[str, typer.Argument(help="As `keys list` shows it.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete a key; what was made with it stays."""
    removed = _store(database).keys.remove(name)
    text = f"{name} was removed" if removed else f"there is no key {name!r}"
    emit(as_json, {"name": name, "removed": removed}, text)


def mcp(database: Database = None) -> None:
    """Serve an assistant on this machine: an MCP server on standard input and output.

    Name this command in the assistant's configuration.

    For assistants elsewhere, `useralign serve` has the same at /mcp.
    """
    from useralign.extras import require_extra

    require_extra(["mcp", "fastapi", "sqlalchemy"], "the MCP server", "mcp")
    from useralign.store import open_store
    from useralign.web.app import create_app
    from useralign.web.identity import LOCAL
    from useralign.web.mcp import Assistant

    store = open_store(database)
    state = create_app(store).state
    try:
        Assistant(state, LOCAL).server().run()
    finally:
        state.pool_jobs.close()
        store.close()


def _store(database: str | None) -> Store:
    _need_web()
    from useralign.store import open_store

    return open_store(database)


def _need_web() -> None:
    from useralign.extras import require_extra

    needed = ("fastapi", "uvicorn", "jinja2", "multipart", "markdown_it", "nh3", "sqlalchemy")
    require_extra(needed, "the web application", "web")


def listed_origins() -> list[str]:
    """Return the sites that the environment allows."""
    listed = os.environ.get("USERALIGN_ORIGINS", "")
    return [origin.strip() for origin in listed.split(",") if origin.strip()]


def _secret(file: Path | None) -> str | None:
    """Return the secret: from the file that is named, else from the environment."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            raise OptionError(
                f"{file} is no text; expected one line of letters and digits, the secret"
            ) from None
    return os.environ.get("USERALIGN_SECRET", "").strip() or None
