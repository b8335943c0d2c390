"""Woodcut: one block of ink, carved in grooves that follow the light."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import Colour, mix
from useralign.domains.drawing.raster import Paint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture in ink on paper, with a second colour for what stands out."""
    flat = raster.pixels(raster.paint(canvas, ground=palette.haze))

    def carved(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        white: Colour = (1, 1, 1)
        if shape.kind == "stroke":
            return Paint(white if sum(shape.colour) > 1.5 else (0, 0, 0))
        return Paint((0.5, 0.5, 0.5), line=(0, 0, 0), width=0.0075)

    edges = raster.tone(raster.pixels(raster.paint(canvas, carved)))
    light = raster.tone(flat)
    low, high = np.percentile(light, [5, 92])
    light = np.clip((light - low) / max(high - low, 0.05), 0, 1)
    printed = np.clip((light + (_grooves(light, rng) - 0.5) * 0.9 - 0.5) * 6 + 0.5, 0, 1)
    printed = np.where(edges < 0.4, edges * 2, printed)
    printed = np.where(edges > 0.75, np.maximum(printed, edges), printed)
    rubbed = raster.grain(rng) > 2.9
    printed = np.where(rubbed, 1, printed)[:, :, None]
    paper = np.array(mix(palette.light, (0.96, 0.91, 0.80), 0.7))
    colourful = np.abs(flat - np.array(palette.main, dtype=np.float32)).sum(axis=2) < 0.34
    second = np.where(
        colourful[:, :, None], np.array(mix(palette.main, (0.8, 0.1, 0.05), 0.2)), paper
    )
    ink = np.array(mix(palette.dark, (0.05, 0.04, 0.05), 0.6))
    return raster.bounded(ink * (1 - printed) + second * printed)


def _grooves(light: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return waves that bend around light areas, from 0 to 1."""
    rows, columns = np.mgrid[0 : raster.SIDE, 0 : raster.SIDE].astype(np.float32)
    bend = raster.blurred(light, 14) * 60 + raster.noise(rng, 7) * 2.5
    wave = rows * 0.95 + columns * 0.28 + bend
    return raster.bounded(0.5 + 0.5 * np.cos(wave * 2 * np.pi / 7.5))
