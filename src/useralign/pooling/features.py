"""Features of candidates while a pool is made or read: each embedded once, and timed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from useralign.errors import ModelAnswerError
from useralign.pooling.duplicates import FEW_AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from useralign.models.embedders.base import Embedder
    from useralign.pool import Candidate


AnyEmbedder: TypeAlias = "str | Embedder | Callable[[list[str]], Any] | None"
"""A registered name, an embedder, a function of a list of items, or None for the default."""


class Features:
    """The features of candidates.

    Parameters
    ----------
    embedder : Embedder
    kind : {"text", "image"}

    Attributes
    ----------
    seconds : float
        Time spent embedding.
    """

    def __init__(self, embedder: Embedder, kind: str) -> None:
        self.embedder = embedder
        self.seconds = 0.0
        self._kind = kind
        self._known: dict[str, NDArray[np.float64]] = {}

    @property
    def tell_alike(self) -> bool:
        """Whether they say what a candidate is, so that near ones are near-duplicates.

        True as long as their number is not known; it is when the first ones are embedded.
        """
        first = next(iter(self._known.values()), ())
        dimension = self.embedder.dimension or len(first)
        return dimension == 0 or dimension >= FEW_AXES

    def learn(self, candidates: Sequence[Candidate]) -> None:
        """Embed the candidates that are not known yet."""
        new = list(dict.fromkeys(map(self._item, candidates)))
        new = [item for item in new if item not in self._known]
        if not new:
            return
        start = time.perf_counter()
        images = self._kind == "image"
        embed = self.embedder.embed_images if images else self.embedder.embed_texts
        matrix = np.asarray(embed(new), dtype=np.float64)
        self.seconds += time.perf_counter() - start
        if matrix.ndim != 2 or len(matrix) != len(new) or not np.isfinite(matrix).all():
            raise ModelAnswerError(
                f"the embedder {self.embedder.name} returned features of shape {matrix.shape} for "
                f"{len(new)} candidates; expected one row of finite numbers each"
            )
        self._known.update(zip(new, matrix, strict=True))

    def of_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the features of texts that are no candidates, shape (K, d)."""
        start = time.perf_counter()
        matrix = np.array(self.embedder.embed_texts(list(texts)), dtype=np.float64)
        self.seconds += time.perf_counter() - start
        return matrix

    async def learn_aside(self, candidates: Sequence[Candidate]) -> None:
        """Embed in a thread, so that calls under way go on meanwhile."""
        await asyncio.to_thread(self.learn, candidates)

    def of(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return one candidate's features, shape (d,)."""
        return self._known[self._item(candidate)]

    def matrix(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        """Return the features of candidates, shape (K, d)."""
        self.learn(candidates)
        return np.array([self.of(candidate) for candidate in candidates])

    def _item(self, candidate: Candidate) -> str:
        return str(candidate.image) if self._kind == "image" else candidate.text


def normalisation(features: NDArray[np.float64]) -> str:
    """Return how embedded features are normalised: `unit` as in the paper, where that can be.

    On a few named axes the length says as much as the direction, and a row of zeros has no
    direction: these keep their geometry.
    """
    few = features.shape[1] < FEW_AXES
    return "ball" if few or not features.any(axis=1).all() else "unit"
