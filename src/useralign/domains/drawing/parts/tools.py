"""What heroes hold: each is drawn around the hand, upright."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour


def _sword(canvas: Canvas, main: Colour, light: Colour) -> None:
    steel = mix(light, (0.75, 0.8, 0.86), 0.6)
    canvas.area(
        path("-0.022,-0.06 -0.02,-0.44 0,-0.5 0.02,-0.44 0.022,-0.06"),
        steel,
        darker(steel, 0.2),
    )
    canvas.line([(0, -0.06), (0, -0.44)], darker(steel, 0.3), 0.006)
    canvas.box(-0.07, -0.065, 0.07, -0.04, main)
    canvas.box(-0.014, -0.04, 0.014, 0.06, darker(main, 0.5))


def _staff(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.line([(0, -0.42), (0.0, 0.42)], darker(main, 0.45), 0.026)
    canvas.glow(0, -0.47, 0.24, light)
    canvas.curve(arc(0, -0.47, 0.075, 0.075, 60, 300, 12), darker(main, 0.35), 0.02)
    canvas.area(ring(0, -0.47, (0.055, 0.038), 8), lighter(main, 0.5))


def _bow(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.line([(0.0, -0.36), (-0.06, 0), (0.0, 0.36)], light, 0.006)
    canvas.curve(path("0,-0.36 0.09,-0.22 0.05,0 0.09,0.22 0,0.36"), darker(main, 0.35), 0.024)
    canvas.line([(-0.1, 0), (0.22, 0)], darker(main, 0.6), 0.01)
    canvas.area([(0.2, -0.02), (0.26, 0), (0.2, 0.02)], light)


def _lantern(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.glow(0, 0.13, 0.32, mix(light, (1, 0.8, 0.35), 0.7))
    canvas.curve(arc(0, 0.03, 0.045, 0.05, 180, 360, 8), darker(main, 0.4), 0.012)
    canvas.box(-0.055, 0.04, 0.055, 0.2, mix(light, (1, 0.85, 0.4), 0.7))
    canvas.area([(-0.065, 0.05), (0, 0.005), (0.065, 0.05)], darker(main, 0.4))
    canvas.box(-0.065, 0.19, 0.065, 0.215, darker(main, 0.4))
    for x in (-0.05, 0, 0.05):
        canvas.line([(x, 0.05), (x, 0.2)], darker(main, 0.4), 0.008)


def _shield(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.blob(
        path("-0.15,-0.16 0,-0.19 0.15,-0.16 0.15,0.02 0,0.22 -0.15,0.02"),
        darker(main, 0.3),
    )
    canvas.blob(path("-0.12,-0.13 0,-0.16 0.12,-0.13 0.12,0.01 0,0.18 -0.12,0.01"), main)
    canvas.area(ring(0, -0.01, (0.085, 0.035), 8), light)


def _book(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.area(path("-0.13,-0.09 0,-0.05 0.13,-0.09 0.13,0.06 0,0.1 -0.13,0.06"), main)
    for side in (-1, 1):
        canvas.area([(0, -0.045), (side * 0.115, -0.085), (side * 0.115, 0.035), (0, 0.075)], light)
        for level in (-0.03, 0.0):
            canvas.line(
                [(side * 0.02, level), (side * 0.1, level - 0.025)], darker(light, 0.4), 0.005
            )


def _wrench(canvas: Canvas, main: Colour, light: Colour) -> None:
    steel = mix(light, (0.7, 0.74, 0.8), 0.6)
    canvas.line([(0, 0.1), (0, -0.24)], steel, 0.035)
    canvas.area(
        [*arc(0, -0.29, 0.075, 0.075, -60, 240, 14), (-0.02, -0.3), (0.02, -0.3)],
        darker(steel, 0.15),
    )
    canvas.box(-0.02, 0.02, 0.02, 0.12, main)


def _hammer(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.line([(0, 0.14), (0, -0.34)], darker(main, 0.5), 0.034)
    canvas.area(
        path("-0.15,-0.48 0.15,-0.48 0.17,-0.44 0.17,-0.31 -0.17,-0.31 -0.17,-0.44"),
        mix(light, main, 0.35),
        darker(main, 0.3),
    )
    canvas.line([(-0.17, -0.4), (0.17, -0.4)], main, 0.02)


def _spear(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.line([(0, 0.42), (0, -0.4)], darker(main, 0.45), 0.02)
    canvas.area([(0, -0.6), (0.045, -0.45), (0, -0.38), (-0.045, -0.45)], light)
    canvas.blob(path("0,-0.38 0.12,-0.34 0.2,-0.38 0.13,-0.3 0,-0.33"), main)


def _flower(canvas: Canvas, main: Colour, light: Colour) -> None:
    canvas.line([(0, 0.12), (0, -0.14)], (0.25, 0.5, 0.25), 0.016)
    for x, y in ring(0, -0.18, (0.055,), 6):
        canvas.oval(x, y, 0.035, colour=main)
    canvas.oval(0, -0.18, 0.03, colour=light)


TOOLS = {
    "sword": _sword,
    "staff": _staff,
    "bow": _bow,
    "lantern": _lantern,
    "shield": _shield,
    "book": _book,
    "wrench": _wrench,
    "hammer": _hammer,
    "spear": _spear,
    "flower": _flower,
}
