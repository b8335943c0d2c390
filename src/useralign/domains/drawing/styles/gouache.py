"""Gouache: thick strokes of the brush that follow the forms."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import ImageDraw

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


# Length, width and number of the strokes: a broad brush first, then finer ones.
_BRUSHES = ((26, 11, 800), (14, 6, 1600), (8, 3, 3600), (5, 1.8, 4200))


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture in visible strokes of paint."""
    large = raster.paint(canvas, ground=palette.haze)
    flat = raster.pixels(large)
    light = raster.blurred(raster.tone(flat), 4)
    rise, run = np.gradient(light)
    angle = np.arctan2(rise, run) + np.pi / 2 + raster.noise(rng, 8) * 0.35
    busy = raster.blurred(raster.borders(raster.labels(canvas)).astype(np.float32), 5)
    picture = raster.image(raster.blurred(flat, 4)).resize(large.size)
    draw = ImageDraw.Draw(picture)
    for length, width, count in _BRUSHES:
        places = rng.integers(0, raster.SIDE, (count, 2))
        if width < 10:
            wanted = busy[places[:, 1], places[:, 0]]
            places = places[wanted > (0.04 if width > 5 else 0.12)]
        _strokes(draw, flat, angle, places, (length, width), rng)
    relief = raster.pixels(picture)
    return raster.bounded(relief * (1 + 0.03 * raster.grain(rng))[:, :, None])


def _strokes(
    draw: ImageDraw.ImageDraw,
    flat: NDArray[np.float32],
    angle: NDArray[np.float32],
    places: NDArray[np.int64],
    brush: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    x, y = places[:, 0], places[:, 1]
    colours = flat[y, x] * (1 + rng.normal(0, 0.05, (len(places), 1))) + rng.normal(
        0, 0.012, (len(places), 3)
    )
    colours = (np.clip(colours, 0, 1) * 255).astype(int)
    reach = brush[0] * raster.OVER / 2 * rng.uniform(0.6, 1.2, len(places))
    dx, dy = np.cos(angle[y, x]) * reach, np.sin(angle[y, x]) * reach
    px, py = x * raster.OVER, y * raster.OVER
    width = round(brush[1] * raster.OVER)
    for a, b, c, d, (red, green, blue) in zip(
        px - dx, py - dy, px + dx, py + dy, colours.tolist(), strict=True
    ):
        draw.line([(a, b), (c, d)], fill=(red, green, blue), width=width)
