"""Instruments and players, each drawn around the origin, about one unit tall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour


def saxophone(canvas: Canvas, metal: Colour, dark: Colour) -> None:
    """Draw a saxophone."""
    canvas.curve([(-0.34, -0.42), (-0.25, -0.5), (-0.1, -0.46), (-0.04, -0.3)], dark, 0.05)
    body = path(
        "-0.08,-0.34 0.02,-0.36 0.1,0.15 0.16,0.34 0.28,0.3 0.32,0.1 0.26,-0.06 "
        "0.56,-0.12 0.5,0.1 0.46,0.34 0.26,0.52 0.06,0.42 -0.02,0.15"
    )
    canvas.blob(body, metal, darker(metal, 0.2))
    canvas.oval(0.41, -0.09, 0.16, 0.05, darker(metal, 0.35))
    for share in np.linspace(0, 1, 6):
        canvas.oval(0.0 + 0.09 * share, -0.24 + 0.52 * share, 0.03, colour=lighter(metal, 0.45))


def trumpet(canvas: Canvas, metal: Colour, dark: Colour) -> None:
    """Draw a trumpet that points up to the right."""
    with canvas.placed(0, 0, 1.0, -24):
        canvas.line([(-0.55, 0), (0.25, 0)], metal, 0.05)
        canvas.area(
            path("0.2,-0.03 0.42,-0.07 0.58,-0.2 0.58,0.2 0.42,0.07 0.2,0.03"),
            metal,
            darker(metal, 0.2),
        )
        canvas.curve(arc(-0.05, 0.09, 0.24, 0.1, -90, 270, 24), darker(metal, 0.1), 0.042)
        for x in (-0.14, -0.05, 0.04):
            canvas.box(x - 0.025, -0.16, x + 0.025, 0.16, lighter(metal, 0.3))
            canvas.oval(x, -0.18, 0.035, 0.016, dark)
        canvas.oval(-0.57, 0, 0.03, 0.05, dark)


def bass(canvas: Canvas, wood: Colour, dark: Colour) -> None:
    """Draw a double bass."""
    canvas.line([(0, -0.2), (0, -0.68)], dark, 0.05)
    canvas.oval(0, -0.7, 0.045, 0.06, darker(wood, 0.3))
    canvas.blob(
        path(
            "0,-0.28 0.16,-0.22 0.17,-0.06 0.11,0.05 0.24,0.25 0.16,0.48 0,0.52 -0.16,0.48 "
            "-0.24,0.25 -0.11,0.05 -0.17,-0.06 -0.16,-0.22"
        ),
        wood,
        darker(wood, 0.25),
    )
    for dx in (-0.018, 0, 0.018):
        canvas.line([(dx, -0.65), (dx, 0.36)], lighter(wood, 0.6), 0.006)
    for side in (-1, 1):
        canvas.curve([(side * 0.08, 0.06), (side * 0.06, 0.14), (side * 0.1, 0.22)], dark, 0.014)
    canvas.box(-0.05, 0.2, 0.05, 0.225, dark)


def keys(canvas: Canvas, light: Colour, dark: Colour) -> None:
    """Draw a keyboard that waves across."""
    x = np.linspace(-0.75, 0.75, 19)
    y = 0.12 * np.sin(x * 4.2)
    for k in range(18):
        a, b = (x[k], y[k]), (x[k + 1], y[k + 1])
        canvas.area(
            [(a[0], a[1] - 0.2), (b[0], b[1] - 0.2), (b[0], b[1] + 0.2), (a[0], a[1] + 0.2)],
            light,
            darker(light, 0.12),
        )
    for k in range(1, 18):
        if k % 7 not in (0, 3):
            canvas.area(
                [
                    (x[k] - 0.025, y[k] - 0.2),
                    (x[k] + 0.025, y[k] - 0.2),
                    (x[k] + 0.022, y[k] + 0.05),
                    (x[k] - 0.022, y[k] + 0.05),
                ],
                dark,
            )


def record(canvas: Canvas, vinyl: Colour, label: Colour, hole: Colour) -> None:
    """Draw a record."""
    canvas.oval(0, 0, 0.5, colour=vinyl)
    for r in (0.44, 0.38, 0.32, 0.26):
        canvas.curve(arc(0, 0, r, r, 0, 360, 40), lighter(vinyl, 0.18), 0.006)
    canvas.oval(0, 0, 0.17, colour=label)
    canvas.oval(0, 0, 0.03, colour=hole)


def microphone(canvas: Canvas, metal: Colour, dark: Colour) -> None:
    """Draw a microphone of the old kind on its stand."""
    canvas.line([(0, 0.05), (0, 0.62)], dark, 0.035)
    canvas.oval(0, 0.63, 0.2, 0.045, dark)
    canvas.blob(
        path("-0.17,-0.42 0,-0.52 0.17,-0.42 0.17,-0.02 0,0.08 -0.17,-0.02"),
        metal,
        darker(metal, 0.2),
    )
    for y in (-0.4, -0.32, -0.16, -0.08):
        canvas.line([(-0.14, y), (0.14, y)], dark, 0.022)
    canvas.box(-0.18, -0.27, 0.18, -0.21, lighter(metal, 0.35))
    canvas.line([(0, -0.5), (0, 0.05)], dark, 0.016)


def drums(canvas: Canvas, shell: Colour, skin: Colour, metal: Colour) -> None:
    """Draw a drum kit."""
    for side in (-1, 1):
        canvas.line([(side * 0.48, 0.4), (side * 0.44, -0.3)], darker(metal, 0.4), 0.018)
        canvas.oval(side * 0.45, -0.3, 0.2, 0.035, metal)
    canvas.oval(0, 0.18, 0.3, colour=shell)
    canvas.oval(0, 0.18, 0.24, colour=skin)
    for x, y in ((-0.2, -0.2), (0.2, -0.2), (-0.42, 0.12), (0.42, 0.12)):
        canvas.box(x - 0.14, y, x + 0.14, y + 0.16, shell, darker(shell))
        canvas.oval(x, y, 0.14, 0.035, skin)


def player(canvas: Canvas, coat: Colour, skin: Colour, metal: Colour) -> None:
    """Draw a player with a hat and a saxophone, leaning back."""
    canvas.limb((-0.08, 0.1), (-0.16, 0.5), (0.13, 0.09), darker(coat, 0.3))
    canvas.limb((0.0, 0.1), (0.12, 0.5), (0.13, 0.09), darker(coat, 0.2))
    canvas.blob(
        path("-0.2,-0.24 0.02,-0.28 0.1,0 0.08,0.16 -0.18,0.16"),
        coat,
        darker(coat, 0.2),
    )
    canvas.oval(-0.06, -0.38, 0.1, 0.12, skin)
    canvas.blob(
        path("-0.24,-0.42 -0.16,-0.46 -0.14,-0.56 0.02,-0.58 0.05,-0.48 0.16,-0.48 0,-0.42"),
        darker(coat, 0.45),
    )
    with canvas.placed(0.2, -0.02, 0.62):
        saxophone(canvas, metal, darker(metal, 0.5))
    canvas.limb((-0.12, -0.16), (0.04, 0.04), (0.08, 0.06), lighter(coat, 0.12))
    canvas.limb((0.04, 0.04), (0.22, -0.06), (0.06, 0.05), lighter(coat, 0.12))
    canvas.oval(0.23, -0.07, 0.035, colour=skin)


def note(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    """Draw a note around (x, y)."""
    canvas.line([(x + 0.22 * size, y), (x + 0.22 * size, y - 0.8 * size)], colour, 0.08 * size)
    canvas.blob(
        path("0.22,-0.8 0.55,-0.5 0.45,-0.3 0.24,-0.55", x, y, size),
        colour,
    )
    canvas.oval(x, y, 0.25 * size, 0.18 * size, colour)


def faces(canvas: Canvas, first: Colour, second: Colour, dark: Colour) -> None:
    """Draw a face of flat planes, one half light and one dark, with a star for an eye."""
    canvas.blob(path("0,-0.5 0.3,-0.4 0.36,-0.05 0.2,0.35 0,0.5"), first)
    canvas.blob(path("0,-0.5 -0.3,-0.4 -0.36,-0.05 -0.2,0.35 0,0.5"), second)
    canvas.area([(0, -0.3), (0.12, 0.1), (-0.04, 0.1)], mix(first, second, 0.5))
    canvas.blob([(-0.14, 0.26), (0, 0.2), (0.14, 0.26), (0, 0.33)], dark)
    canvas.oval(-0.15, -0.12, 0.08, 0.05, first)
    canvas.oval(-0.15, -0.12, 0.035, colour=dark)
    canvas.area(ring(0.16, -0.12, (0.11, 0.04), 10), second)
