"""What a bakery's mark shows, each around the origin, about one unit large, in two colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour


def wheat(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw an ear of wheat."""
    canvas.line([(0, 0.5), (0, -0.3)], second, 0.035)
    for k in range(5):
        y = 0.16 - 0.14 * k
        for side in (-1, 1):
            canvas.blob(
                [
                    (side * 0.015, y),
                    (side * 0.14, y - 0.05),
                    (side * 0.16, y - 0.17),
                    (side * 0.05, y - 0.09),
                ],
                first if side < 0 else darker(first, 0.12),
            )
    canvas.blob([(0, -0.62), (0.06, -0.5), (0, -0.38), (-0.06, -0.5)], first)


def croissant(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a croissant."""
    outer = arc(0, 0.2, 0.55, 0.52, 180, 360, 20)
    inner = arc(0, 0.26, 0.3, 0.22, 360, 180, 16)
    canvas.blob([*outer, *inner], first, darker(first, 0.15))
    for angle in (205, 235, 270, 305, 335):
        t = np.radians(angle)
        canvas.curve(
            [
                (0.31 * np.cos(t), 0.25 + 0.24 * np.sin(t)),
                (0.45 * np.cos(t + 0.1), 0.22 + 0.4 * np.sin(t + 0.1)),
                (0.54 * np.cos(t + 0.12), 0.2 + 0.5 * np.sin(t + 0.12)),
            ],
            second,
            0.03,
        )


def loaf(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a round loaf with cuts."""
    canvas.blob(
        path("-0.5,0.22 -0.48,-0.1 -0.2,-0.32 0.2,-0.32 0.48,-0.1 0.5,0.22 0,0.3"),
        first,
        darker(first, 0.2),
    )
    for dx in (-0.24, 0, 0.24):
        canvas.blob(
            [(dx - 0.07, 0.04), (dx - 0.01, -0.2), (dx + 0.06, -0.2), (dx + 0.0, 0.05)], second
        )


def cupcake(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a cupcake with a cherry."""
    canvas.area(
        [(-0.3, 0.05), (0.3, 0.05), (0.22, 0.48), (-0.22, 0.48)], second, darker(second, 0.2)
    )
    for dx in (-0.16, -0.05, 0.06, 0.17):
        canvas.line([(dx, 0.08), (dx * 0.75, 0.46)], darker(second, 0.3), 0.02)
    for y, w in ((0.02, 0.36), (-0.12, 0.27), (-0.25, 0.17)):
        canvas.blob(
            [
                (-w, y),
                (-w * 0.7, y - 0.12),
                (0, y - 0.16),
                (w * 0.7, y - 0.12),
                (w, y),
                (0, y + 0.08),
            ],
            lighter(first, 0.25),
            first,
        )
    canvas.oval(0, -0.42, 0.08, colour=mix(first, (0.8, 0.1, 0.15), 0.6))


def pretzel(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a pretzel."""
    t = np.linspace(-0.1, 1.1, 46) * 2 * np.pi
    x = 0.42 * np.sin(t) * (1.0 - 0.18 * np.cos(t))
    y = -0.32 * np.cos(t)
    canvas.curve(np.column_stack([x, y + 0.02]), first, 0.12)
    canvas.curve([(-0.3, -0.25), (-0.05, 0.02), (0.18, 0.32)], darker(first, 0.1), 0.11)
    canvas.curve([(0.3, -0.25), (0.05, 0.02), (-0.18, 0.32)], first, 0.11)
    for k in range(0, 46, 5):
        canvas.oval(float(x[k]), float(y[k]) + 0.02, 0.022, colour=second, edge=False)


def rolling_pin(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a rolling pin and a whisk, crossed."""
    with canvas.placed(0, 0, 1.0, 45):
        canvas.line([(-0.58, 0), (0.58, 0)], second, 0.06)
        canvas.limb((-0.3, 0), (0.3, 0), (0.2, 0.2), first)
    with canvas.placed(0, 0, 1.0, -45):
        canvas.line([(0.1, 0), (0.58, 0)], second, 0.07)
        for w in (0.05, 0.12, 0.19):
            canvas.curve(arc(-0.2, 0, 0.32, w, 0, 360, 24), darker(second, 0.2), 0.022)


def mill(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a windmill."""
    canvas.area([(-0.2, 0.5), (-0.13, -0.1), (0.13, -0.1), (0.2, 0.5)], first, darker(first, 0.2))
    canvas.area([(-0.16, -0.08), (0, -0.3), (0.16, -0.08)], second)
    canvas.area(
        [*arc(0, 0.34, 0.06, 0.08, 180, 360, 8), (0.06, 0.5), (-0.06, 0.5)], darker(first, 0.5)
    )
    for turn in (20, 110, 200, 290):
        with canvas.placed(0, -0.16, 1.0, turn):
            canvas.line([(0, 0), (0.48, 0)], darker(second, 0.2), 0.022)
            canvas.area(
                [(0.1, 0), (0.48, 0), (0.48, 0.12), (0.1, 0.10)], mix(second, (1, 1, 1), 0.35)
            )


def oven(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw an oven of bricks with a fire."""
    canvas.area([*arc(0, 0.1, 0.5, 0.5, 180, 360, 20), (0.5, 0.45), (-0.5, 0.45)], first)
    for y, shift in ((0.3, 0.0), (0.14, 0.1), (-0.02, 0.0), (-0.18, 0.1)):
        canvas.line([(-0.46, y), (0.46, y)], darker(first, 0.25), 0.012)
        for k in range(4):
            canvas.line(
                [(-0.36 + 0.22 * k + shift, y), (-0.36 + 0.22 * k + shift, y + 0.15)],
                darker(first, 0.25),
                0.012,
            )
    canvas.area(
        [*arc(0, 0.2, 0.26, 0.28, 180, 360, 16), (0.26, 0.45), (-0.26, 0.45)], darker(first, 0.75)
    )
    canvas.blob(path("-0.16,0.44 -0.1,0.2 -0.02,0.3 0.04,0.08 0.14,0.28 0.15,0.44"), second)


def heart_bread(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a heart with an ear of wheat left out."""
    canvas.blob(
        path(
            "0,0.48 -0.42,0.08 -0.5,-0.2 -0.3,-0.42 -0.08,-0.36 0,-0.22 0.08,-0.36 "
            "0.3,-0.42 0.5,-0.2 0.42,0.08"
        ),
        first,
    )
    with canvas.placed(0, 0.02, 0.55):
        wheat(canvas, second, second)


def baker(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a smiling head with a baker's hat and a moustache."""
    canvas.blob(
        path("-0.34,-0.12 -0.46,-0.42 -0.16,-0.58 0,-0.54 0.16,-0.58 0.46,-0.42 0.34,-0.12"),
        lighter(second, 0.6),
        second,
    )
    canvas.box(-0.34, -0.18, 0.34, -0.04, lighter(second, 0.45))
    canvas.blob(
        path("-0.3,-0.04 0.3,-0.04 0.32,0.22 0,0.5 -0.32,0.22"),
        mix((0.95, 0.78, 0.62), second, 0.15),
    )
    for side in (-1, 1):
        canvas.curve(arc(side * 0.13, 0.1, 0.05, 0.05, 200, 340, 7), darker(first, 0.5), 0.03)
        canvas.blob(
            [(0, 0.2), (side * 0.16, 0.17), (side * 0.34, 0.1), (side * 0.2, 0.29), (0, 0.26)],
            darker(first, 0.4),
        )


def owl_bun(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw a bird that is also a bun."""
    canvas.blob(
        path("-0.42,0.3 -0.4,-0.12 -0.16,-0.38 0.2,-0.34 0.36,-0.06 0.62,-0.12 0.44,0.26 0,0.36"),
        first,
        darker(first, 0.2),
    )
    canvas.blob([(-0.1, 0.05), (0.3, 0.02), (0.16, 0.24), (-0.06, 0.22)], second)
    canvas.area([(-0.4, -0.12), (-0.58, -0.06), (-0.4, 0.02)], darker(second, 0.3))
    canvas.oval(-0.22, -0.14, 0.045, colour=darker(first, 0.8))


def sheaf(canvas: Canvas, first: Colour, second: Colour) -> None:
    """Draw five ears tied together."""
    for turn in (-34, 34, -17, 17, 0):
        with canvas.placed(0, 0.42, 0.82, turn), canvas.placed(0, -0.5, 1.0):
            wheat(canvas, darker(first, 0.006 * abs(turn)), second)
    canvas.blob([(-0.14, 0.16), (0.14, 0.16), (0.14, 0.27), (-0.14, 0.27)], darker(second, 0.3))


def donut(canvas: Canvas, first: Colour, second: Colour, hole: Colour) -> None:
    """Draw a ring with icing and sprinkles."""
    canvas.oval(0, 0, 0.46, colour=mix(second, (0.85, 0.6, 0.3), 0.5))
    canvas.blob(ring(0, 0, (0.43, 0.37), 14), first)
    canvas.oval(0, 0, 0.16, colour=hole)
    for k, (x, y) in enumerate(ring(0, 0, (0.24, 0.33), 16)):
        with canvas.placed(x, y, 1.0, 53 * k):
            canvas.line(
                [(-0.03, 0), (0.03, 0)],
                lighter(second, 0.5) if k % 2 else darker(first, 0.4),
                0.024,
            )
