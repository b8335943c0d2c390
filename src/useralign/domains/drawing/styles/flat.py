"""Flat: clean areas of colour, as on a screen-printed poster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture in plain areas of colour."""
    del rng
    return raster.pixels(raster.paint(canvas, ground=palette.haze))
