"""`useralign study`: run a study with people, or rehearse it with simulated ones."""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from useralign.cli import keys
from useralign.cli.options import AsJson, emit
from useralign.errors import OptionError, StoreError
from useralign.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from useralign.store import Store
    from useralign.study import Design, Studies, Study
    from useralign.study.results import Status
    from useralign.study.simulate import CrowdReport

app = typer.Typer(no_args_is_help=True, help="Run a study with people, or rehearse it.")

Database = Annotated[
    str | None,
    typer.Option(help="sqlite:////file.db or postgresql+psycopg://user@host/name."),
]
StudyFile = Annotated[Path, typer.Argument(help="A study file.")]
Slug = Annotated[str, typer.Argument(help="The study's slug.")]

_PROLIFIC = "https://app.prolific.com/submissions/complete?cc=SIMULATED"


@app.command()
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
    as_json: AsJson = False,
) -> None:
    """Rehearse a study: simulated people, real server, real pages; then the paper's table."""
    from useralign.study.simulate import Behaviour, Crowd, run

    behaviour = Behaviour(noise=noise, drop_out=drop_out, lost=lost, double=double, think=think)
    design = simulated_design(file, participants, source, window if url is None else None)
    with _server(design, database, url, workers, as_json) as (address, store, study):
        with _progress_bar("Finished", as_json, participants) as progress:
            crowd = Crowd(
                address,
                design,
                behaviour,
                participants=participants,
                concurrency=concurrency,
                source=source,
                seed=seed,
                progress=progress,
            )
            report = run(crowd, store)
        _print_report(report, store, study, as_json)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("study.toml"),
    kind: Annotated[
        str | None, typer.Option(help="What people compare: paper, texts or pictures.")
    ] = None,
    question: Annotated[str | None, typer.Option(help="What the answers are to.")] = None,
    answers: Annotated[
        str | None, typer.Option(help="Their file or folder, or a model such as openai:gpt-4o.")
    ] = None,
    participants: Annotated[int | None, typer.Option(min=1, help="How many are wanted.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a study file to begin with, every key explained, after four questions.

    Without a terminal and without options it is the paper's study.
    """
    from useralign.study.design import own_template, paper_template, template

    if file.exists():
        raise OptionError(f"{file} is there already; give another name, or remove it first")
    asks = kind is None and not as_json and keys.has_terminal()

    def ask(value: Any, words: str, usual: Any) -> Any:
        if value is not None:
            return value
        return typer.prompt(words, default=usual) if asks else usual

    material = ask(kind, "What do people compare: paper, texts or pictures", "paper")
    if material == "paper":
        wanted = ask(participants, "How many participants", 960)
        text = paper_template(wanted) if asks or kind else template()
    elif material in ("texts", "pictures"):
        query = ask(question, "Which question are the answers to", "What should I do today?")
        usual = "answers.jsonl" if material == "texts" else "pictures"
        where = ask(answers, "Where are they (a file, a folder, or a model that makes them)", usual)
        text = own_template(material, query, where, ask(participants, "How many participants", 60))
    else:
        raise OptionError(f"kind must be paper, texts or pictures, got {material!r}")
    write_atomically(file, text)
    hint = f"{file} written. Edit it, then: useralign study check {file}"
    emit(as_json, {"file": str(file)}, hint)


@app.command()
def check(file: StudyFile, as_json: AsJson = False) -> None:
    """Print everything that is wrong with a study file, or what it amounts to."""
    from useralign.study import read_design

    design = read_design(file)
    questions = sum(map(len, design.load_questions().values()))
    cells = list(zip(design.cells, design.quota, strict=True))
    value = {
        "slug": design.slug,
        "cells": [{**cell._asdict(), "places": places} for cell, places in cells],
        "questions": questions,
        "pages": [page.id for page in design.pages],
        "languages": design.languages,
    }
    lines = [
        f"{file} is right: {design.slug}, {design.wanted} participants, questions: {questions}.",
        *(f"  {', '.join(cell)}: {places} places" for cell, places in cells),
        f"Rehearse it: useralign study simulate {file} --participants 20",
    ]
    emit(as_json, value, "\n".join(lines))


@app.command()
def prepare(
    file: StudyFile,
    yes: Annotated[bool, typer.Option("--yes", help="Make them without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let models make the answers that a study waits for, beforehand; first say what it costs."""
    from rich.console import Console

    from useralign.cli import get_pool
    from useralign.pooling import PoolRequest
    from useralign.study import read_design
    from useralign.study.material import estimate_cost
    from useralign.study.pages import in_language

    design, folder = read_design(file, prepared=False), file.absolute().parent
    entries = [entry for domain in design.domains for entry in domain.own if entry.model]
    waiting = [entry for entry in entries if not entry.file(folder).exists()]
    estimate = []
    for entry in waiting:
        count, cost = estimate_cost(entry)
        price = "at a price that is not known" if cost is None else f"about {cost:.3f} USD"
        typer.echo(f"{entry.id}: {count} answers by {entry.model}, {price}", err=as_json)
        estimate.append({"question": entry.id, "model": entry.model, "cost": (count, cost)})
    if waiting and not yes and keys.has_terminal() and not as_json:
        yes = typer.confirm("Make them?")
    files = []
    for entry in waiting if yes else ():
        text = in_language(entry.text, "")
        request = PoolRequest(
            text, model=entry.model, size=entry.size, images=entry.images, fresh=True
        )
        pool = get_pool.generate(request, Console(stderr=True))
        files.append(str(pool.save(entry.file(folder))))
    left = len(waiting) - len(files)
    done = f"{len(files)} made, {left} still to make." if waiting else "Nothing waits for a model."
    hint = " Give --yes to make them." if left else ""
    emit(as_json, {"made": files, "estimate": estimate}, done + hint)


@app.command()
def words(
    wording: Annotated[str, typer.Option(help="plain or paper.")] = "plain",
    language: Annotated[str, typer.Option(help="en or de.")] = "en",
    as_json: AsJson = False,
) -> None:
    """Print all texts of the pages with their keys, as `words` of a study file has them."""
    from useralign.study.wording import Words, built_in_languages, list_keys

    if wording not in ("plain", "paper") or language not in built_in_languages():
        raise OptionError(
            f"there are the wordings plain and paper, in {', '.join(built_in_languages())}; "
            f"got {wording!r} in {language!r}"
        )
    texts = Words(wording, {}, language)
    value = {key: texts(key) for key in list_keys()}
    lines = [f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in value.items()]
    emit(as_json, value, "\n".join(["[words]", *lines]))


@app.command()
def add(file: StudyFile, database: Database = None, as_json: AsJson = False) -> None:
    """Put a study into the database and open it; a study under way is not changed."""
    from useralign.study import read_design

    design = read_design(file)
    with _database(database) as (_, studies), _progress_bar("Pools", as_json) as progress:
        study = studies.add(design, progress)
    value = {"slug": study.slug, "cells": len(design.cells), "places": design.places}
    text = (
        f"{study.slug}: {design.wanted} participants over {len(design.cells)} cells. They come to "
        f"/study/{study.slug} once `useralign serve` runs."
    )
    emit(as_json, value, text)


@app.command()
def status(slug: Slug, database: Database = None, as_json: AsJson = False) -> None:
    """Show how a study is going: places, drop-outs, times, attention."""
    from useralign.study import results

    with _opened(database, slug) as (store, study):
        state = results.status(store, study, time.time())
    emit(as_json, state.to_dict(), _status_text(state))


@app.command()
def results(
    slug: Slug,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Leave out who has this flag: too_fast, same_side, failed_check, ..."),
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the win-rates in the form of the paper's table, then with intervals and tests."""
    from useralign.study import analysis, results
    from useralign.study.export import dataset_rows

    with _opened(database, slug) as (store, study):
        outcomes = results.outcomes(store, study)
        state = results.status(store, study, time.time())
        left_out = analysis.excluded(dataset_rows(store, study, "participants"), without or ())
        data = analysis.judgements(dataset_rows(store, study, "answers"), left_out)
    rates, tests = analysis.win_rates(data), analysis.paired_tests(data)
    passed, failed = state.total("attentive"), state.total("inattentive")
    value = {
        "finished": state.total("finished"),
        "attention": {"passed": passed, "failed": failed},
        "results": [outcome.to_dict() for outcome in outcomes],
        "left_out": len(left_out),
        "rates": [asdict(rate) for rate in rates],
        "tests": [asdict(test) for test in tests],
    }
    lines = [results.table(study.design, outcomes).to_markdown()]
    if passed + failed:
        lines.append(f"Attention: {passed} passed, {failed} failed; nobody is left out for it.\n")
    lines += [table.to_markdown() for table in results.statistics(rates, tests, len(left_out))]
    emit(as_json, value, "\n".join(lines))


@app.command()
def export(
    slug: Slug,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="A folder; or name.csv, .jsonl or .parquet for answers."),
    ] = Path(),
    form: Annotated[
        str | None, typer.Option("--format", help="csv, jsonl or parquet; else by the name.")
    ] = None,
    payments: Annotated[
        bool, typer.Option(help="Also who is to be paid: worker ids and completion codes.")
    ] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Write answers, participants, pages and candidates, with the design and a codebook."""
    from useralign.study import export

    datasets = (*export.SHARED, "payments") if payments else export.SHARED
    with _opened(database, slug) as (store, study):
        files = list(map(str, export.export(store, study, out, form, datasets=datasets)))
    emit(as_json, files, "\n".join(files))


@app.command()
def submissions(
    slug: Slug,
    platform: Annotated[str, typer.Option("--for", help="prolific or mturk.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the files.")] = Path(),
    reject_failed: Annotated[
        bool, typer.Option("--reject-failed", help="Reject who failed the attention check.")
    ] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Write whom to approve, to reject and to ask, as the files that the platform takes."""
    from useralign.study.submissions import list_submissions, platform_files

    with _opened(database, slug) as (store, study):
        rows = list_submissions(store, study, platform, reject_failed=reject_failed)
    texts = platform_files(platform, rows)
    files = [str(write_atomically(out / f"{slug}-{end}", text)) for end, text in texts.items()]
    decisions = Counter(row.decision for row in rows)
    counts = {name: decisions[name] for name in ("approve", "reject", "ask")}
    numbers = ", ".join(f"{count} to {name}" for name, count in counts.items())
    emit(as_json, {**counts, "files": files}, "\n".join([f"{numbers}.", *files]))


@app.command()
def forget(
    slug: Slug,
    name: Annotated[str | None, typer.Argument(help="A pseudonym, p-...")] = None,
    worker: Annotated[str | None, typer.Option(help="The recruiting service's id.")] = None,
    worker_ids: Annotated[
        bool, typer.Option("--worker-ids", help="All worker ids, once everybody is paid.")
    ] = False,
    files: Annotated[
        bool, typer.Option("--files", help="Nobody more, but finish with the database's files.")
    ] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete a participant and all their answers, in the tables and in the files."""
    from useralign.study.studies import still_held

    if [name is not None, worker is not None, worker_ids, files].count(True) != 1:
        raise OptionError(
            "say whom to forget: a pseudonym, --worker with the service's id, --worker-ids, or "
            "--files after an earlier one could not finish"
        )
    value: dict[str, Any]
    with _database(database) as (store, studies):
        studies.get(slug)
        if files:
            value, text, left = {"files": True}, "The files are rewritten.", store.wipe()
        elif worker_ids:
            count, left = studies.forget_workers(slug)
            value, text = {"worker_ids": count}, f"The worker ids of {count} were deleted."
        else:
            pseudonym = name or studies.find_worker(slug, worker or "").pseudonym
            left = studies.forget(slug, pseudonym)
            value, text = {"forgotten": pseudonym}, f"{pseudonym} was deleted."
    if left:
        raise StoreError(still_held(left, slug))
    emit(as_json, value, text)


@app.command()
def invite(
    slug: Slug,
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many.")] = 10,
    url: Annotated[str, typer.Option(help="Where the server is.")] = "http://127.0.0.1:8000",
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Print links that are good for one participant each."""
    from useralign.study.recruitment import invitation

    base = f"{url.rstrip('/')}/study/{slug}?invitation="
    with _opened(database, slug) as (_, study):
        if not study.design.recruitment.invitation:
            raise OptionError(f"study {slug!r} takes nobody by invitation; its study file says so")
        links = [base + invitation(study, secrets.token_urlsafe(9)) for _ in range(count)]
    emit(as_json, links, "\n".join(links))


@app.command()
def close(
    slug: Slug,
    again: Annotated[bool, typer.Option("--reopen", help="Open it again.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take no more participants; those who began can finish."""
    _set_state(slug, database, as_json, "open" if again else "closed")


@app.command()
def pause(slug: Slug, database: Database = None, as_json: AsJson = False) -> None:
    """Take nobody new for a while, and say so; those who began can finish."""
    _set_state(slug, database, as_json, "paused")


@app.command("open")
def open_again(slug: Slug, database: Database = None, as_json: AsJson = False) -> None:
    """Take new participants again."""
    _set_state(slug, database, as_json, "open")


def _set_state(slug: str, database: str | None, as_json: bool, state: str) -> None:
    with _database(database) as (_, studies):
        studies.set_open(slug, state == "open", paused=state == "paused")
    emit(as_json, {"open": state == "open", "state": state}, f"{slug} is {state}.")


@app.command()
def pilot(slug: Slug, database: Database = None, as_json: AsJson = False) -> None:
    """Open a pilot beside a study: the same study, whose data are marked and never mixed in."""
    with _database(database) as (_, studies):
        twin = studies.rehearse(slug, "pilot").slug
    text = f"Its participants come to /study/{twin}; all commands take {twin}, too."
    emit(as_json, {"slug": twin}, text)


@contextmanager
def _database(database: str | None) -> Iterator[tuple[Store, Studies]]:
    from useralign.store import open_store
    from useralign.study import Studies

    with closing(open_store(database)) as store:
        yield store, Studies(store)


@contextmanager
def _opened(database: str | None, slug: str) -> Iterator[tuple[Store, Study]]:
    with _database(database) as (store, studies):
        yield store, studies.get(slug)


def _status_text(state: Status) -> str:
    from useralign.lab.tables import Table

    rows: list[Any] = [
        (*cell.cell, f"{cell.finished} of {cell.wanted}", cell.active, cell.dropped)
        for cell in state.cells
    ]
    columns = ("domain", "method", "condition", "finished", "active", "dropped out")
    table = Table("status", f"{state.title} ({state.state})", columns, rows)
    total = state.total
    finished = f"{total('finished')} of {total('wanted')} finished"
    people = f"{finished}, {total('active')} active, {total('dropped')} dropped out."
    lines = [table.to_markdown(), people]
    if state.ends:
        lines.append(", ".join(f"{count} {outcome}" for outcome, count in state.ends.items()) + ".")
    if state.seconds:
        lines.append(f"Median time {state.seconds['all'] / 60:.1f} minutes.")
    checked = state.total("attentive") + state.total("inattentive")
    if checked:
        lines.append(f"Attention checks passed: {state.total('attentive')} of {checked}.")
    return "\n".join(lines)


def simulated_design(
    file: Path | None, participants: int, source: str, window: float | None
) -> Design:
    """Return the design to simulate: with so many participants, marked, without its platforms."""
    from useralign.study import parse_design, read_design, template

    if source not in ("link", "prolific", "mturk"):
        raise OptionError(f"source must be link, prolific or mturk, got {source!r}")
    design = parse_design(template()) if file is None else read_design(file)
    if window is None:
        return design
    share = participants / design.wanted
    quotas = [
        {**q.model_dump(), "participants": ceil(share * q.participants)} for q in design.quotas
    ]
    return design.changed(
        slug=f"simulated-{int(time.time())}",
        data="simulated",
        participants=max(1, round(share * design.participants)),
        quotas=quotas,
        active_minutes=window / 60,
        recruitment={} if source == "link" else {"prolific": _PROLIFIC, "mturk": "sandbox"},
    )


@contextmanager
def _server(
    design: Design, database: str | None, url: str | None, workers: int, quiet: bool
) -> Iterator[tuple[str, Store | None, Study | None]]:
    """Yield the address of a server: the one named, or our own over a database of its own."""
    import asyncio

    from useralign.study.simulate import check_reachable

    if url is not None:
        asyncio.run(check_reachable(url))
        yield url, None, None
        return
    from useralign.web.rehearsal import serving

    with ExitStack() as stack:
        if database is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="useralign-"))
            database = f"sqlite:///{folder}/simulated.db"
        store, studies = stack.enter_context(_database(database))
        with _progress_bar("Pools", quiet) as progress:
            study = studies.add(design, progress)
        yield stack.enter_context(serving(database, workers)), store, study


@contextmanager
def _progress_bar(
    label: str, quiet: bool, total: int | None = None
) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done, total=total: bar.update(task, completed=done, total=total)


def _print_report(
    report: CrowdReport, store: Store | None, study: Study | None, as_json: bool
) -> None:
    from useralign.study import results

    value: dict[str, Any] = {"simulation": asdict(report)}
    lines = _lines(report)
    if store is not None and study is not None:
        outcomes = results.outcomes(store, study)
        state = results.status(store, study, time.time())
        value |= {"status": state.to_dict(), "results": [outcome.to_dict() for outcome in outcomes]}
        finished = [cell.finished for cell in state.cells]
        lines.append(f"Cells: {min(finished)} to {max(finished)} finished.")
        lines.append(f"Selections on the left: {100 * (state.selection_left or 0):.1f}%.")
        lines += ["", results.table(study.design, outcomes).to_markdown()]
    emit(as_json, value, "\n".join(lines))


def _lines(report: CrowdReport) -> list[str]:
    times = ", ".join(f"{name} {value:.0f} ms" for name, value in report.latency.items())
    rate = report.answers / report.seconds if report.seconds else 0.0
    lines = [
        f"{report.finished} finished, {report.left} left on the way, {report.failed} failed.",
        *([f"For {report.ended} the study ended before its last page."] if report.ended else []),
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
