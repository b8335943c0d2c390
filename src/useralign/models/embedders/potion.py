"""Potion, the paper's text embedder: static vectors by Model2Vec.

Tulkens and van Dongen 2024. The weights (MIT) live at the Hugging Face hub: they are used when they
are in its local cache, and fetched when the embedder is asked for by name and the hub answers.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import ModelUnavailableError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.checks import as_texts, as_vectors, missing, need
from useralign.models.embedders.hub import cached_snapshot, expect_reachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXTRA = "potion"
# Of the Potion family this is the one with 64 dimensions.
REPO = "minishlab/potion-base-2M"


class Potion(Embedder):
    """Potion, 64-d.

    Parameters
    ----------
    model : str or Path
        A model at the hub, or a folder that Model2Vec saved.
    dimension : int
        How many numbers to keep; Model2Vec orders them by importance.
    """

    name = "potion"
    embeds = frozenset({"text"})

    def __init__(self, model: str | Path = REPO, dimension: int = 64) -> None:
        self.model = str(model)
        self.dimension = dimension
        if self.model != REPO:
            self.name = f"potion:{self.model}:{dimension}"

    def trouble(self) -> str | None:
        """Return what is not installed or not in the cache, or None."""
        if absent := missing(["model2vec"], EXTRA):
            return absent
        if self._local() is None:
            return (
                f"its weights are not in the hub's cache: run `hf download {self.model}` with a "
                "connection, or name the embedder 'potion', which fetches them"
            )
        return None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, d)."""
        items = as_texts(texts)
        if not items:
            return np.zeros((0, self.dimension))
        vectors = self._model.encode(items, use_multiprocessing=False)
        return as_vectors(vectors, len(items), self.dimension, self.name)

    def _local(self) -> Path | None:
        if Path(self.model).is_dir():
            return Path(self.model)
        return cached_snapshot(self.model, "model.safetensors")

    @cached_property
    def _model(self) -> Any:
        library = need("model2vec", "the embedder potion", EXTRA)
        place = self._local()
        if place is None:
            expect_reachable(self.model, "model.safetensors", "wordllama")
        try:
            return library.StaticModel.from_pretrained(
                place or self.model,
                normalize=False,
                dimensionality=self.dimension,
                force_download=False,
            )
        # The hub's client raises whatever its transport of the day does.
        except Exception as error:
            raise ModelUnavailableError(
                f"the weights {self.model} cannot be loaded ({error}): run `hf download "
                f"{self.model}` with a connection, or use the embedder 'wordllama'"
            ) from error
