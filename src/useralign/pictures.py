"""The pictures that come with the package, for the domain visual512d, and the colours of any.

Each was drawn once, by code that docs/pictures.md describes. They are shipped as WebP files, beside
the features of the originals, so that they can be shown and compared without any model.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

FOLDER = Path(__file__).parent / "domains" / "data" / "visual512d" / "pictures"
SIDE = 384  # pixels; all are square


def is_shipped(image: str | Path) -> bool:
    """Whether an image file is one of the package's own."""
    return Path(image).parent == FOLDER


def locate(image: str) -> str:
    """Return where an image file is now.

    A saved pool names files by their path on the machine that saved it, and earlier versions drew
    the shipped pictures into the cache, as PNG files of the same names. A file that is not there
    is replaced by the shipped picture of its name, if there is one.
    """
    # A Windows path understands both kinds of separators.
    shipped = FOLDER / f"{PureWindowsPath(image).stem}.webp"
    return str(shipped) if shipped.is_file() and not Path(image).is_file() else image


def features(images: Sequence[str], identity: str) -> NDArray[np.float64] | None:
    """Return the features of shipped pictures, shape (n, d), by the embedder of this `identity`.

    None if a picture is not shipped, or if its features are another embedder's.
    """
    made_by, rows, vectors = _features()
    if identity != made_by or not all(map(is_shipped, images)):
        return None
    return vectors[[rows[Path(image).stem] for image in images]].astype(np.float64)


def flatten(picture: Image) -> Image:
    """Return a picture upright and in mode RGB, on white where it is transparent."""
    from PIL import Image as images  # noqa: PLC0415, N813 - an extra, which opened the picture
    from PIL import ImageOps  # noqa: PLC0415

    # A camera writes down which way it was held instead of turning the picture.
    upright: Image = ImageOps.exif_transpose(picture)
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        upright = images.new("RGBA", layer.size, "white")
        upright.alpha_composite(layer)
    elif upright.mode.startswith("I;16"):
        # Sixteen bits would be cut off at 255, not scaled down.
        upright = upright.point(lambda value: value / 257).convert("L")
    return upright.convert("RGB")


@cache
def _features() -> tuple[str, dict[str, int], NDArray[np.float32]]:
    """Load who made the features, the row of each picture, and the features, shape (610, d)."""
    with np.load(FOLDER.parent / "features.npz", allow_pickle=False) as file:
        rows = {str(name): row for row, name in enumerate(file["names"])}
        return str(file["embedder"]), rows, file["vectors"]
