"""Find the pool for a question, or make it: what the command line and the web share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from useralign import domains
from useralign.models.embedders import embedder_for
from useralign.pooling import Library, generate_pool
from useralign.pooling.make import default_recipe
from useralign.pooling.make import load_generator as generator_of

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.domains import Question
    from useralign.models.generators import Generator
    from useralign.pool import Pool
    from useralign.pooling import Progress
    from useralign.pooling.recipe import Kind

__all__ = ["Wanted", "find", "generator_of", "make"]


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
    def kind(self) -> Kind:
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
        default_recipe(generator, kind=wanted.kind, size=wanted.size, care=wanted.care),
        progress=progress,
    )
    Library().add(pool)
    return pool
