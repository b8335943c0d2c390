"""Pixel art: a coarse grid, few colours, a dark outline around figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


CELLS = 96
COLOURS = 20


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture in square pixels, four screen pixels each."""
    del rng
    large = raster.paint(canvas, ground=palette.haze, side=CELLS * 4)
    small = large.resize((CELLS, CELLS), Image.Resampling.BOX)
    few = small.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    cells = np.asarray(few.convert("RGB"), dtype=np.float32) / np.float32(255)
    layers = np.array([0] + [shape.layer for shape in canvas.shapes])
    sheets = layers[raster.labels(canvas, CELLS, solid=True) + 1].astype(np.int32)
    cells = np.where(raster.borders(sheets)[:, :, None], cells * 0.55, cells)
    scale = raster.SIDE // CELLS
    return cells.repeat(scale, axis=0).repeat(scale, axis=1).astype(np.float32)
