"""Does an embedder keep its contract? For the authors of plug-ins, and for our own.

from useralign.testing import check_embedder

def test_mine():
    check_embedder(MyEmbedder())
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import ModelUnavailableError
from useralign.models.embedders.base import KINDS, Embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

TEXTS = (
    "Cook a mild potato soup.",
    "Cook a fiery curry with plenty of chilli, and serve it with rice, yoghurt and a cold beer.",
    "Spend the day at the beach.",
    "東京で寿司を食べる 🍣",
)
_TOLERANCE = 1e-4


def check_embedder(embedder: Embedder, texts: Sequence[str] = TEXTS) -> None:
    """Run an embedder through its contract, as `Embedder` states it.

    Parameters
    ----------
    embedder : Embedder
        One that can work here: its `trouble()` is None.
    texts : sequence of str
        What to embed; give your own if yours knows certain texts only.

    Raises
    ------
    AssertionError
        With what is not as it should be.
    """
    _expect(isinstance(embedder, Embedder), "it derives from useralign.models.embedders.Embedder")
    _expect(bool(embedder.name), "it has a name")
    _expect(bool(embedder.embeds) and embedder.embeds <= set(KINDS), f"it embeds some of {KINDS}")
    _expect(embedder.trouble() is None, f"it can work here; it says: {embedder.trouble()}")
    if "text" in embedder.embeds:
        _check_kind(embedder, embedder.embed_texts, list(texts))
    else:
        _check_refusal(embedder.embed_texts, list(texts))
    with tempfile.TemporaryDirectory() as folder:
        paths = _pictures(Path(folder))
        if "image" in embedder.embeds and "text" not in embedder.embeds:
            _check_kind(embedder, embedder.embed_images, paths)
        elif "image" not in embedder.embeds:
            _check_refusal(embedder.embed_images, paths)


def _check_kind(
    embedder: Embedder, embed: Callable[[Any], NDArray[np.float64]], items: list[Any]
) -> None:
    vectors = embed(items)
    shape = (len(items), embedder.dimension)
    _expect(isinstance(vectors, np.ndarray), f"it returns an array, not a {type(vectors)}")
    _expect(vectors.shape == shape, f"the shape is {shape}; got {vectors.shape}")
    _expect(vectors.dtype == np.float64, f"the type is float64; got {vectors.dtype}")
    _expect(bool(np.isfinite(vectors).all()), "every number is finite")
    _expect(len(np.unique(vectors, axis=0)) > 1, "different items have different vectors")
    _expect(embed([]).shape == (0, embedder.dimension), "nothing gives no rows")
    size = float(np.abs(vectors).max()) or 1.0
    for other, what in (
        (embed(items), "asked again"),
        (np.vstack([embed([item]) for item in items]), "one by one"),
        (embed(items[::-1])[::-1], "in another order"),
    ):
        apart = float(np.abs(other - vectors).max()) / size
        _expect(
            apart <= _TOLERANCE, f"{what}, the vectors are the same; they differ by {apart:.2g}"
        )


def _check_refusal(embed: Callable[[Any], NDArray[np.float64]], items: list[Any]) -> None:
    try:
        embed(items)
    except ModelUnavailableError:
        return
    _expect(False, "a kind that it does not offer raises ModelUnavailableError")


def _pictures(folder: Path) -> list[Path]:
    """Write three small pictures, without a library that may not be installed."""
    height, width = np.mgrid[0:48, 0:64]
    patterns = (height * 5, (height // 8 + width // 8) % 2 * 255, (height - width) ** 2 // 16)
    paths = []
    for place, pattern in enumerate(patterns):
        pixels = np.stack([pattern, pattern[::-1], 255 - pattern], axis=2).astype(np.uint8)
        path = folder / f"{place}.bmp"
        path.write_bytes(_bmp(pixels))
        paths.append(path)
    return paths


def _bmp(pixels: NDArray[np.uint8]) -> bytes:
    """Return a 24-bit bitmap, shape (h, w, 3) with w a multiple of 4, so that no row is padded."""
    height, width, _ = pixels.shape
    body = pixels[::-1, :, ::-1].tobytes()
    header = [40, width, height, 1 | 24 << 16, 0, len(body), 2835, 2835, 0, 0]
    file = b"BM" + b"".join(n.to_bytes(4, "little") for n in (54 + len(body), 0, 54))
    return file + b"".join(n.to_bytes(4, "little") for n in header) + body


def _expect(holds: bool, what: str) -> None:
    # Not `assert`: the check must also work under `python -O`.
    if not holds:
        raise AssertionError(f"expected that {what}")
