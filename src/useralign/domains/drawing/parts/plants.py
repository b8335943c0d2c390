"""Plants: trees of several kinds, flowers, bushes, grass."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import path, ring
from useralign.domains.drawing.colour import darker, lighter, mix

if TYPE_CHECKING:
    import numpy as np

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour

TREES = ("round", "pine", "palm", "bare", "cypress", "birch", "blossom")


def tree(
    canvas: Canvas,
    x: float,
    y: float,
    height: float,
    leaf: Colour,
    bark: Colour,
    rng: np.random.Generator,
    kind: str = "round",
) -> None:
    """Draw a tree with its foot at (x, y), one of `TREES`."""
    with canvas.placed(x, y, height):
        if kind == "pine":
            _pine(canvas, leaf, bark)
        elif kind == "palm":
            _palm(canvas, leaf, bark)
        elif kind == "bare":
            _branch(canvas, (0.0, 0.0), -90, 0.36, 0.07, bark, rng, 4)
        elif kind == "cypress":
            canvas.box(-0.03, -0.15, 0.03, 0, bark)
            canvas.blob(
                path("0,-1 0.11,-0.55 0.09,-0.1 -0.09,-0.1 -0.11,-0.55"),
                leaf,
                darker(leaf),
            )
        else:
            _crown(canvas, leaf, bark, rng, pale=kind == "birch", blossom=kind == "blossom")


def _pine(canvas: Canvas, leaf: Colour, bark: Colour) -> None:
    canvas.box(-0.035, -0.2, 0.035, 0, bark)
    for number, (top, low, half) in enumerate(
        ((-0.55, -0.14, 0.27), (-0.8, -0.4, 0.21), (-1.0, -0.64, 0.15))
    ):
        tint = mix(leaf, lighter(leaf, 0.2), number / 2)
        canvas.area(
            [
                (0, top),
                (half, low),
                (half * 0.4, low - 0.03),
                (0, low + 0.02),
                (-half * 0.4, low - 0.03),
                (-half, low),
            ],
            tint,
        )


def _palm(canvas: Canvas, leaf: Colour, bark: Colour) -> None:
    canvas.curve([(0, 0), (0.03, -0.4), (0.10, -0.8)], bark, 0.06)
    for angle in (-175, -145, -110, -60, -25, 5, 30):
        tip = (
            0.10 + 0.42 * math.cos(math.radians(angle)),
            -0.8 + 0.34 * math.sin(math.radians(angle)) + 0.10,
        )
        bend = ((0.10 + tip[0]) / 2, (tip[1] - 0.8) / 2 - 0.13)
        canvas.blob([(0.10, -0.8), bend, tip, (bend[0], bend[1] + 0.09)], leaf, darker(leaf, 0.2))
    canvas.oval(0.10, -0.77, 0.035, colour=darker(bark))


def _crown(
    canvas: Canvas,
    leaf: Colour,
    bark: Colour,
    rng: np.random.Generator,
    *,
    pale: bool,
    blossom: bool,
) -> None:
    trunk = lighter(bark, 0.75) if pale else bark
    canvas.area([(-0.045, 0), (-0.03, -0.5), (0.03, -0.5), (0.045, 0)], trunk)
    if pale:
        for level in (-0.1, -0.22, -0.36):
            canvas.line([(-0.03, level), (0.01, level)], bark, 0.02)
    for dx, dy, r in ((-0.2, -0.52, 0.19), (0.2, -0.55, 0.18), (0, -0.75, 0.24), (0.02, -0.5, 0.2)):
        wobble = rng.normal(0, 0.018, (9, 2))
        canvas.blob(ring(dx, dy, (r, r * 0.92), 9) + wobble, leaf, darker(leaf, 0.18))
    for dx, dy in rng.uniform(-1, 1, (26 if blossom else 7, 2)):
        dot = lighter(leaf, 0.45 if blossom else 0.22)
        canvas.oval(dx * 0.25, -0.62 + dy * 0.24, 0.032, colour=dot, edge=False)


def _branch(
    canvas: Canvas,
    foot: tuple[float, float],
    angle: float,
    length: float,
    width: float,
    bark: Colour,
    rng: np.random.Generator,
    left: int,
) -> None:
    turn = math.radians(angle)
    tip = (foot[0] + length * math.cos(turn), foot[1] + length * math.sin(turn))
    canvas.limb(foot, tip, (width, width * 0.6), bark)
    if left:
        for side in (-1, 1):
            bend = angle + side * float(rng.uniform(16, 40))
            _branch(
                canvas,
                tip,
                bend,
                length * float(rng.uniform(0.6, 0.8)),
                width * 0.6,
                bark,
                rng,
                left - 1,
            )


def flower(
    canvas: Canvas,
    x: float,
    y: float,
    size: float,
    petal: Colour,
    heart: Colour,
    stem: Colour,
    petals: int = 6,
) -> None:
    """Draw a flower whose stem stands at (x, y); three petals make a tulip."""
    canvas.line([(x, y), (x, y - size * 0.75)], stem, size * 0.06)
    canvas.blob(
        [
            (x, y - 0.1 * size),
            (x + 0.22 * size, y - 0.42 * size),
            (x + 0.03 * size, y - 0.3 * size),
        ],
        stem,
    )
    top = y - size * 0.8
    if petals == 3:
        s = size * 0.2
        canvas.blob(
            [
                (x - s, top - s),
                (x - 0.4 * s, top - 0.4 * s),
                (x, top - 1.3 * s),
                (x + 0.4 * s, top - 0.4 * s),
                (x + s, top - s),
                (x + 0.8 * s, top + 0.7 * s),
                (x - 0.8 * s, top + 0.7 * s),
            ],
            petal,
            darker(petal, 0.15),
        )
        return
    for px, py in ring(x, top, (size * 0.17,), petals):
        canvas.oval(px, py, size * 0.12, colour=petal)
    canvas.oval(x, top, size * 0.10, colour=heart)


def bush(
    canvas: Canvas, x: float, y: float, width: float, colour: Colour, rng: np.random.Generator
) -> None:
    """Draw a bush with its foot at (x, y)."""
    for dx, r in ((-0.6, 0.38), (0.55, 0.42), (0.0, 0.55)):
        wobble = rng.normal(0, 0.02 * width, (10, 2))
        canvas.blob(
            ring(x + dx * width, y - r * width * 0.6, (r * width,), 10) + wobble,
            colour,
            darker(colour, 0.22),
        )


def grass(
    canvas: Canvas, y: float, colour: Colour, rng: np.random.Generator, count: int = 40
) -> None:
    """Draw blades along a line at the foot of the picture."""
    for x, lean, height in rng.uniform(0, 1, (count, 3)):
        h = 0.03 + 0.06 * height
        canvas.area(
            [(x - 0.006, y), (x + (lean - 0.5) * 0.06, y - h), (x + 0.006, y)], colour, edge=False
        )


def potted(canvas: Canvas, x: float, y: float, size: float, leaf: Colour, pot: Colour) -> None:
    """Draw a plant in a pot that stands at (x, y)."""
    s = size
    for angle in (-150, -120, -90, -60, -30):
        t = math.radians(angle)
        tip = (x + 0.5 * s * math.cos(t), y - 0.4 * s + 0.62 * s * math.sin(t))
        side = (0.09 * s * math.sin(t), 0.09 * s * math.cos(t))
        mid = ((x + tip[0]) / 2, (y - 0.35 * s + tip[1]) / 2)
        canvas.blob(
            [
                (x, y - 0.3 * s),
                (mid[0] + side[0], mid[1] - side[1]),
                tip,
                (mid[0] - side[0], mid[1] + side[1]),
            ],
            leaf,
            lighter(leaf, 0.1),
        )
    canvas.area(
        path("-0.2,-0.38 0.2,-0.38 0.14,0 -0.14,0", x, y, s),
        pot,
        darker(pot),
    )
