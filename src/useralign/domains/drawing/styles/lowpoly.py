"""Low poly: the picture cut into facets that catch the light differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw
from scipy.spatial import Delaunay

from useralign.domains.drawing import raster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette


POINTS = 950


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture in triangles, smaller where there is more to see."""
    large = raster.paint(canvas, ground=palette.haze)
    flat = raster.pixels(large)
    points = _points(raster.borders(raster.labels(canvas)), rng)
    corners = points[Delaunay(points).simplices]
    middle = np.clip(corners.mean(axis=1), 0, raster.SIDE - 1).astype(int)
    soft = raster.blurred(flat, 1.5)
    colours = soft[middle[:, 1], middle[:, 0]] * _light(corners, rng)[:, None]
    picture = Image.new("RGB", large.size)
    draw = ImageDraw.Draw(picture)
    for triangle, colour in zip(corners * raster.OVER, np.clip(colours, 0, 1), strict=True):
        r, g, b = (int(part) for part in colour * 255)
        draw.polygon([(float(x), float(y)) for x, y in triangle], fill=(r, g, b))
    return raster.pixels(picture)


def _points(edges: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.float64]:
    side = raster.SIDE
    rows, columns = np.nonzero(edges)
    some = rng.choice(len(rows), min(POINTS, len(rows)), replace=False)
    chosen = np.column_stack([columns[some], rows[some]]) + rng.normal(0, 0.8, (len(some), 2))
    spread = rng.uniform(0, side, (260, 2))
    rim = np.linspace(0, side, 12)
    frame = [(x, y) for x in rim for y in (-1, side + 1)] + [
        (x, y) for y in rim for x in (-1, side + 1)
    ]
    return np.vstack([chosen, spread, np.array(frame, dtype=np.float64)])


def _light(corners: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return how light each facet is: each leans its own way towards a light at the top left."""
    lean = rng.normal(0, 1, (len(corners), 2))
    slope = (corners[:, 1] - corners[:, 0]) * [0.4, 0.9]
    turned = np.tanh(slope.sum(axis=1) / 30)
    light: NDArray[np.float64] = 1 + 0.09 * turned + 0.055 * lean[:, 0]
    return light
