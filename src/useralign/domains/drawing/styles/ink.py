"""Ink: wavering outlines, and shade by hatching in up to three directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import luminance, mix
from useralign.domains.drawing.raster import Paint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as a pen drawing with one tinted wash."""
    flat = raster.pixels(raster.paint(canvas, ground=palette.haze))
    paper = mix(palette.light, (1.0, 0.99, 0.96), 0.6)

    def lines(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        if shape.kind == "stroke":
            return Paint(None, line=(0, 0, 0), width=max(min(shape.width, 0.006), 0.003))
        return Paint((1, 1, 1), line=(0, 0, 0), width=0.0042)

    def shake(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return points + rng.normal(0, 0.9, points.shape)

    drawn = raster.tone(raster.pixels(raster.paint(canvas, lines, shake=shake)))
    ink = np.minimum(drawn, _hatching(_spread(raster.tone(flat)), rng))[:, :, None]
    tint = np.array(mix(paper, palette.main, 0.30), dtype=np.float32)
    colourful = (flat.max(axis=2) - flat.min(axis=2))[:, :, None]
    base = np.array(paper) + (tint - np.array(paper)) * np.clip(colourful * 2.4 - 0.7, 0, 1)
    dark = mix(palette.dark, (0, 0, 0), 0.5 if luminance(palette.dark) > 0.1 else 0.2)
    return raster.bounded(np.array(dark) * (1 - ink) + base * ink)


def _spread(light: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return tones over the whole range: a night scene is not one black sheet."""
    low, high = np.percentile(light, [4, 92])
    return raster.bounded((light - low) / max(high - low, 0.05)) * np.float32(0.92) + np.float32(
        0.06
    )


def _hatching(light: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return strokes where it is dark: the darker, the more directions and the wider."""
    down, across = np.mgrid[0 : raster.SIDE, 0 : raster.SIDE].astype(np.float32)
    waver = raster.noise(rng, 12) * 1.3
    result = np.ones_like(light)
    for angle, below in ((0.72, 0.66), (-0.78, 0.42), (0.05, 0.24)):
        along = across * np.cos(angle) + down * np.sin(angle) + waver
        wave = 0.5 + 0.5 * np.cos(along * 2 * np.pi / 5.2)
        width = np.clip((below - light) / 0.3, 0, 1) * 0.62
        result = np.minimum(result, np.clip((1 - width - wave) / 0.25 + 0.5, 0, 1))
    return result
