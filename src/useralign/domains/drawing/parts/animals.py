"""Animals: small companions, each drawn around its feet."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import path, ring
from useralign.domains.drawing.colour import darker, lighter

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour


def cat(canvas: Canvas, x: float, y: float, size: float, coat: Colour, eye: Colour) -> None:
    """Draw a cat that sits at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.curve([(0.25, -0.08), (0.5, -0.12), (0.52, -0.4), (0.42, -0.5)], coat, 0.08)
        canvas.blob(
            path("0,-0.62 0.22,-0.4 0.32,-0.1 0.2,0 -0.2,0 -0.26,-0.2 -0.15,-0.5"),
            coat,
            darker(coat, 0.15),
        )
        _head(canvas, (0, -0.68), 0.2, coat, eye, ears="point")


def fox(canvas: Canvas, x: float, y: float, size: float, coat: Colour, tip: Colour) -> None:
    """Draw a fox that sits at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.blob(path("0.15,-0.05 0.5,-0.1 0.62,-0.45 0.42,-0.3 0.2,-0.2"), coat)
        canvas.blob([(0.53, -0.2), (0.62, -0.45), (0.48, -0.36)], tip)
        canvas.blob(path("0,-0.6 0.2,-0.35 0.24,0 -0.2,0 -0.2,-0.35"), coat, darker(coat, 0.15))
        canvas.blob([(0, -0.45), (0.09, -0.2), (0, -0.05), (-0.09, -0.2)], tip)
        canvas.area(
            path("-0.26,-0.98 -0.08,-0.85 0.08,-0.85 0.26,-0.98 0.24,-0.66 0,-0.45 -0.24,-0.66"),
            coat,
        )
        canvas.area([(-0.24, -0.66), (-0.08, -0.62), (0, -0.45)], tip)
        canvas.area([(0.24, -0.66), (0.08, -0.62), (0, -0.45)], tip)
        for dx in (-0.1, 0.1, 0):
            canvas.oval(dx, -0.7 if dx else -0.47, 0.028, colour=darker(coat, 0.85))


def owl(canvas: Canvas, x: float, y: float, size: float, coat: Colour, eye: Colour) -> None:
    """Draw an owl that sits at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.blob(
            path("-0.26,-0.9 0,-0.82 0.26,-0.9 0.34,-0.5 0.22,0 -0.22,0 -0.34,-0.5"),
            coat,
            darker(coat),
        )
        canvas.blob([(0, -0.5), (0.17, -0.3), (0, -0.03), (-0.17, -0.3)], lighter(coat, 0.4))
        for dx in (-0.13, 0.13):
            canvas.oval(dx, -0.66, 0.13, colour=lighter(coat, 0.6))
            canvas.oval(dx, -0.66, 0.085, colour=eye)
            canvas.oval(dx, -0.66, 0.045, colour=darker(coat, 0.85))
        canvas.area([(-0.05, -0.58), (0.05, -0.58), (0, -0.46)], eye)


def bird(canvas: Canvas, x: float, y: float, size: float, coat: Colour, beak: Colour) -> None:
    """Draw a small bird that sits at (x, y), looking left."""
    with canvas.placed(x, y, size):
        canvas.area([(0.2, -0.25), (0.62, -0.2), (0.6, -0.32), (0.2, -0.4)], darker(coat, 0.25))
        canvas.blob(
            path("-0.3,-0.6 -0.1,-0.72 0.1,-0.5 0.32,-0.28 0.1,-0.06 -0.2,-0.14 -0.34,-0.4"),
            coat,
            lighter(coat, 0.3),
        )
        canvas.blob([(-0.05, -0.42), (0.3, -0.3), (0.08, -0.16)], darker(coat, 0.25))
        canvas.area([(-0.36, -0.56), (-0.52, -0.5), (-0.34, -0.46)], beak)
        canvas.oval(-0.2, -0.56, 0.035, colour=darker(coat, 0.85))
        for dx in (-0.08, 0.06):
            canvas.line([(dx, -0.08), (dx, 0.04)], darker(beak), 0.03)


