"""Buildings: houses, towers, castles, lighthouses."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, mix

if TYPE_CHECKING:
    import numpy as np

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour


def house(
    canvas: Canvas, x: float, y: float, size: float, wall: Colour, roof: Colour, window: Colour
) -> None:
    """Draw a cottage that stands at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.box(0.22, -0.95, 0.34, -0.6, darker(roof))
        canvas.box(-0.45, -0.5, 0.45, 0, wall, darker(wall, 0.12))
        canvas.area([(-0.55, -0.47), (-0.02, -0.92), (0.55, -0.47)], roof, darker(roof))
        canvas.box(-0.08, -0.30, 0.10, 0, darker(roof, 0.35))
        for left in (-0.35, 0.2):
            canvas.box(left, -0.36, left + 0.15, -0.18, window)
            canvas.line([(left + 0.075, -0.36), (left + 0.075, -0.18)], darker(wall, 0.4), 0.018)


def tower(
    canvas: Canvas,
    x: float,
    y: float,
    width: float,
    height: float,
    wall: Colour,
    lit: Colour,
    rng: np.random.Generator,
    share: float = 0.5,
) -> None:
    """Draw a block of flats or offices at (x, y), with a share of its windows lit."""
    canvas.box(x - width / 2, y - height, x + width / 2, y, wall, darker(wall, 0.15))
    across, down = max(2, round(width / 0.028)), max(3, round(height / 0.042))
    cell, row = width / across, height / down
    for i in range(across):
        for j in range(down - 1):
            if rng.random() < share:
                left, top = x - width / 2 + (i + 0.25) * cell, y - height + (j + 0.4) * row
                canvas.box(left, top, left + cell * 0.5, top + row * 0.5, lit, edge=False)


def castle(
    canvas: Canvas, x: float, y: float, size: float, wall: Colour, roof: Colour, window: Colour
) -> None:
    """Draw a castle with pointed towers that stands at (x, y)."""
    with canvas.placed(x, y, size):
        for dx, w, h in ((-0.33, 0.17, 0.62), (0.35, 0.16, 0.55), (0.03, 0.24, 0.85)):
            canvas.box(dx - w / 2, -h, dx + w / 2, 0, wall, darker(wall, 0.2))
            canvas.area(
                [(dx - w * 0.65, -h), (dx, -h - w * 1.6), (dx + w * 0.65, -h)], roof, darker(roof)
            )
            canvas.box(dx - 0.022, -h + 0.10, dx + 0.022, -h + 0.19, window)
            canvas.line([(dx, -h - w * 1.6), (dx, -h - w * 1.6 - 0.09)], darker(wall), 0.012)
        canvas.box(-0.42, -0.3, 0.44, 0, wall, darker(wall, 0.2))
        for left in (-0.42, -0.25, -0.08, 0.09, 0.26):
            canvas.box(left, -0.36, left + 0.09, -0.29, wall)
        canvas.area(
            [*arc(0, -0.12, 0.08, 0.09, 180, 360, 9), (0.08, 0), (-0.08, 0)], darker(wall, 0.6)
        )


def lighthouse(
    canvas: Canvas, x: float, y: float, size: float, wall: Colour, band: Colour, lamp: Colour
) -> None:
    """Draw a lighthouse with red bands that stands at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.glow(0, -0.86, 0.55, lamp)
        canvas.area(
            [(-0.13, 0), (-0.08, -0.75), (0.08, -0.75), (0.13, 0)], wall, darker(wall, 0.12)
        )
        for low, high in ((-0.15, -0.30), (-0.45, -0.60)):
            a, b = 0.13 + low * 0.065, 0.13 + high * 0.065
            canvas.area([(-a, low), (-b, high), (b, high), (a, low)], band)
        canvas.box(-0.11, -0.79, 0.11, -0.75, darker(band))
        canvas.box(-0.06, -0.92, 0.06, -0.79, lamp)
        canvas.area([(-0.09, -0.92), (0, -1.03), (0.09, -0.92)], band)


def mansion(canvas: Canvas, x: float, y: float, size: float, wall: Colour, window: Colour) -> None:
    """Draw an old house with gables, as ghosts like it, that stands at (x, y)."""
    with canvas.placed(x, y, size):
        roof = darker(wall, 0.35)
        canvas.box(-0.42, -0.48, 0.42, 0, wall)
        canvas.area([(-0.5, -0.46), (-0.3, -0.72), (0.3, -0.72), (0.5, -0.46)], roof)
        canvas.box(-0.13, -0.85, 0.13, -0.4, wall)
        canvas.area([(-0.19, -0.83), (0, -1.15), (0.19, -0.83)], roof)
        canvas.box(0.3, -0.86, 0.37, -0.62, wall)
        for dx, dy in (
            (-0.3, -0.3),
            (-0.3, -0.1),
            (0.3, -0.3),
            (0.3, -0.1),
            (0, -0.62),
            (-0.05, -0.34),
            (0.05, -0.34),
        ):
            lit = window if (dx, dy) in ((0, -0.62), (0.3, -0.3)) else mix(wall, window, 0.25)
            canvas.area(
                [
                    *arc(dx, dy - 0.03, 0.035, 0.04, 180, 360, 8),
                    (dx + 0.035, dy + 0.05),
                    (dx - 0.035, dy + 0.05),
                ],
                lit,
            )
        canvas.box(-0.06, -0.16, 0.06, 0, roof)


def balloon(canvas: Canvas, x: float, y: float, size: float, first: Colour, second: Colour) -> None:
    """Draw a hot-air balloon around (x, y)."""
    with canvas.placed(x, y, size):
        canvas.line([(-0.16, 0.3), (-0.07, 0.62)], darker(second, 0.5), 0.015)
        canvas.line([(0.16, 0.3), (0.07, 0.62)], darker(second, 0.5), 0.015)
        canvas.blob(
            path("0,-0.5 0.42,-0.2 0.3,0.2 0,0.42 -0.3,0.2 -0.42,-0.2"),
            first,
            darker(first, 0.15),
        )
        canvas.blob(
            path("0,-0.5 0.2,-0.2 0.13,0.2 0,0.42 -0.13,0.2 -0.2,-0.2"),
            second,
            darker(second, 0.1),
        )
        canvas.box(-0.08, 0.6, 0.08, 0.74, darker(second, 0.45))


def boat(canvas: Canvas, x: float, y: float, size: float, hull: Colour, sail: Colour) -> None:
    """Draw a sailing boat that floats at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.line([(0, -0.1), (0, -0.95)], darker(hull), 0.03)
        canvas.area([(0.03, -0.9), (0.42, -0.2), (0.03, -0.2)], sail, darker(sail, 0.1))
        canvas.area([(-0.03, -0.82), (-0.3, -0.2), (-0.03, -0.2)], darker(sail, 0.08))
        canvas.area([(-0.5, -0.12), (0.52, -0.12), (0.34, 0.08), (-0.36, 0.08)], hull, darker(hull))


def gear(canvas: Canvas, x: float, y: float, radius: float, colour: Colour, hole: Colour) -> None:
    """Draw a cogwheel around (x, y)."""
    canvas.area(ring(x, y, (radius, radius, radius * 0.76, radius * 0.76), 40), colour)
    canvas.oval(x, y, radius * 0.35, colour=hole)
