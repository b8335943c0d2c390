"""`useralign study`: run a study with people, or rehearse it with simulated ones."""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from useralign.cli.study_simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from useralign.store import Store
    from useralign.study import Study
    from useralign.study.status import Status

app = typer.Typer(no_args_is_help=True, help="Run a study with people, or rehearse it.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]
Database = Annotated[
    str | None,
    typer.Option(help="sqlite:////file.db or postgresql+psycopg://user@host/name."),
]
app.command()(simulate)
Slug = Annotated[str, typer.Argument(help="The study's slug.")]


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("study.toml"),
    as_json: AsJson = False,
) -> None:
    """Write a study file to begin with: the paper's study, every key explained."""
    from useralign.errors import OptionError
    from useralign.files import write_atomically
    from useralign.study import template

    if file.exists():
        raise OptionError(f"{file} is there already; give another name, or remove it first")
    write_atomically(file, template())
    _say(as_json, {"file": str(file)}, f"{file} written. Edit it, then: useralign study add {file}")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="A study file.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Put a study into the database and open it; a study under way is not changed."""
    from rich.progress import Progress

    from useralign.store import open_store
    from useralign.study import Studies, read_design

    design = read_design(file)
    with closing(open_store(database)) as store, Progress(transient=True, disable=as_json) as bar:
        task = bar.add_task("Pools", total=None)
        made = Studies(store).add(
            design, lambda done, total: bar.update(task, completed=done, total=total)
        )
    value = {"slug": made.slug, "cells": len(design.cells), "places": design.places}
    text = (
        f"{made.slug}: {len(design.cells)} cells with {design.places} places each. Participants "
        f"come to /study/{made.slug} once `useralign serve` runs."
    )
    _say(as_json, value, text)


@app.command()
def status(slug: Slug, database: Database = None, as_json: AsJson = False) -> None:
    """Show how a study is going: places, drop-outs, times, attention."""
    from useralign.study.status import status as count

    with _opened(database, slug) as (store, study), store.reading() as connection:
        found = count(connection, study, time.time())
    _say(as_json, found.to_dict(), "" if as_json else _status_text(found))


@app.command()
def results(slug: Slug, database: Database = None, as_json: AsJson = False) -> None:
    """Show the win-rates in the form of the paper's table, the paper's beside them."""
    from useralign.study import results as computed
    from useralign.study.status import status as count

    with _opened(database, slug) as (store, study), store.reading() as connection:
        found = computed.outcomes(connection, study)
        state = count(connection, study, time.time())
    passed, failed = state.total("attentive"), state.total("inattentive")
    value = {
        "finished": state.total("finished"),
        "attention": {"passed": passed, "failed": failed},
        "results": [outcome.to_dict() for outcome in found],
    }
    text = computed.table(study.design, found).to_markdown()
    if passed + failed:
        text += f"\nAttention: {passed} passed, {failed} failed; nobody is left out for it."
    _say(as_json, value, text)


@app.command()
def export(
    slug: Slug,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the files.")] = Path(),
    form: Annotated[str, typer.Option("--format", help="csv, jsonl or parquet.")] = "csv",
    payments: Annotated[
        bool, typer.Option(help="Also who is to be paid: worker ids and completion codes.")
    ] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Write the answers, the participants and a codebook."""
    from useralign.study.codebook import SHARED
    from useralign.study.export import export as write

    wanted = (*SHARED, "payments") if payments else SHARED
    with _opened(database, slug) as (store, study):
        files = [str(path) for path in write(store, study, out, form, datasets=wanted)]
    _say(as_json, files, "\n".join(files))


@app.command()
def forget(
    slug: Slug,
    name: Annotated[str | None, typer.Argument(help="A pseudonym, p-...")] = None,
    worker: Annotated[str | None, typer.Option(help="The recruiting service's id.")] = None,
    worker_ids: Annotated[
        bool, typer.Option("--worker-ids", help="All worker ids, once everybody is paid.")
    ] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete a participant and all their answers, in the tables and in the files."""
    from useralign.errors import OptionError
    from useralign.study import forget as forgetting

    if [name is not None, worker is not None, worker_ids].count(True) != 1:
        raise OptionError(
            "say whom to forget: a pseudonym, --worker with the service's id, or --worker-ids"
        )
    with _opened(database, slug) as (store, study):
        if worker_ids:
            count = forgetting.forget_workers(store, study)
            _say(as_json, {"worker_ids": count}, f"The worker ids of {count} were deleted.")
            return
        gone = name or forgetting.find_worker(store, study, worker or "").pseudonym
        forgetting.forget(store, study, gone)
    _say(as_json, {"forgotten": gone}, f"{gone} was deleted.")


@app.command()
def invite(
    slug: Slug,
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many.")] = 10,
    url: Annotated[str, typer.Option(help="Where the server is.")] = "http://127.0.0.1:8000",
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Print links that are good for one participant each."""
    import secrets

    from useralign.errors import OptionError
    from useralign.study.recruiting import invitation

    base = f"{url.rstrip('/')}/study/{slug}?invitation="
    with _opened(database, slug) as (_, study):
        if not study.design.recruitment.invitation:
            raise OptionError(f"study {slug!r} takes nobody by invitation; its study file says so")
        links = [base + invitation(study, secrets.token_urlsafe(9)) for _ in range(count)]
    _say(as_json, links, "\n".join(links))


@app.command()
def close(
    slug: Slug,
    again: Annotated[bool, typer.Option("--reopen", help="Open it again.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take no more participants; those who began can finish."""
    from useralign.study import Studies

    with _opened(database, slug) as (store, _):
        Studies(store).set_open(slug, again)
    _say(as_json, {"open": again}, f"{slug} is {'open' if again else 'closed'}.")


@contextmanager
def _opened(database: str | None, slug: str) -> Iterator[tuple[Store, Study]]:
    from useralign.store import open_store
    from useralign.study import Studies

    store = open_store(database)
    try:
        yield store, Studies(store).get(slug)
    finally:
        store.close()


def _say(as_json: bool, value: Any, text: str) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False) if as_json else text)


def _status_text(found: Status) -> str:
    from useralign.lab.tables import Table

    rows: list[Any] = [
        (*cell.cell, f"{cell.finished} of {cell.wanted}", cell.active, cell.dropped)
        for cell in found.cells
    ]
    columns = ("domain", "method", "condition", "finished", "active", "dropped out")
    table = Table("status", f"{found.title} ({'open' if found.open else 'closed'})", columns, rows)
    lines = [table.to_markdown()]
    lines.append(
        f"{found.total('finished')} of {found.total('wanted')} finished, {found.total('active')} "
        f"active, {found.total('dropped')} dropped out."
    )
    if found.seconds:
        lines.append(f"Median time {found.seconds['all'] / 60:.1f} minutes.")
    checked = found.total("attentive") + found.total("inattentive")
    if checked:
        lines.append(f"Attention checks passed: {found.total('attentive')} of {checked}.")
    return "\n".join(lines)
