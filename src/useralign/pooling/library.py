"""The pools made so far, kept so that a question asked again is answered from its pool at once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from useralign.errors import FileFormatError, OptionError
from useralign.files import cache_dir
from useralign.pool import Candidate, Pool
from useralign.pooling.features import Features, normalisation
from useralign.pooling.keys import pool_key, question_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from useralign.models.embedders.base import Embedder
    from useralign.pooling.recipe import Recipe


class Library:
    """Made pools in a folder, by question, recipe and model.

    Parameters
    ----------
    folder : str or Path, optional
        The folder `pools` in the cache when not given.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder else cache_dir("pools")

    def __iter__(self) -> Iterator[Pool]:
        """Go through all pools that can be read, the newest first."""
        return filter(None, map(_opened, self._newest("*.json")))

    def find(
        self,
        question: str,
        recipe: Recipe | None = None,
        model: str | None = None,
        *,
        kind: str = "text",
        embedder: Embedder | None = None,
    ) -> Pool | None:
        """Return the pool for a question, or None.

        Parameters
        ----------
        question : str
            Case, spaces and punctuation do not matter.
        recipe : Recipe, optional
            With `model`: the pool that these make, if it is complete; a pool that stopped at a
            limit is better resumed. Without: the newest pool for the question.
        model : str, optional
        kind : {"text", "image"}
            When there is no recipe.
        embedder : Embedder, optional
            Embed the candidates anew if another one made the features.
        """
        if (recipe is None) != (model is None):
            raise OptionError("give both recipe= and model=, or neither")
        if recipe is not None and model is not None:
            names = [f"{pool_key(question, recipe, model)}.json"]
        else:
            names = [path.name for path in self._newest(f"{question_key(question, kind)}-*.json")]
        for name in names:
            pool = _opened(self.folder / name)
            if pool is not None and (recipe is None or pool.meta.get("complete")):
                return pool if embedder is None else embedded_by(pool, embedder)
        return None

    def add(self, pool: Pool) -> Path:
        """Keep a pool that `make_pool` made, with its pictures, and return its file.

        Raises
        ------
        OptionError
            If the pool was not made by a recipe, so that it could not be found again.
        """
        key = pool.meta.get("key")
        if not isinstance(key, str):
            raise OptionError(
                "only a pool that make_pool made can be kept in the library; use pool.save(path)"
            )
        candidates = [self._kept(candidate, key) for candidate in pool]
        baseline = self._kept(pool.baseline, key) if pool.baseline else None
        kept = pool.with_candidates(candidates, baseline)
        return kept.save(self.folder / f"{key}.json")

    def _kept(self, candidate: Candidate, key: str) -> Candidate:
        """Copy a picture into the library: drafts may be cleared away."""
        if candidate.image is None:
            return candidate
        source = Path(candidate.image)
        target = self.folder / key / source.name
        if source != target:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        return replace(candidate, image=str(target.absolute()))

    def _newest(self, pattern: str) -> list[Path]:
        return sorted(self.folder.glob(pattern), key=lambda path: -path.stat().st_mtime)


def embedded_by(pool: Pool, embedder: Embedder) -> Pool:
    """Return the pool with this embedder's features; itself if it has them already."""
    if pool.embedder == embedder.name:
        return pool
    kind = "image" if pool[0].image else "text"
    features = Features(embedder, kind).matrix(list(pool))
    return Pool(
        pool.question,
        list(pool),
        features,
        pool.baseline,
        normalise=normalisation(features),
        embedder=embedder.name,
        meta=pool.meta,
    )


def _opened(path: Path) -> Pool | None:
    """Read a pool; one that is damaged or has lost its pictures counts as not there."""
    try:
        pool = Pool.load(path)
    except FileFormatError:
        return None
    whole = all(c.image is None or Path(c.image).is_file() for c in pool)
    return pool if whole else None
