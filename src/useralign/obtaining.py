"""Find the pool for a question, or make it: what the command line and the web share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from useralign import domains
from useralign.models.embedders import embedder_for
from useralign.models.generators import generator_for
from useralign.models.generators.choose import default_name
from useralign.pooling import Library, Recipe, generate_pool

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.domains import Question
    from useralign.models.generators import Generator
    from useralign.pool import Pool
    from useralign.pooling import Progress


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for.

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
    care : bool, optional
        Let the model list ideas and weigh them before it writes: slower, more varied, and truer
        to the question. When not given, a local model does and a service does not.
    """

    question: str
    file: Path | None = None
    model: str | None = None
    embedder: str | None = None
    size: int | None = None
    images: bool = False
    fresh: bool = False
    care: bool | None = None

    @property
    def kind(self) -> str:
        """Whether the answers are texts or pictures."""
        return "image" if self.images else "text"

    @property
    def ready_will_do(self) -> bool:
        """Whether a pool that is there already is as good as a new one."""
        particular = self.care is not None or self.model is not None or self.size is not None
        return not (self.fresh or particular)


def find(wanted: Wanted) -> tuple[Pool, Question | None] | None:
    """Return the pool for a question if there is one: shipped, or made before."""
    shipped = domains.find_question(wanted.question)
    if shipped is not None and (shipped[0].kind == wanted.kind or not wanted.images):
        return shipped[1].pool(embedder=wanted.embedder), shipped[1]
    chosen = embedder_for(wanted.embedder, wanted.kind) if wanted.embedder else None
    kept = Library().find(wanted.question, kind=wanted.kind, embedder=chosen)
    return None if kept is None else (kept, None)


def make(wanted: Wanted, generator: Generator, progress: Progress | None = None) -> Pool:
    """Make a pool with a model, and keep it in the library.

    Parameters
    ----------
    wanted : Wanted
    generator : Generator
    progress : callable, optional
        Called with an `Event` at every step.
    """
    pool = generate_pool(
        wanted.question,
        generator,
        embedder_for(wanted.embedder, wanted.kind),
        recipe_of(wanted, generator),
        progress=progress,
    )
    Library().add(pool)
    return pool


def recipe_of(wanted: Wanted, generator: Generator) -> Recipe:
    """Return the recipe: small local models are asked for one sentence, and with care."""
    small = generator.name == "local"
    care = small if wanted.care is None else wanted.care
    choices: dict[str, Any] = {"kind": wanted.kind, "size": wanted.size, "care": care}
    return Recipe.concise(**choices) if small else Recipe(**choices)


def generator_of(name: str | None) -> Generator:
    """Return the generator; a local model writes four answers at once, 1.6 times as fast."""
    name = name or default_name()
    return generator_for(name, **({"parallel": 4} if name.startswith("local") else {}))
