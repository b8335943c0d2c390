"""Pop art: thick outlines, few bright colours, large dots for the shade."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import luminance, vivid
from useralign.domains.drawing.raster import Paint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as a panel of an old comic."""
    del rng
    ink = (0.05, 0.04, 0.07)

    def bold(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        dark = luminance(shape.colour) < 0.16
        colour = ink if dark else vivid(shape.colour, 0.52, 0.8)
        if shape.kind == "stroke":
            return Paint(colour, width=max(shape.width, 0.008))
        return Paint(colour, line=ink, width=0.010)

    panel = raster.pixels(raster.paint(canvas, bold, ground=palette.haze))
    true = raster.tone(raster.pixels(raster.paint(canvas, ground=palette.haze)))
    rows, columns = np.mgrid[0 : raster.SIDE, 0 : raster.SIDE]
    u = (columns + rows) * 2 * np.pi / 11
    v = (columns - rows) * 2 * np.pi / 11
    screen = 0.5 + 0.25 * (np.cos(u) + np.cos(v))
    shade = np.clip(0.78 - true, 0, 1) * 0.75
    dots = np.clip((shade - screen) * 5 + 0.5, 0, 1)[:, :, None]
    bright = np.clip((panel - 0.5) * 1.2 + 0.55, 0, 1)
    shaded = (raster.tone(panel) > 0.2)[:, :, None]
    return raster.bounded(bright - dots * 0.32 * shaded)
