"""Find the pool for a question, or make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from useralign import domains
from useralign.cli import keys, screens
from useralign.errors import ModelUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from useralign.domains import Question
    from useralign.generators import Generator
    from useralign.pool import Pool
    from useralign.pooling import Event


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for on the command line.

    Parameters
    ----------
    question : str
    file : Path, optional
        A pool that the person already has.
    model : str, optional
        A generator's name; a shipped or kept pool is used when none is named.
    embedder : str, optional
    size : int, optional
    images : bool
    fresh : bool
        Make a new pool even if there is one.
    """

    question: str
    file: Path | None = None
    model: str | None = None
    embedder: str | None = None
    size: int | None = None
    images: bool = False
    fresh: bool = False

    @property
    def kind(self) -> str:
        """Whether the answers are texts or pictures."""
        return "image" if self.images else "text"


def obtain(wanted: Wanted, console: Console) -> tuple[Pool, Question | None]:
    """Return the pool for a question, and the shipped question if it is one.

    Parameters
    ----------
    wanted : Wanted
    console : Console
        For progress.
    """
    if wanted.file is not None:
        from useralign.pooling import read_pool

        return read_pool(wanted.file, wanted.question or None, wanted.embedder), None
    ready = not wanted.fresh and wanted.model is None and wanted.size is None
    if ready and (found := find(wanted)) is not None:
        return found
    return make(wanted, console), None


def find(wanted: Wanted) -> tuple[Pool, Question | None] | None:
    """Return the pool for a question if there is one: shipped, or made before."""
    shipped = domains.find_question(wanted.question)
    if shipped is not None and (shipped[0].kind == wanted.kind or not wanted.images):
        return shipped[1].pool(embedder=wanted.embedder), shipped[1]
    kept = _kept(wanted)
    return None if kept is None else (kept, None)


def make(wanted: Wanted, console: Console) -> Pool:
    """Make a pool with a model, showing how it grows, and keep it."""
    from useralign.pooling import Library, Recipe, generate_pool

    try:
        generator = generator_of(wanted.model)
    except ModelUnavailableError:
        if wanted.model or not keys.has_terminal():
            raise
        generator = _offer(console)
    choices: dict[str, Any] = {"kind": wanted.kind, "size": wanted.size}
    recipe = Recipe.concise(**choices) if generator.name == "local" else Recipe(**choices)
    from useralign.embedders import embedder_for

    with _Watch(console, generator.model) as watch:
        pool = generate_pool(
            wanted.question,
            generator,
            embedder_for(wanted.embedder, wanted.kind),
            recipe,
            progress=watch.see,
        )
    Library().add(pool)
    return pool


def generator_of(name: str | None) -> Generator:
    """Return the generator; a local model writes four answers at once, 1.6 times as fast."""
    from useralign.generators import generator_for
    from useralign.generators.choose import default_name

    name = name or default_name()
    return generator_for(name, **({"parallel": 4} if name.startswith("local") else {}))


def _kept(wanted: Wanted) -> Pool | None:
    from useralign.embedders import embedder_for
    from useralign.pooling import Library

    chosen = embedder_for(wanted.embedder, wanted.kind) if wanted.embedder else None
    return Library().find(wanted.question, kind=wanted.kind, embedder=chosen)


def _offer(console: Console) -> Generator:
    """Offer to fetch the default local model; anything but y says no."""
    from useralign import weights
    from useralign.weights.progress import megabytes, shown

    entry = weights.find(weights.DEFAULT_TEXT_MODEL)
    console.print(
        f"No model is at hand. Fetch {entry.name} ({megabytes(entry.size)}, {entry.licence}) to "
        "run on this machine? [y/N] ",
        end="",
        markup=False,
        highlight=False,
    )
    with keys.keyboard():
        answer = keys.read_key()
    console.print(answer)
    if answer != "y":
        raise ModelUnavailableError(
            "no model to make answers with; set OPENAI_API_KEY, or run "
            f"`useralign models pull {entry.name}`, or give --pool FILE with your own answers"
        )
    with shown(entry) as progress:
        weights.ensure(entry, progress)
    return generator_of(f"local:{entry.name}")


class _Watch:
    """A progress bar over the making of a pool, with each answer as it arrives."""

    def __init__(self, console: Console, model: str) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(f"Answers from {model}", total=None)

    def __enter__(self) -> _Watch:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def see(self, event: Event) -> None:
        """Take in one event."""
        self._bar.update(self._task, completed=event.made, total=event.wanted or None)
        if event.kind == "candidate" and event.candidate is not None:
            text = screens.clean(str(event.candidate), 200)
            self._bar.console.print(f"  {event.made:>2}  {text}", style="dim", markup=False)
        elif event.kind == "rejected" and event.note:
            self._bar.console.print(f"   -  left out: {event.note}", style="dim", markup=False)
