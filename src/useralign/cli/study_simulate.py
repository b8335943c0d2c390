"""`useralign study simulate`: simulated people go through the real pages."""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from useralign.store import Store
    from useralign.study import Design, Study
    from useralign.study.simulate import Report

_PROLIFIC = "https://app.prolific.com/submissions/complete?cc=SIMULATED"


def simulate(
    file: Annotated[
        Path | None, typer.Argument(help="A study file; the paper's study if not given.")
    ] = None,
    participants: Annotated[int, typer.Option(min=1, help="How many are to finish.")] = 960,
    noise: Annotated[float, typer.Option(help="How unsure people are; 0 is never.")] = 0.1,
    drop_out: Annotated[float, typer.Option(help="The share that leaves on the way.")] = 0.3,
    lost: Annotated[float, typer.Option(help="The share of requests that is lost.")] = 0.0,
    double: Annotated[float, typer.Option(help="The share of double clicks.")] = 0.05,
    think: Annotated[float, typer.Option(help="Seconds a person looks at a page.")] = 0.0,
    concurrency: Annotated[int, typer.Option(min=1, help="How many at once.")] = 200,
    source: Annotated[str, typer.Option(help="link, prolific or mturk.")] = "link",
    window: Annotated[float, typer.Option(help="Seconds that keep an idle place.")] = 60.0,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the server.")] = 1,
    database: Annotated[
        str | None, typer.Option(help="A new SQLite file, thrown away, if not given.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A server that runs already, with this study in it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For what people like and do.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")] = False,
) -> None:
    """Rehearse a study: simulated people, real server, real pages; then the paper's table."""
    from useralign.study.simulate import Behaviour, Crowd, run

    behaviour = Behaviour(noise=noise, drop_out=drop_out, lost=lost, double=double, think=think)
    design = _design(file, participants, source, window if url is None else None)
    with _server(design, database, url, workers, as_json) as (address, store, study):
        with _progress(participants, as_json) as seen:
            crowd = Crowd(
                address,
                design,
                behaviour,
                wanted=participants,
                concurrency=concurrency,
                source=source,
                seed=seed,
                seen=seen,
            )
            report = run(crowd, store)
        _tell(report, store, study, as_json)


def _design(file: Path | None, participants: int, source: str, window: float | None) -> Design:
    from useralign.errors import OptionError
    from useralign.study import Design, parse_design, read_design, template

    if source not in ("link", "prolific", "mturk"):
        raise OptionError(f"source must be link, prolific or mturk, got {source!r}")
    design = parse_design(template()) if file is None else read_design(file)
    if window is None:
        return design
    changed: dict[str, Any] = {
        "slug": f"simulated-{int(time.time())}",
        "participants": participants,
        "active_minutes": window / 60,
        "recruitment": {"link": True, "prolific": _PROLIFIC, "mturk": "sandbox"},
    }
    return Design.from_dict(design.to_dict() | changed)


@contextmanager
def _server(
    design: Design, database: str | None, url: str | None, workers: int, quiet: bool
) -> Iterator[tuple[str, Store | None, Study | None]]:
    """Give the address of a server: the one named, or our own over a database of its own."""
    if url is not None:
        yield url, None, None
        return
    from useralign.store import open_store
    from useralign.study import Studies
    from useralign.web.study_server import serving

    with ExitStack() as stack:
        if database is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="useralign-"))
            database = f"sqlite:///{folder}/simulated.db"
        store = open_store(database)
        stack.callback(store.close)
        with _progress(None, quiet, "Pools") as seen:
            study = Studies(store).add(design, lambda done, _: seen(done))
        yield stack.enter_context(serving(database, workers)), store, study


@contextmanager
def _progress(
    total: int | None, quiet: bool, label: str = "Finished"
) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=quiet) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _tell(report: Report, store: Store | None, study: Study | None, as_json: bool) -> None:
    from useralign.study import results
    from useralign.study.status import status

    value: dict[str, Any] = {"simulation": report.to_dict()}
    lines = _lines(report)
    if store is not None and study is not None:
        with store.reading() as connection:
            found = results.outcomes(connection, study)
            state = status(connection, study, time.time())
        value |= {"status": state.to_dict(), "results": [one.to_dict() for one in found]}
        finished = [cell.finished for cell in state.cells]
        lines.append(f"Cells: {min(finished)} to {max(finished)} finished.")
        lines.append(f"Selections on the left: {100 * (state.shown_left or 0):.1f}%.")
        lines += ["", results.table(study.design, found).to_markdown()]
    typer.echo(json.dumps(value) if as_json else "\n".join(lines))


def _lines(report: Report) -> list[str]:
    times = ", ".join(f"{name} {value:.0f} ms" for name, value in report.latency.items())
    rate = report.answers / report.seconds if report.seconds else 0.0
    lines = [
        f"{report.finished} finished, {report.left} left on the way, {report.failed} failed.",
        f"It took {report.seconds:.0f} s.",
        f"{report.answers:,} answers acknowledged, {rate:.0f} a second; {times}.",
        f"Errors: {sum(report.troubles.values())}.",
        *(f"  {count} x {what}" for what, count in report.troubles.items()),
    ]
    if report.missing is not None:
        lines.append(
            f"In the database: {report.missing} missing, {report.different} different, "
            f"{report.extra} that nobody sent."
        )
    return lines
