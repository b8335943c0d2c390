"""Embedders of your own: a function, or vectors that are computed already."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import FileFormatError, InputError, ModelUnavailableError, OptionError
from useralign.models.embedder import Embedder, as_paths, as_texts, as_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


class FunctionEmbedder(Embedder):
    """Your own function.

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
        if kind not in {"text", "image"}:
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


class PrecomputedEmbedder(Embedder):
    """Vectors that you have already.

    Parameters
    ----------
    vectors : mapping of str to array_like, each of shape (d,)
        By text, or by the path of the picture as it is asked for.
    name : str
        What to call it in pools and messages.
    """

    embeds = frozenset({"text", "image"})

    def __init__(self, vectors: Mapping[str, ArrayLike], name: str = "precomputed") -> None:
        if not vectors:
            raise InputError("no vectors were given; expected a mapping of texts to vectors")
        rows = [np.asarray(vector, dtype=np.float64) for vector in vectors.values()]
        lengths = {row.shape for row in rows}
        if len(lengths) > 1 or rows[0].ndim != 1:
            raise InputError(
                f"the vectors have the shapes {sorted(lengths)}; expected one length for all"
            )
        self.name = name
        self.dimension = len(rows[0])
        self._rows = {text: row for row, text in enumerate(vectors)}
        self._matrix = np.array(rows)

    @classmethod
    def from_file(
        cls, path: str | Path, ids: Sequence[str] | None = None, name: str = "precomputed"
    ) -> PrecomputedEmbedder:
        """Read vectors from a `.npy` or `.npz` file.

        Parameters
        ----------
        path : str or Path
            A `.npy` file with one array, shape (n, d); or a `.npz` file with the arrays `ids`,
            shape (n,), and `vectors`, shape (n, d).
        ids : sequence of str, optional
            The text of each row; needed for a `.npy` file, and used instead of the file's own.
        name : str

        Raises
        ------
        FileFormatError
            If the file is not that, or has another number of rows than there are ids.
        """
        matrix, names = _read(Path(path))
        texts = list(ids) if ids is not None else names
        if texts is None:
            raise FileFormatError(f"{path}: holds no ids; pass ids=, the text of each row")
        if matrix.ndim != 2 or len(matrix) != len(texts):
            raise FileFormatError(
                f"{path}: an array of shape {matrix.shape} for {len(texts)} ids; "
                "expected one row an id"
            )
        return cls(dict(zip(texts, matrix, strict=True)), name)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the vectors of texts, shape (n, d)."""
        return self._look_up(as_texts(texts))

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Return the vectors of pictures, shape (n, d)."""
        return self._look_up([str(path) for path in as_paths(paths)])

    def _look_up(self, items: list[str]) -> NDArray[np.float64]:
        if absent := [item for item in items if item not in self._rows]:
            raise ModelUnavailableError(
                f"{self.name} has no vector for {absent[0][:60]!r} "
                f"({len(absent)} of {len(items)} are missing); add it, or use a model"
            )
        rows = self._matrix[[self._rows[item] for item in items]]
        return as_vectors(rows, len(items), self.dimension, self.name)


def _read(path: Path) -> tuple[NDArray[np.float64], list[str] | None]:
    try:
        # Opened here: NumPy forgets to close a file that is not what its name says.
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded.astype(np.float64), None
            ids = [str(item) for item in loaded["ids"]] if "ids" in loaded else None
            return loaded["vectors"].astype(np.float64), ids
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error})") from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(
            f"{path}: is not a .npy file, or a .npz file with `ids` and `vectors` ({error})"
        ) from error
