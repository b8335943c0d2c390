"""From shapes to pixels: what the styles have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from useralign.domains.drawing.colour import Colour, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape


SIDE = 384
OVER = 2  # drawn twice as large and scaled down: smooth edges


@dataclass(frozen=True, slots=True)
class Paint:
    """How a style wants one shape painted; None leaves that part out."""

    fill: Colour | None
    to: Colour | None = None
    line: Colour | None = None
    width: float = 0.0


def plainly(shape: Shape) -> Paint:
    """Paint a shape in its own colours, without outline."""
    return Paint(shape.colour, shape.to)


def paint(
    canvas: Canvas,
    how: Callable[[Shape], Paint] = plainly,
    ground: Colour = (1.0, 1.0, 1.0),
    side: int = SIDE * OVER,
    shake: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
) -> Image.Image:
    """Paint all shapes, from the back to the front.

    Parameters
    ----------
    canvas : Canvas
    how : callable
        Gives the paint of a shape.
    ground : tuple of float
    side : int
        Of the picture, in pixels.
    shake : callable, optional
        Moves the points of each outline, for a hand that is not steady.
    """
    picture = Image.new("RGB", (side, side), to_bytes(ground))
    draw = ImageDraw.Draw(picture)
    for shape in canvas.shapes:
        wanted = how(shape)
        if shape.kind == "glow":
            if wanted.fill is not None:
                _shine(picture, shape, wanted.fill)
            continue
        points = shape.points * side
        if shape.kind == "stroke":
            _stroke(draw, points, wanted.line or wanted.fill, wanted.width or shape.width, side)
            continue
        _fill(picture, draw, points, wanted)
        if wanted.line is not None and shape.edge:
            outline = np.vstack([points, points[:1]])
            outline = shake(outline) if shake else outline
            _stroke(draw, outline, wanted.line, wanted.width, side)
    return picture


def _fill(
    picture: Image.Image, draw: ImageDraw.ImageDraw, points: NDArray[np.float64], wanted: Paint
) -> None:
    if wanted.fill is None:
        return
    corners = [(float(x), float(y)) for x, y in points]
    if wanted.to is None:
        draw.polygon(corners, fill=to_bytes(wanted.fill))
        return
    side = picture.size[0]
    left, top = np.floor(points.min(axis=0)).astype(int)
    right, bottom = np.ceil(points.max(axis=0)).astype(int) + 1
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(right, side), min(bottom, side)
    if x1 <= x0 or y1 <= y0:
        return
    share = ((np.arange(y0, y1) - top) / max(bottom - top, 1))[:, None]
    first, last = np.array(to_bytes(wanted.fill)), np.array(to_bytes(wanted.to))
    column = (first + (last - first) * share).round().astype(np.uint8)
    ramp = Image.fromarray(np.repeat(column[:, None, :], x1 - x0, axis=1))
    mask = Image.new("L", ramp.size)
    ImageDraw.Draw(mask).polygon([(x - x0, y - y0) for x, y in corners], fill=255)
    picture.paste(ramp, (int(x0), int(y0)), mask)


def _stroke(
    draw: ImageDraw.ImageDraw,
    points: NDArray[np.float64],
    colour: Colour | None,
    width: float,
    side: int,
) -> None:
    if colour is None:
        return
    wide = max(1, round(width * side))
    ink = to_bytes(colour)
    draw.line([(float(x), float(y)) for x, y in points], fill=ink, width=wide, joint="curve")
    if wide > 2:
        r = wide / 2
        for x, y in (points[0], points[-1]):
            draw.ellipse([x - r, y - r, x + r, y + r], fill=ink)


def _shine(picture: Image.Image, shape: Shape, colour: Colour) -> None:
    side = picture.size[0]
    (x, y), radius = shape.points[0] * side, shape.width * side
    x0, y0 = max(int(x - radius), 0), max(int(y - radius), 0)
    x1, y1 = min(int(x + radius) + 1, side), min(int(y + radius) + 1, side)
    if x1 <= x0 or y1 <= y0:
        return
    down, across = np.ogrid[y0:y1, x0:x1]
    distance = np.sqrt((across - x) ** 2 + (down - y) ** 2) / radius
    strength = np.clip(1 - distance, 0, 1) ** 2 * 0.85
    mask = Image.fromarray((255 * strength).astype(np.uint8))
    picture.paste(to_bytes(colour), (x0, y0, x1, y1), mask)


def labels(canvas: Canvas, side: int = SIDE, *, solid: bool = False) -> NDArray[np.int32]:
    """Return which shape is seen at each pixel, shape (side, side); -1 where there is none.

    Glows are not shapes. With `solid`, neither are lines, stars, rain and the like.
    """
    picture = Image.new("I", (side, side), -1)
    draw = ImageDraw.Draw(picture)
    for number, shape in enumerate(canvas.shapes):
        if solid and (shape.kind == "stroke" or not shape.edge):
            continue
        corners = [(float(x) * side, float(y) * side) for x, y in shape.points]
        if shape.kind == "fill":
            draw.polygon(corners, fill=number)
        elif shape.kind == "stroke":
            draw.line(corners, fill=number, width=max(1, round(shape.width * side)), joint="curve")
    return np.asarray(picture, dtype=np.int32)


def pixels(picture: Image.Image) -> NDArray[np.float32]:
    """Return a picture as numbers in [0, 1], scaled to the final size."""
    if picture.size[0] != SIDE:
        picture = picture.resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(picture.convert("RGB"), dtype=np.float32) / np.float32(255)


def image(values: NDArray[np.float32]) -> Image.Image:
    """Return numbers in [0, 1] as a picture."""
    return Image.fromarray((np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8))


def bounded(values: ArrayLike) -> NDArray[np.float32]:
    """Return numbers cut off below 0 and above 1, as the styles hand them out."""
    result: NDArray[np.float32] = np.clip(np.asarray(values), 0, 1).astype(np.float32)
    return result


def blurred(values: NDArray[np.float32], radius: float) -> NDArray[np.float32]:
    """Blur one channel or three."""
    soft = image(values).filter(ImageFilter.GaussianBlur(radius))
    return np.asarray(soft, dtype=np.float32) / np.float32(255)


def tone(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how light each pixel looks, shape (h, w)."""
    weights = np.array([0.299, 0.587, 0.114], dtype=np.float32)
    result: NDArray[np.float32] = values @ weights
    return result


