"""Embedding each item once: vectors are kept by the content of the item."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from useralign.errors import InputError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.checks import as_paths, as_texts, as_vectors
from useralign.models.embedders.store import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Item = TypeVar("Item")


class Cached(Embedder):
    """An embedder that looks into the cache first.

    Worth it for embedders that are `costly`; a static one is faster than the disk.

    Parameters
    ----------
    inner : Embedder
        Who makes the vectors that are not there.
    folder : Path, optional
        Where the cache is; `embeddings` in the cache folder when not given.
    """

    def __init__(self, inner: Embedder, folder: Path | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.embeds = inner.embeds
        self._folder = folder

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The length of the inner embedder's vectors."""
        return self.inner.dimension

    @property
    def identity(self) -> str:
        """What the inner embedder's vectors are filed under."""
        return self.inner.identity

    def trouble(self) -> str | None:
        """Return why the inner embedder cannot work here, or None."""
        return self.inner.trouble()

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, d); those seen before are read from the cache."""
        if "text" not in self.embeds:
            return self.inner.embed_texts(texts)
        items = as_texts(texts)
        keys = [text_key(item) for item in items]
        return self._embed(keys, items, self.inner.embed_texts)

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, d); by the bytes of the file, not by its name."""
        if "image" not in self.embeds:
            return self.inner.embed_images(paths)
        items = as_paths(paths)
        keys = [image_key(item) for item in items]
        return self._embed(keys, items, self.inner.embed_images)

    def _embed(
        self,
        keys: list[bytes],
        items: list[Item],
        make: Callable[[list[Item]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        store = VectorStore(self.identity, self._folder)
        known = self._fitting(store.get(list(dict.fromkeys(keys))))
        absent = {key: item for key, item in zip(keys, items, strict=True) if key not in known}
        if absent:
            made = as_vectors(make(list(absent.values())), len(absent), self.dimension, self.name)
            fresh = dict(zip(absent, made, strict=True))
            store.put(fresh)
            known |= fresh
        return as_vectors([known[key] for key in keys], len(keys), self.dimension, self.name)

    def _fitting(self, found: dict[bytes, NDArray[np.float64]]) -> dict[bytes, NDArray[np.float64]]:
        """Leave out what an earlier version of the embedder, or a damaged disk, has left."""
        length = self.dimension or next((len(v) for v in found.values()), 0)
        return {k: v for k, v in found.items() if len(v) == length and np.isfinite(v).all()}


def text_key(text: str) -> bytes:
    """Return the key of a text: the SHA-256 of it."""
    return hashlib.sha256(b"text\0" + text.encode("utf-8", "surrogatepass")).digest()


def image_key(path: str | Path) -> bytes:
    """Return the key of a picture: the SHA-256 of the bytes of its file."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.sha256(
                b"image\0" + hashlib.file_digest(file, "sha256").digest()
            ).digest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
