"""Mosaic: small stones set in mortar, row by row, none quite square."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


STONE = 8


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture in stones of eight pixels."""
    flat = raster.pixels(raster.paint(canvas, ground=palette.haze))
    side = raster.SIDE
    rows, columns = np.mgrid[0:side, 0:side].astype(np.float32)
    wave = raster.noise(rng, 5) * 3.5
    u, v = (columns + wave) / STONE, (rows + np.roll(wave, 60, axis=1)) / STONE
    u = u + 0.5 * (np.floor(v) % 2)
    i, j = np.floor(u).astype(int), np.floor(v).astype(int)
    key = (j - j.min()) * (i.max() - i.min() + 1) + (i - i.min())
    count = np.bincount(key.ravel(), minlength=key.max() + 1)
    means = np.stack(
        [
            np.bincount(key.ravel(), flat[:, :, c].ravel(), len(count)) / np.maximum(count, 1)
            for c in range(3)
        ],
        axis=1,
    )
    means *= 1 + rng.normal(0, 0.075, (len(count), 1)) + rng.normal(0, 0.025, (len(count), 3))
    grey = means.mean(axis=1, keepdims=True)
    means = (grey + (means - grey) * 1.3 - 0.5) * 1.15 + 0.53
    stones = means[key]
    gap = np.minimum.reduce([u - i, 1 - (u - i), v - j, 1 - (v - j)])
    stones *= (0.93 + 0.2 * np.clip(gap, 0, 0.5))[:, :, None]
    mortar = np.clip((0.12 - gap) / 0.06, 0, 1)[:, :, None]
    joint = np.array(palette.light) * 0.35 + np.array(palette.dark) * 0.4
    return raster.bounded(stones * (1 - mortar) + joint * mortar)
