"""Airbrush: rounded forms, as of soft plastic or clay, with light from above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import distance_transform_edt

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture with every form shaded as if it were round."""
    flat = raster.pixels(raster.paint(canvas, ground=palette.haze))
    marks = raster.labels(canvas, solid=True)
    inside = distance_transform_edt(~raster.borders(marks))
    depth = np.asarray(inside, dtype=np.float32)
    height = raster.blurred(np.sqrt(np.clip(depth / 26, 0, 1)), 1.6)
    down, across = np.gradient(height * 26)
    lit = np.asarray(np.clip((-across * 0.6 - down * 0.8) * 0.32, -0.30, 0.34))
    hollow = raster.blurred(np.clip(1 - depth / 3, 0, 1), 1.2) * 0.16
    shine = np.clip(lit - 0.17, 0, 1) * 1.1
    soft = flat * (1 + lit - hollow)[:, :, None] + shine[:, :, None]
    bloom = raster.blurred(np.clip(soft, 0, 1), 9)
    speck = 1 + 0.01 * raster.grain(rng)
    return raster.bounded((soft * 0.86 + bloom * 0.16) * speck[:, :, None])
