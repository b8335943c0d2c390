"""`useralign doctor`: what is here, what is missing, and the command that adds it."""

from __future__ import annotations

import importlib.util
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from useralign.cli.options import AsJson, print_json
from useralign.errors import ModelUnavailableError

EXTRAS = {
    "openai": ("openai", "answers from OpenAI and compatible services"),
    "local": ("xllamacpp", "answers from a model on this machine"),
    "minilm": ("onnxruntime", "better text features"),
    "vision": ("PIL", "pictures"),
    "web": ("fastapi", "the page in the browser, the HTTP API and studies"),
    "postgres": ("psycopg", "a PostgreSQL database, the driver"),
    "parquet": ("pyarrow", "exports of studies as Parquet"),
    "potion": ("model2vec", "the paper's text features"),
    "reference": ("cvxpy", "the paper's solver, to compare with"),
    "plots": ("matplotlib", "figures of the reproduction"),
    "dask": ("distributed", "experiments on a cluster"),
    "notebook": ("anywidget", "sessions as cards in a notebook"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    state: str
    good: bool | None = True  # None: neither good nor bad, only absent
    remedy: str = ""  # the command that adds or mends it


def findings() -> list[Finding]:
    """Look at everything; nothing is loaded, fetched or changed."""
    return [*_base(), _database(), *_models(), *_embedders(), *_extras()]


def _base() -> list[Finding]:
    from useralign import __version__
    from useralign.files import cache_dir
    from useralign.geometry import kernel
    from useralign.methods import list_methods

    compiled = kernel.name() == "compiled"
    state = "compiled" if compiled else "NumPy: the same results, more slowly"
    remedy = "install a C compiler, then pip install --force-reinstall useralign"
    return [
        Finding("useralign", f"{__version__} on Python {platform.python_version()}"),
        _optional("kernel", state, compiled, remedy),
        Finding("cache", str(cache_dir())),
        Finding("methods", ", ".join(list_methods())),
    ]


def _database() -> Finding:
    """Return which database is in use; it is not opened, and a password is not shown."""
    if importlib.util.find_spec("sqlalchemy") is None:
        return Finding("database", "not used without the web extra", None, _command("web"))
    from useralign.errors import OptionError
    from useralign.store.database import address, default_url

    try:
        url = address(default_url())
    except OptionError:  # says what it was given, which may hold a password
        wrong = "USERALIGN_DATABASE is no address of a database"
        mend = "unset it, or export USERALIGN_DATABASE=postgresql+psycopg://user@host/name"
        return Finding("database", wrong, False, mend)
    where = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "sqlite":
        present = Path(url.database or "").exists()
        return Finding("database", where if present else f"{where}, made when it is first used")
    if "psycopg" in url.drivername and importlib.util.find_spec("psycopg") is None:
        return Finding("database", f"{where}: no driver", False, _command("postgres"))
    return Finding("database", where)


def _optional(topic: str, state: str, present: bool, remedy: str) -> Finding:
    """Return a finding about what need not be there; the remedy is for where it is not."""
    return Finding(topic, state, present or None, "" if present else remedy)


def _command(extra: str) -> str:
    return f"pip install 'useralign[{extra}]'"


def _models() -> list[Finding]:
    from useralign.models import default_generator, remedies, weights
    from useralign.models.choice import services

    pulled = weights.pulled("text")
    try:
        writer = Finding("answers from", default_generator())
    except ModelUnavailableError as error:
        why = str(error).partition(". ")[0]
        writer = Finding("answers from", why, None, "\n".join(way.command for way in remedies()))
    rows = [writer]
    for one in services():
        state = f"{one.key} is {'set' if one.has_key else 'not set'}"
        rows.append(_optional(one.label, state, one.has_key, f"export {one.key}=..."))
    names = ", ".join(pulled) or "none pulled"
    pull = f"useralign models pull {weights.DEFAULT_TEXT_MODEL}"
    return [*rows, *_servers(), _optional("local models", names, bool(pulled), pull)]


def _servers() -> list[Finding]:
    """Return what answers on this machine, and how to start what does not."""
    from useralign.models.providers import OFF, SERVERS_VARIABLE, find_servers, providers

    answering = find_servers()
    rows = []
    for server in answering:
        names = ", ".join(model.name for model in server.models[:5])
        more = f" and {len(server.models) - 5} more" if len(server.models) > 5 else ""
        state = f"at {server.where}: {names or server.trouble}{more}"
        rows.append(Finding(server.provider.label, state, bool(server.models)))
    if os.environ.get(SERVERS_VARIABLE, "").strip().lower() == OFF:
        off = f"not looked for: {SERVERS_VARIABLE}={OFF}"
        return [Finding("servers here", off, None, f"unset {SERVERS_VARIABLE}")]
    names_here = {server.provider.name for server in answering}
    return rows + [
        Finding(p.label, f"does not answer at {p.base_url}", None, p.start)
        for p in providers().values()
        if p.is_server and p.name not in names_here and not os.environ.get(SERVERS_VARIABLE)
    ]


def _embedders() -> list[Finding]:
    from useralign.models import embedder_statuses

    rows = []
    for status in embedder_statuses():
        state = f"{'/'.join(status.embeds)}, {status.dimension}-d: {status.why}"
        rows.append(_optional(f"embedder {status.name}", state, status.usable, ""))
    return rows


def _extras() -> list[Finding]:
    rows = []
    for extra, (module, purpose) in EXTRAS.items():
        present = importlib.util.find_spec(module) is not None
        state = f"{purpose}: {'installed' if present else 'not installed'}"
        rows.append(_optional(f"extra {extra}", state, present, _command(extra)))
    return rows


def doctor(as_json: AsJson = False) -> None:
    """Show what is here, what is missing, and the command that adds it."""
    rows = findings()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        mark = {True: "[green]✓[/]", None: "[dim]·[/]", False: "[red]✗[/]"}[row.good]
        remedy = f"\n[cyan]{escape(row.remedy)}[/]" if row.remedy else ""
        table.add_row(mark, row.topic, escape(row.state) + remedy)
    Console().print(table)