def borders(marks: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return where neighbouring pixels belong to different shapes."""
    found = np.zeros(marks.shape, dtype=bool)
    found[:, 1:] |= marks[:, 1:] != marks[:, :-1]
    found[1:, :] |= marks[1:, :] != marks[:-1, :]
    return found


def noise(rng: np.random.Generator, cells: int, side: int = SIDE) -> NDArray[np.float32]:
    """Return smooth noise around 0 with about `cells` waves a side, shape (side, side)."""
    coarse = rng.standard_normal((cells + 3, cells + 3)).astype(np.float32)
    large = Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(large, dtype=np.float32)


def grain(rng: np.random.Generator, side: int = SIDE) -> NDArray[np.float32]:
    """Return the tooth of paper: fine noise around 0, slightly soft."""
    rough = rng.standard_normal((side, side)).astype(np.float32)
    soft = rough + np.roll(rough, 1, 0)
    return (soft + np.roll(soft, 1, 1)) / np.float32(2)


def moved(
    values: NDArray[np.float32], dx: NDArray[np.float32], dy: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return pixels fetched from (x + dx, y + dy), to the nearest pixel."""
    height, width = values.shape[:2]
    rows, columns = np.indices((height, width))
    down = np.clip(rows + np.rint(dy).astype(int), 0, height - 1)
    across = np.clip(columns + np.rint(dx).astype(int), 0, width - 1)
    fetched: NDArray[np.float32] = values[down, across]
    return fetched
