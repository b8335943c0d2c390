"""Chalk: soft sticks on dark paper, grainy, with the paper showing."""

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
    """Return the picture in chalk on a board."""
    board = np.array(mix((0.13, 0.15, 0.15), palette.dark, 0.4), dtype=np.float32)
    flat = raster.pixels(raster.paint(canvas, ground=palette.haze))

    def outline(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        if shape.kind == "stroke":
            return Paint((1, 1, 1))
        return Paint((0, 0, 0), line=(1, 1, 1), width=0.005)

    def shake(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return points + rng.normal(0, 1.6, points.shape)

    lines = raster.tone(raster.pixels(raster.paint(canvas, outline, ground=(0, 0, 0), shake=shake)))
    side = raster.SIDE
    rows, columns = np.mgrid[0:side, 0:side].astype(np.float32)
    sweep = np.cos((columns * 0.7 + rows + raster.noise(rng, 10) * 4) * 2 * np.pi / 9) * 0.22
    tooth = raster.grain(rng) * 0.22
    cover = np.clip(raster.tone(flat) * 0.8 + 0.16 + sweep * 0.8 + tooth, 0, 1)
    cover = np.maximum(cover, np.clip(lines * 1.1 + tooth * 0.8 - 0.1, 0, 1))[:, :, None]
    colour = np.clip(flat * 0.8 + 0.22, 0, 1)
    stick = np.where(lines[:, :, None] > 0.5, np.clip(colour * 0.5 + 0.5, 0, 1), colour)
    dusty = board * (1 + 0.15 * raster.noise(rng, 6))[:, :, None]
    return raster.bounded(dusty + (stick - dusty) * cover)
