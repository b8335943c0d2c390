"""The contract of an embedder, one by a function, and what several embedders need."""

from __future__ import annotations

import os
from abc import ABC
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import InputError, ModelAnswerError, ModelUnavailableError, OptionError
from useralign.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

KINDS = ("text", "image")
_MOST_THREADS = 4


class Embedder(ABC):
    """A model that maps texts, pictures, or both, to vectors of a fixed length.

    The contract, which `useralign.testing.check_embedder` verifies:

    - `embed_texts` and `embed_images` take a sequence of n and return an array of shape (n, d),
      float64, finite, not normalised: the pool does that.
    - The same item gives the same vector, whatever else is in the batch, up to rounding.
    - A kind that it does not offer raises `ModelUnavailableError`; `embeds` lists those it offers.
    - Weights are loaded at the first use, not at construction, so that making one is cheap.
    - `trouble` returns, without loading anything, why it cannot work on this machine.

    Attributes
    ----------
    name : str
        What it is called, in pools and in messages.
    dimension : int
        The length d of its vectors; 0 if that is only known after the first use.
    embeds : frozenset of str
        The kinds it offers, out of `"text"` and `"image"`.
    costly : bool
        Whether a vector takes so long that looking it up is faster than making it again.
    """

    name: str
    dimension: int
    embeds: frozenset[str] = frozenset()
    costly: ClassVar[bool] = False

    @property
    def identity(self) -> str:
        """Everything but the item that decides a vector: a part of the key in the cache."""
        return self.name

    def trouble(self) -> str | None:
        """Return why it cannot work here and what to do about it, or None when it can."""
        return None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:  # noqa: ARG002
        """Embed texts, shape (n, d)."""
        raise ModelUnavailableError(f"{self.name} embeds no texts; choose a text embedder")

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:  # noqa: ARG002
        """Embed the pictures in image files, shape (n, d)."""
        raise ModelUnavailableError(f"{self.name} embeds no pictures; choose an image embedder")


class FunctionEmbedder(Embedder):
    """An embedder by a function of your own.

    Parameters
    ----------
    function : callable
        Takes a list of n items and returns an array of shape (n, d).
    name : str
        What to call it in pools and messages.
    dimension : int
        The length d of its vectors; 0 for "see what it gives the first time".
    kind : {"text", "image"}
        Whether the items are texts or paths of image files.
    """

    def __init__(
        self,
        function: Callable[[list[str]], ArrayLike],
        name: str = "function",
        dimension: int = 0,
        kind: str = "text",
    ) -> None:
        if not callable(function):
            raise OptionError(f"expected a function of a list of items, got {function!r}")
        if kind not in KINDS:
            raise OptionError(f"kind={kind!r} is not known; expected 'text' or 'image'")
        self.function = function
        self.name = name
        self.dimension = dimension
        self.embeds = frozenset({kind})

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, d)."""
        if "text" not in self.embeds:
            return super().embed_texts(texts)
        return self._call(as_texts(texts))

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, d)."""
        if "image" not in self.embeds:
            return super().embed_images(paths)
        return self._call([str(path) for path in as_paths(paths)])

    def _call(self, items: list[str]) -> NDArray[np.float64]:
        if not items:
            return np.zeros((0, self.dimension))
        vectors = as_vectors(self.function(items), len(items), self.dimension, self.name)
        self.dimension = vectors.shape[1]
        return vectors


def as_texts(texts: Sequence[str]) -> list[str]:
    """Return texts as a list, or raise `InputError` if one is not a string or is empty."""
    if isinstance(texts, str):
        raise InputError(f"expected a list of texts, got one string; pass [{texts[:40]!r}]")
    items = list(texts)
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise InputError(f"text {index} is a {type(item).__name__}; expected a string")
        if not item.strip():
            raise InputError(f"text {index} is empty; leave it out or give its text")
    return items


def as_paths(paths: Sequence[str | Path]) -> list[str | Path]:
    """Check the paths of pictures before they are opened, as `as_texts` does with texts."""
    if isinstance(paths, str) or not hasattr(paths, "__len__"):
        raise InputError(f"expected a list of paths of image files, got {paths!r}; pass a list")
    return list(paths)


def as_vectors(vectors: ArrayLike, count: int, dimension: int, name: str) -> NDArray[np.float64]:
    """Return vectors as an array, shape (n, d).

    Raises `ModelAnswerError` if they are not `count` finite vectors of that dimension, 0 for any.
    """
    try:
        matrix = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelAnswerError(f"{name} gave no array of numbers: {error}") from error
    if count == 0:
        return np.zeros((0, dimension))
    if matrix.ndim != 2 or len(matrix) != count:
        raise ModelAnswerError(
            f"{name} gave an array of shape {matrix.shape} for {count} item(s); "
            f"expected ({count}, {dimension or 'd'}): one row an item"
        )
    if matrix.shape[1] != (dimension or matrix.shape[1]):
        raise ModelAnswerError(
            f"{name} gave vectors of length {matrix.shape[1]}; expected {dimension}"
        )
    if not np.isfinite(matrix).all():
        row, column = map(int, np.argwhere(~np.isfinite(matrix))[0])
        raise ModelAnswerError(
            f"{name} gave {matrix[row, column]} for item {row} (column {column}); "
            "expected finite numbers"
        )
    return matrix


def onnx_session(model: bytes, extra: str) -> Any:
    """Start an `onnxruntime.InferenceSession` on as many threads as there are cores, at most 4."""
    runtime = import_extra("onnxruntime", "this embedder", extra)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = min(_MOST_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # Threads that spin while they wait starve each other on cores that are shared.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # 3 is errors only: its warnings are about the graph, which nobody here can change.
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
