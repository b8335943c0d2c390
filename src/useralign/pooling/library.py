"""The pool for a question: found among those shipped or generated before, or generated now.

The command line and the web application get their pools here.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign import domains
from useralign.errors import FileFormatError, ModelError
from useralign.files import cache_dir
from useralign.models import embedder_for
from useralign.pool import Candidate, Pool
from useralign.pooling.generate import default_recipe, generate_pool
from useralign.pooling.recipe import question_key
from useralign.pooling.select import Features, embedded_pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains import Question
    from useralign.models import Embedder, Generator
    from useralign.pooling.client import Progress
    from useralign.pooling.recipe import Kind

_RELATED = 0.4  # the cosine below which a question has nothing to do with another


def find_generated(
    question: str, *, kind: str = "text", embedder: Embedder | None = None
) -> Pool | None:
    """Return the newest generated pool for a question, or None.

    Case, spaces and punctuation do not matter. With another embedder than made the features, the
    candidates are embedded anew.
    """
    files = cache_dir("pools").glob(f"{question_key(question, kind)}-*.json")
    newest = sorted(files, key=lambda path: -path.stat().st_mtime)
    pool = next(filter(None, map(_load, newest)), None)
    if pool is None or embedder is None or pool.embedder == embedder.name:
        return pool
    features = Features(embedder, kind)
    return embedded_pool(pool.question, list(pool), features, pool.baseline, pool.meta)


def _load(path: Path) -> Pool | None:
    """Load a pool; one that is damaged or has lost its pictures counts as not there."""
    try:
        pool = Pool.load(path)
    except FileFormatError:
        return None
    whole = all(c.image is None or Path(c.image).is_file() for c in pool)
    return pool if whole else None


def save_generated(pool: Pool) -> Path:
    """Save a pool that `generate_pool` made, with its pictures, and return its file."""
    path = cache_dir("pools", pool.meta["key"])
    candidates = [_with_copy(candidate, path) for candidate in pool]
    baseline = _with_copy(pool.baseline, path) if pool.baseline else None
    return pool.with_candidates(candidates, baseline).save(path.with_suffix(".json"))


def _with_copy(candidate: Candidate, folder: Path) -> Candidate:
    """Copy a picture to a folder: drafts may be cleared away."""
    if candidate.image is None:
        return candidate
    source = Path(candidate.image)
    target = folder / source.name
    if source != target:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return replace(candidate, image=str(target.absolute()))


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """A question, and which pool is wanted for it."""

    question: str
    file: Path | None = None  # a pool that the person already has
    model: str | None = None  # when none is named, a shipped or saved pool is used
    embedder: str | None = None
    size: int | None = None
    images: bool = False
    fresh: bool = False  # even if there is one
    care: bool | None = None  # as for `default_recipe`

    @property
    def kind(self) -> Kind:
        """Whether the answers are texts or pictures."""
        return "image" if self.images else "text"

    @property
    def accepts_existing(self) -> bool:
        """Whether a pool that is there already is as good as a new one."""
        particular = self.care is not None or self.model is not None or self.size is not None
        return not (self.fresh or particular)


def find_pool(request: PoolRequest) -> tuple[Pool, Question | None] | None:
    """Return the pool for a question if there is one that will do: shipped, or generated before."""
    if not request.accepts_existing:
        return None
    shipped = domains.find_question(request.question)
    if shipped is not None and (shipped[0].kind == request.kind or not request.images):
        return shipped[1].pool(embedder=request.embedder), shipped[1]
    embedder = embedder_for(request.embedder, request.kind) if request.embedder else None
    pool = find_generated(request.question, kind=request.kind, embedder=embedder)
    return None if pool is None else (pool, None)


def nearest_shipped(question: str, most: int = 3) -> list[Question]:
    """Return the shipped questions nearest in meaning to another, the nearest first.

    Those that have nothing to do with it are left out.
    """
    try:
        questions, rows = _shipped_questions()
        row = embedder_for(None, "text").embed_texts([question])[0]
    except ModelError:  # without an embedder there is nothing to go by
        return []
    likeness = rows @ (row / max(float(np.linalg.norm(row)), 1e-12))
    order = np.argsort(-likeness, kind="stable")[:most]
    return [questions[k] for k in order if likeness[k] >= _RELATED]


@cache
def _shipped_questions() -> tuple[list[Question], NDArray[np.float64]]:
    """Return all shipped questions that people can be asked, and their directions."""
    questions = [question for _, question in domains.shipped_questions()]
    rows = embedder_for(None, "text").embed_texts([question.text for question in questions])
    return questions, rows / np.linalg.norm(rows, axis=1, keepdims=True)


def generate_requested(
    request: PoolRequest, generator: Generator, progress: Progress | None = None
) -> Pool:
    """Generate the pool that was requested, and save it for the next time."""
    recipe = default_recipe(generator, kind=request.kind, size=request.size, care=request.care)
    pool = generate_pool(request.question, generator, request.embedder, recipe, progress=progress)
    save_generated(pool)
    return pool
