"""Cross-stitch: crosses of thread on cloth, one colour each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


CELLS = 64
COLOURS = 22


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as embroidery on linen."""
    large = raster.paint(canvas, ground=palette.haze, side=CELLS * 6)
    small = large.resize((CELLS, CELLS), Image.Resampling.BOX)
    few = small.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    cells = np.asarray(few.convert("RGB"), dtype=np.float32) / np.float32(255)
    cells = np.clip((cells - 0.5) * 1.25 + 0.53, 0, 1)
    scale = raster.SIDE // CELLS
    threads = cells.repeat(scale, axis=0).repeat(scale, axis=1)
    rows, columns = np.mgrid[0 : raster.SIDE, 0 : raster.SIDE] % scale
    rising = np.abs(rows + columns - (scale - 1))
    falling = np.abs(rows - columns)
    light = np.where(
        rising <= 1, 1.12 - 0.12 * rising, np.where(falling <= 1, 0.93 - 0.1 * falling, 0.0)
    )
    cloth = (
        np.array([0.93, 0.90, 0.83], dtype=np.float32)
        * (0.9 + 0.05 * ((rows + columns) % 2))[:, :, None]
    )
    uneven = (
        (1 + 0.05 * rng.standard_normal((CELLS, CELLS))).repeat(scale, axis=0).repeat(scale, axis=1)
    )
    thread = threads * (light * uneven)[:, :, None]
    return raster.bounded(np.where(light[:, :, None] > 0, thread, cloth * 0.45 + threads * 0.5))
