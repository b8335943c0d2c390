"""Risograph: three inks, printed as dots and a little out of register."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import Colour, vivid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture printed in two bright inks and a dark one."""
    flat = raster.pixels(raster.paint(canvas, ground=palette.haze))
    inks = [vivid(palette.main, 0.6, 0.85), vivid(palette.accent, 0.55, 0.75), palette.dark]
    amounts = _separated(flat, inks)
    printed = np.ones_like(flat) * np.array([0.97, 0.95, 0.90], dtype=np.float32)
    for ink, amount, angle in zip(inks, amounts, (0.26, 1.31, 0.79), strict=True):
        dx, dy = rng.integers(-3, 4, 2)
        shifted = np.roll(amount, (int(dy), int(dx)), axis=(0, 1))
        dots = _dots(shifted, angle)
        dots = dots * np.clip(0.93 + 0.05 * raster.grain(rng), 0, 1)
        printed *= 1 - dots[:, :, None] * (1 - np.array(ink, dtype=np.float32))
    return raster.bounded(printed)


def _separated(flat: NDArray[np.float32], inks: list[Colour]) -> NDArray[np.float32]:
    """Return how much of each ink a pixel needs, in logarithms, shape (3, side, side)."""
    wanted = -np.log(np.clip(flat, 0.06, 1)).reshape(-1, 3)
    density = -np.log(np.clip(np.array(inks), 0.06, 1))
    solved = wanted @ np.linalg.pinv(density)
    side = flat.shape[0]
    return raster.bounded(solved.T.reshape(3, side, side))


def _dots(amount: NDArray[np.float32], angle: float) -> NDArray[np.float32]:
    """Return a halftone of an amount of ink, on a screen turned by an angle."""
    rows, columns = np.mgrid[0 : raster.SIDE, 0 : raster.SIDE]
    u = (columns * np.cos(angle) + rows * np.sin(angle)) * 2 * np.pi / 5
    v = (rows * np.cos(angle) - columns * np.sin(angle)) * 2 * np.pi / 5
    screen = 0.5 + 0.25 * (np.cos(u) + np.cos(v))
    return raster.bounded((amount - screen) * 3 + 0.5)
