"""`useralign memory`: learn from earlier sessions, look at what is remembered, forget it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from useralign.cli.options import AsJson, emit, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from useralign.memory import Memory
    from useralign.methods import Method
    from useralign.pool import Pool
    from useralign.session import Session

app = typer.Typer(
    no_args_is_help=True,
    help="Learn from earlier sessions, look at what is remembered, forget it.",
)

File = Annotated[Path, typer.Argument(help="A memory file.")]


@app.command()
def show(file: File, as_json: AsJson = False) -> None:
    """Show what a memory file holds: your sessions, what they lean to, what others brought."""
    from useralign.memory import Memory, describe, summary

    memory = Memory.load(file)
    if as_json:
        print_json(summary(memory))
        return
    for number, past in enumerate(memory.own, start=1):
        question = " ".join(past.question.split()) or "(no question)"
        typer.echo(f"{number:>3}  {question[:60]}, {len(past)} answers")
    typer.echo(describe(memory))


@app.command()
def forget(
    file: File,
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Sessions, by the numbers that `show` gives.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of it: the file is deleted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forget some sessions, or everything. Nothing of them stays in the file."""
    from useralign.memory import Memory

    if everything == bool(numbers):
        raise typer.BadParameter("say which sessions to forget, by number, or --all")
    memory = Memory() if everything and not file.exists() else Memory.load(file)
    count = len(memory.own)
    indices = range(count) if everything else [number - 1 for number in numbers or ()]
    if wrong := [index + 1 for index in indices if not 0 <= index < count]:
        raise typer.BadParameter(f"there is no session {wrong[0]}; the file has {count}")
    rest = Memory() if everything else memory.without(indices)
    if rest:
        rest.save(file)
    else:
        file.unlink(missing_ok=True)
    forgotten = count - len(rest.own)
    emit(
        as_json,
        {"forgotten": forgotten, "left": len(rest.own), "file": bool(rest)},
        f"Forgotten: {forgotten} of {count} sessions." + " The file is gone." * (not rest),
    )


@app.command("fit")
def fit_(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Folders of recorded people, and your own saved sessions."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The memory file; added to if there.")],
    embedder: Annotated[
        str | None, typer.Option(help="For recorded texts without features.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn from recorded people and from your saved sessions, into a memory file."""
    from useralign.memory import describe, summary

    memory = _load(out)
    folders = [source for source in sources if source.is_dir()]
    memory = _with_sessions(memory, [source for source in sources if not source.is_dir()])
    memory = _with_people(memory, folders, embedder)
    memory.save(out)
    emit(as_json, summary(memory), describe(memory))


def _load(path: Path) -> Memory:
    """Return the memory in a file; one that is not there yet remembers nothing."""
    from useralign.memory import Memory

    return Memory.load(path) if path.exists() else Memory()


def check(method: Method, path: Path, console: Console) -> None:
    """Read a memory file before anything is paid for; say so if the method has no use for it."""
    _load(path)
    if "prior" not in method.options():
        line = f"{method.name} makes no use of a memory, only adds to it; --method frugal does."
        console.print(line, style="dim")


def recalled(method: Method, path: Path | None, pool: Pool, *, grows: bool) -> Method:
    """Return the method with what a memory file leads to expect over a pool."""
    from useralign.methods import method_for

    if path is None or "prior" not in method.options():
        return method
    prior = _load(path).prior_for(pool, grows=grows)
    return method_for(method.name, **method.options() | {"prior": prior})


def remember(path: Path, session: Session) -> None:
    """Add a session to a memory file, which is made if it is not there.

    A session that went on after it was remembered takes the place of its beginning.
    """
    memory = _load(path)
    longer = memory.with_session(session)
    if longer is not memory:
        longer.save(path)


def _with_sessions(memory: Memory, files: Iterable[Path]) -> Memory:
    from useralign.cli.saved import Saved
    from useralign.errors import OptionError
    from useralign.files import read_json

    for file in files:
        session = Saved(file).read()
        if str(read_json(file).get("answered_by")).startswith("simulated"):
            raise OptionError(f"{file}: a simulated person answered; give sessions of your own")
        memory = memory.with_session(session)
    return memory


def _with_people(memory: Memory, folders: Iterable[Path], embedder: str | None) -> Memory:
    """Return the memory with what recorded people have in common.

    What was learnt before about the same features makes room for it.
    """
    from dataclasses import replace

    from useralign.memory import fit, past_sessions
    from useralign.users.recorded import People

    pasts = [
        replace(past, person=f"{folder}: {past.person}")
        for folder in folders
        for past in past_sessions(People.read(folder), embedder=embedder)
    ]
    return memory.with_populations(fit(pasts).populations)
