"""Blueprint: white lines on blue, with a grid and construction marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import mix
from useralign.domains.drawing.raster import Paint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as a technical drawing."""
    blue = mix((0.07, 0.24, 0.50), palette.sky, 0.18)

    def lines(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        if shape.kind == "stroke":
            return Paint(None, line=(1, 1, 1), width=max(min(shape.width, 0.005), 0.0025))
        shade = 0.28 * (1 - sum(shape.colour) / 3)
        return Paint((shade, shade, shade), line=(1, 1, 1), width=0.0035)

    drawn = raster.tone(raster.pixels(raster.paint(canvas, lines, ground=(0, 0, 0))))
    side = raster.SIDE
    rows, columns = np.mgrid[0:side, 0:side]
    grid = np.where((rows % 16 == 0) | (columns % 16 == 0), 0.10, 0.0)
    grid = np.where((rows % 64 == 0) | (columns % 64 == 0), 0.2, grid)
    # Shaded parts are hatched, as on a section.
    hatch = ((rows + columns) % 6 < 2) & (drawn > 0.12) & (drawn < 0.4)
    white = np.clip(np.where(drawn > 0.4, drawn, 0) + grid + hatch * 0.22, 0, 1)
    worn = np.clip(1 + 0.05 * raster.grain(rng) + 0.10 * raster.noise(rng, 5), 0.6, 1.3)
    ground = np.array(blue, dtype=np.float32) * worn[:, :, None]
    chalk = np.array([0.93, 0.97, 1.0], dtype=np.float32)
    return raster.bounded(ground + (chalk - ground) * white[:, :, None])