def dragonling(canvas: Canvas, x: float, y: float, size: float, coat: Colour, wing: Colour) -> None:
    """Draw a small dragon that sits at (x, y)."""
    with canvas.placed(x, y, size):
        canvas.blob(path("-0.05,-0.5 -0.55,-0.95 -0.5,-0.55 -0.6,-0.4 -0.3,-0.35"), wing)
        canvas.curve([(0.15, -0.06), (0.5, -0.02), (0.62, -0.25), (0.5, -0.35)], coat, 0.09)
        canvas.blob(
            path("0,-0.62 0.2,-0.4 0.26,-0.06 -0.2,0 -0.22,-0.35"),
            coat,
            darker(coat, 0.2),
        )
        canvas.blob([(0.02, -0.45), (0.14, -0.2), (0.0, -0.05), (-0.1, -0.2)], lighter(coat, 0.45))
        _head(canvas, (0.02, -0.72), 0.2, coat, (1, 0.95, 0.6), ears="horn")


def rabbit(canvas: Canvas, x: float, y: float, size: float, coat: Colour) -> None:
    """Draw a rabbit that sits at (x, y)."""
    with canvas.placed(x, y, size):
        for dx in (-0.1, 0.1):
            canvas.blob([(dx, -0.7), (dx * 2.2, -0.95), (dx * 1.7, -1.2), (dx * 0.7, -0.95)], coat)
        canvas.oval(0, -0.25, 0.27, 0.27, coat, darker(coat, 0.15))
        canvas.oval(0, -0.62, 0.2, 0.18, coat)
        for dx in (-0.08, 0.08):
            canvas.oval(dx, -0.64, 0.03, colour=darker(coat, 0.85))
        canvas.oval(0, -0.56, 0.025, colour=(0.9, 0.5, 0.5))


def butterfly(canvas: Canvas, x: float, y: float, size: float, wing: Colour, dark: Colour) -> None:
    """Draw a butterfly around (x, y)."""
    for side in (-1, 1):
        canvas.blob(
            [
                (x, y),
                (x + side * 0.5 * size, y - 0.5 * size),
                (x + side * 0.6 * size, y - 0.1 * size),
            ],
            wing,
        )
        canvas.blob(
            [
                (x, y),
                (x + side * 0.4 * size, y + 0.1 * size),
                (x + side * 0.3 * size, y + 0.4 * size),
            ],
            darker(wing),
        )
    canvas.line([(x, y - 0.25 * size), (x, y + 0.3 * size)], dark, 0.08 * size)


def _head(
    canvas: Canvas, at: tuple[float, float], r: float, coat: Colour, eye: Colour, ears: str
) -> None:
    x, y = at
    for side in (-1, 1):
        if ears == "point":
            canvas.area(
                [
                    (x + side * r * 0.95, y - 0.2 * r),
                    (x + side * r * 0.85, y - 1.35 * r),
                    (x + side * 0.2 * r, y - 0.8 * r),
                ],
                coat,
            )
        else:
            canvas.area(
                [
                    (x + side * r * 0.7, y - 0.6 * r),
                    (x + side * r * 1.0, y - 1.4 * r),
                    (x + side * 0.25 * r, y - 0.85 * r),
                ],
                lighter(coat, 0.5),
            )
    canvas.blob(ring(x, y, (r,), 10), coat)
    for side in (-1, 1):
        canvas.oval(x + side * 0.42 * r, y - 0.05 * r, 0.22 * r, colour=eye)
        canvas.oval(x + side * 0.42 * r, y - 0.05 * r, 0.11 * r, colour=darker(coat, 0.9))
    canvas.oval(x, y + 0.4 * r, 0.1 * r, colour=darker(coat, 0.7))
