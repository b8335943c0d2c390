"""What goes into an embedder and what comes out of it, checked in one place."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import (
    InputError,
    MissingExtraError,
    ModelAnswerError,
    ModelUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray


def as_texts(texts: Sequence[str]) -> list[str]:
    """Check texts before they are embedded.

    Parameters
    ----------
    texts : sequence of str, length n

    Returns
    -------
    list of str, length n

    Raises
    ------
    InputError
        If it is one string, or an item is not a string or is empty.
    """
    if isinstance(texts, str):
        raise InputError(f"expected a list of texts, got one string; pass [{texts[:40]!r}]")
    items = list(texts)
    for place, item in enumerate(items):
        if not isinstance(item, str):
            raise InputError(f"text {place} is a {type(item).__name__}; expected a string")
        if not item.strip():
            raise InputError(f"text {place} is empty; leave it out or give its text")
    return items


def as_paths(paths: Sequence[str | Path]) -> list[str | Path]:
    """Check the paths of pictures before they are opened, as `as_texts` does with texts."""
    if isinstance(paths, str) or not hasattr(paths, "__len__"):
        raise InputError(f"expected a list of paths of image files, got {paths!r}; pass a list")
    return list(paths)


def as_vectors(vectors: ArrayLike, count: int, dimension: int, name: str) -> NDArray[np.float64]:
    """Check vectors before they are handed out.

    Parameters
    ----------
    vectors : array_like, shape (n, d)
    count : int
        The number n of items that were embedded.
    dimension : int
        The length d that is expected; 0 for any.
    name : str
        Whose vectors they are, for messages.

    Returns
    -------
    ndarray, shape (n, d)

    Raises
    ------
    ModelAnswerError
        If they are not n finite vectors of that length.
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


def need(module: str, what: str, extra: str) -> Any:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
        What to import.
    what : str
        The feature that needs it.
    extra : str
        The extra of this package that brings it.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    ModelUnavailableError
        If it is installed but fails to start, as torchvision does beside another build of torch.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error
    except (RuntimeError, OSError) as error:
        raise ModelUnavailableError(
            f"{what} needs {module}, which is installed but cannot be imported ({error}): "
            f"pip install --force-reinstall 'useralign[{extra}]'"
        ) from error


def missing(modules: Sequence[str], extra: str | None = None) -> str | None:
    """Return which top-level modules are not installed and how to get them, or None.

    Nothing is imported, so that asking is cheap. Without an extra they belong to the base install.
    """
    absent = [module for module in modules if find_spec(module) is None]
    if not absent:
        return None
    wanted = f"'useralign[{extra}]'" if extra else "useralign"
    return f"{', '.join(absent)} not installed: pip install {wanted}"
