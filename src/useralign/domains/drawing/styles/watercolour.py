"""Watercolour: edges that bleed, pigment that pools, paper that shows through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as washes on rough paper."""
    flat = raster.pixels(raster.paint(canvas, ground=palette.light))
    marks = raster.labels(canvas)
    dx = raster.noise(rng, 9) * 2.6 + raster.noise(rng, 40) * 1.5
    dy = raster.noise(rng, 9) * 2.6 + raster.noise(rng, 40) * 1.5
    wet = raster.moved(flat, dx, dy)
    rims = raster.moved(raster.borders(marks).astype(np.float32), dx, dy)
    wash = 0.62 * wet + 0.38 * raster.blurred(wet, 5)
    pooled = raster.blurred(rims, 1.1) * 0.55 + raster.blurred(rims, 3) * 0.25
    pigment = 1 + 0.11 * raster.noise(rng, 6) + 0.07 * raster.noise(rng, 22)
    tooth = raster.grain(rng)
    # Pigment takes light away: density works on the logarithm, as washes over one another do.
    density = -np.log(np.clip(wash * 0.82 + 0.17, 0.03, 1))
    density *= (pigment * (1 + 0.09 * tooth) + pooled)[:, :, None]
    paper = np.array([0.99, 0.975, 0.94], dtype=np.float32) * (1 + 0.012 * tooth[:, :, None])
    dry = _dry_edge(rng)[:, :, None]
    return raster.bounded(paper * np.exp(-density * dry))


def _dry_edge(rng: np.random.Generator) -> NDArray[np.float32]:
    """Return where the paint stops before the edge of the paper: 1 inside, 0 outside."""
    axis = np.linspace(-1, 1, raster.SIDE, dtype=np.float32)
    reach = np.maximum(np.abs(axis[:, None]), np.abs(axis[None, :]))
    reach = reach + 0.022 * raster.noise(rng, 14) + 0.012 * raster.noise(rng, 50)
    return raster.bounded((0.945 - reach) / 0.018)
