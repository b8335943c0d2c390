"""Stained glass: panes of bright colour in dark lead, lit from behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import mix
from useralign.domains.drawing.raster import Paint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


PANES = 90


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as a window of glass."""
    lead = (0.04, 0.04, 0.05)

    def pane(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        if shape.kind == "stroke":
            return Paint(shape.colour if shape.width > 0.012 else lead)
        return Paint(mix(shape.colour, (0, 0, 0), 0.04), shape.to, line=lead, width=0.013)

    glass = raster.pixels(raster.paint(canvas, pane, ground=palette.haze))
    owner, seam = _cells(rng)
    tints = 1 + rng.normal(0, 0.13, (PANES, 3)) * 0.6 + rng.normal(0, 0.1, (PANES, 1))
    lit = glass * tints[owner]
    grey = raster.tone(lit.astype(np.float32))[:, :, None]
    lit = grey + (lit - grey) * 1.45
    lit *= (1 + 0.06 * raster.noise(rng, 30) + 0.05 * raster.noise(rng, 70))[:, :, None]
    large = np.where(raster.tone(glass) > 0.12, seam, 0)[:, :, None]
    return raster.bounded(lit * 1.1 * (1 - large))


def _cells(rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return to which of the scattered panes a pixel belongs, and how near it is to a seam."""
    side = raster.SIDE
    centres = rng.uniform(0, side, (PANES, 2))
    rows, columns = np.mgrid[0:side, 0:side]
    places = np.column_stack([columns.ravel(), rows.ravel()])
    found = cKDTree(centres).query(places, k=2)
    distance, nearest = np.asarray(found[0]), np.asarray(found[1])
    gap = (distance[:, 1] - distance[:, 0]).reshape(side, side)
    return nearest[:, 0].reshape(side, side), np.clip(1.5 - gap / 1.6, 0, 1) * 0.6
