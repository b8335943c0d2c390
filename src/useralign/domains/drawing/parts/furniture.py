"""What is in a room: seats, shelves, lamps, a fire."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import (
    animals,
    plants,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.scenes.stage import Stage


def armchair(stage: Stage, x: float, y: float, s: float, colour: Colour) -> None:
    """Draw an armchair that stands at (x, y)."""
    c = stage.canvas
    c.sheet()
    for dx in (-0.36, 0.36):
        c.line([(x + dx * s, y - 0.1 * s), (x + dx * s, y)], darker(colour, 0.6), 0.05 * s)
    c.blob(
        path("-0.42,-0.2 -0.44,-0.85 0,-1.05 0.44,-0.85 0.42,-0.2", x, y, s),
        colour,
        darker(colour, 0.2),
    )
    for side in (-1, 1):
        c.blob(
            [
                (x + side * 0.32 * s, y - 0.55 * s),
                (x + side * 0.58 * s, y - 0.58 * s),
                (x + side * 0.56 * s, y - 0.06 * s),
                (x + side * 0.32 * s, y - 0.08 * s),
            ],
            lighter(colour, 0.12),
            darker(colour, 0.15),
        )
    c.blob(
        path("-0.34,-0.36 0.34,-0.36 0.36,-0.16 -0.36,-0.16", x, y, s),
        lighter(colour, 0.22),
    )
    c.blob(
        path("-0.18,-0.66 0.14,-0.68 0.17,-0.38 -0.15,-0.36", x, y, s),
        stage.palette.second,
    )


def sofa(stage: Stage, x: float, y: float, s: float, colour: Colour) -> None:
    """Draw a sofa with cushions that stands at (x, y)."""
    c, p = stage.canvas, stage.palette
    c.sheet()
    c.blob(
        path("-0.9,-0.75 0,-0.82 0.9,-0.75 0.92,-0.1 -0.92,-0.1", x, y, s),
        colour,
        darker(colour, 0.2),
    )
    for dx in (-0.43, 0.43):
        c.blob(
            [
                (x + (dx - 0.4) * s, y - 0.38 * s),
                (x + (dx + 0.4) * s, y - 0.38 * s),
                (x + (dx + 0.42) * s, y - 0.1 * s),
                (x + (dx - 0.42) * s, y - 0.1 * s),
            ],
            lighter(colour, 0.2),
        )
    for side in (-1, 1):
        c.blob(
            [
                (x + side * 0.85 * s, y - 0.55 * s),
                (x + side * 1.1 * s, y - 0.55 * s),
                (x + side * 1.08 * s, y),
                (x + side * 0.84 * s, y),
            ],
            lighter(colour, 0.1),
            darker(colour, 0.15),
        )
    for dx, tint in ((-0.55, p.second), (0.5, p.accent), (0.2, p.light)):
        with c.placed(x + dx * s, y - 0.5 * s, s, 20 * dx):
            c.blob(
                [(-0.17, -0.16), (0.17, -0.16), (0.19, 0.16), (-0.19, 0.16)],
                tint,
                darker(tint, 0.15),
            )


def bookshelf(
    stage: Stage, left: float, top: float, right: float, bottom: float, rows: int
) -> None:
    """Draw shelves full of books, with gaps and a few things between."""
    c, p = stage.canvas, stage.palette
    wood = darker(mix(p.ground, p.near, 0.55), 0.15)
    c.box(left - 0.012, top - 0.015, right + 0.012, bottom, wood)
    height = (bottom - top) / rows
    for row in range(rows):
        low = top + (row + 1) * height - 0.010
        c.box(left, low - height + 0.016, right, low, darker(wood, 0.45))
        x = left + 0.004
        while x < right - 0.012:
            w, h = stage.pick(0.010, 0.026), height * stage.pick(0.55, 0.84)
            if stage.rng.random() < 0.86:
                tint = (p.main, p.second, p.accent, p.light, p.far, p.mid)[
                    int(stage.rng.integers(6))
                ]
                c.box(x, low - h, min(x + w, right), low, tint, darker(tint, 0.12), edge=w > 0.018)
            x += w + 0.003


def lamp(stage: Stage, x: float, y: float, height: float) -> None:
    """Draw a standing lamp that is lit, at (x, y)."""
    c, p = stage.canvas, stage.palette
    warm = mix(p.second, (1, 0.85, 0.5), 0.5)
    c.glow(x, y - height, height * 0.75, lighter(warm, 0.3))
    c.line([(x, y), (x, y - height)], darker(p.near, 0.4), 0.010)
    c.oval(x, y, 0.055, 0.014, darker(p.near, 0.4))
    c.area(
        [
            (x - 0.045, y - height - 0.05),
            (x + 0.045, y - height - 0.05),
            (x + 0.08, y - height + 0.06),
            (x - 0.08, y - height + 0.06),
        ],
        warm,
        lighter(warm, 0.4),
    )


def fireplace(stage: Stage, x: float, y: float, s: float) -> None:
    """Draw a fireplace with a fire that stands at (x, y)."""
    c, p = stage.canvas, stage.palette
    stone = mix(p.light, p.far, 0.5)
    c.box(x - 0.55 * s, y - 1.0 * s, x + 0.55 * s, y, stone, darker(stone, 0.15))
    c.box(x - 0.65 * s, y - 1.1 * s, x + 0.65 * s, y - 0.98 * s, darker(p.near, 0.2))
    c.area(
        [
            *arc(x, y - 0.45 * s, 0.35 * s, 0.3 * s, 180, 360, 12),
            (x + 0.35 * s, y),
            (x - 0.35 * s, y),
        ],
        (0.09, 0.05, 0.05),
    )
    c.glow(x, y - 0.2 * s, 0.9 * s, (1.0, 0.6, 0.2))
    for scale, tint in (
        (1.0, (0.92, 0.35, 0.1)),
        (0.65, (1.0, 0.65, 0.15)),
        (0.35, (1.0, 0.92, 0.55)),
    ):
        f = s * scale
        c.blob(
            [
                (x - 0.22 * f, y - 0.06 * s),
                (x - 0.14 * f, y - 0.35 * f),
                (x - 0.02 * f, y - 0.24 * f),
                (x + 0.05 * f, y - 0.6 * f),
                (x + 0.2 * f, y - 0.2 * f),
                (x + 0.18 * f, y - 0.04 * s),
            ],
            tint,
        )
    c.line([(x - 0.25 * s, y - 0.03 * s), (x + 0.25 * s, y - 0.05 * s)], (0.3, 0.17, 0.1), 0.08 * s)


def _rug(stage: Stage, x: float, y: float, w: float) -> None:
    c, p = stage.canvas, stage.palette
    for share, tint in ((1.0, p.main), (0.82, p.second), (0.64, p.main), (0.35, p.accent)):
        c.oval(x, y, w * share, w * 0.26 * share, tint)


def things(stage: Stage, x: float) -> None:
    """Draw what was asked for beside the seat at x."""
    other = 1 - x
    for name, draw in _THINGS.items():
        if stage.has(name):
            draw(stage, other)


def seat(stage: Stage, x: float) -> None:
    """Draw the seat at x with its rug, lamp and table."""
    c, p = stage.canvas, stage.palette
    c.sheet()
    if stage.has("rug"):
        _rug(stage, 0.5, 0.88, 0.36)
    if stage.has("lamp"):
        lamp(stage, x + (0.23 if x < 0.6 else -0.25), 0.82, 0.4)
    if stage.has("sofa"):
        sofa(stage, 0.5, 0.88, 0.28, p.main)
    elif stage.has("bed"):
        sofa(stage, 0.5, 0.95, 0.36, mix(p.light, p.main, 0.35))
    elif stage.has("hammock"):
        c.blob(
            path("0.1,0.35 0.3,0.68 0.5,0.75 0.72,0.66 0.9,0.35 0.7,0.6 0.5,0.64 0.3,0.6"),
            p.main,
            p.second,
        )
    else:
        armchair(stage, x, 0.88, 0.32, p.main)
    c.sheet()
    if stage.has("tea", "candles", "dog-eared books"):
        _side_table(stage, x + (0.28 if x < 0.5 else -0.28))
    if stage.has("cat"):
        animals.cat(c, 1 - x, 0.93, 0.17, mix(p.dark, p.accent, 0.25), p.second)


def _side_table(stage: Stage, x: float) -> None:
    c, p = stage.canvas, stage.palette
    c.line([(x, 0.92), (x, 0.75)], darker(p.ground, 0.5), 0.02)
    c.oval(x, 0.75, 0.10, 0.026, darker(p.ground, 0.3))
    if stage.has("dog-eared books"):
        for k, tint in enumerate((p.accent, p.second, p.main)):
            c.box(
                x - 0.07 + 0.008 * k,
                0.715 - 0.026 * k,
                x + 0.05 + 0.006 * k,
                0.741 - 0.026 * k,
                tint,
            )
    if stage.has("tea"):
        c.box(x + 0.02, 0.69, x + 0.08, 0.742, p.light, darker(p.light, 0.1))
        c.curve([(x + 0.05, 0.68), (x + 0.06, 0.65), (x + 0.04, 0.62)], lighter(p.haze, 0.5), 0.006)
    if stage.has("candles"):
        for dx, h in ((-0.05, 0.09), (0.0, 0.06), (0.05, 0.11)):
            c.glow(x + dx, 0.735 - h, 0.09, (1.0, 0.8, 0.4))
            c.box(x + dx - 0.011, 0.742 - h, x + dx + 0.011, 0.742, p.light)
            c.blob(
                [
                    (x + dx, 0.742 - h),
                    (x + dx + 0.008, 0.725 - h),
                    (x + dx, 0.705 - h),
                    (x + dx - 0.008, 0.725 - h),
                ],
                (1.0, 0.7, 0.25),
            )


def overhead(stage: Stage) -> None:
    """Draw what hangs: lamps, lights, paintings."""
    for name, draw in _OVERHEAD.items():
        if stage.has(name):
            draw(stage)


def _fireplace(stage: Stage, other: float) -> None:
    fireplace(stage, other, 0.69, 0.28)


def _desk(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    c.box(other - 0.2, 0.6, other + 0.2, 0.625, darker(p.ground, 0.35))
    for dx in (-0.18, 0.18):
        c.line([(other + dx, 0.62), (other + dx, 0.8)], darker(p.ground, 0.5), 0.016)
    c.box(other - 0.12, 0.55, other - 0.02, 0.6, p.accent)
    c.box(other - 0.1, 0.525, other - 0.02, 0.55, p.main)


def _piano(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    c.box(other - 0.2, 0.42, other + 0.2, 0.78, darker(p.dark, 0.1))
    c.box(other - 0.22, 0.57, other + 0.22, 0.63, p.light)
    for k in range(11):
        c.line([(other - 0.2 + 0.04 * k, 0.57), (other - 0.2 + 0.04 * k, 0.605)], p.dark, 0.012)


def _globe(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    c.line([(other, 0.82), (other, 0.68)], darker(p.ground, 0.5), 0.016)
    c.oval(other, 0.62, 0.075, colour=p.accent, to=darker(p.accent))
    c.blob(
        [
            (other - 0.04, 0.59),
            (other + 0.02, 0.58),
            (other + 0.03, 0.64),
            (other - 0.03, 0.65),
        ],
        p.mid,
    )


def _plants(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    for px, size in ((0.08, 0.26), (0.93, 0.3), (other, 0.2)):
        plants.potted(
            c, px, 0.9 if px != other else 0.74, size, mix(p.mid, (0.2, 0.5, 0.25), 0.4), p.main
        )


def _ladder(stage: Stage, _other: float) -> None:
    c, p = stage.canvas, stage.palette
    for dx in (0, 0.06):
        c.line([(0.2 + dx, 0.82), (0.3 + dx, 0.16)], darker(p.ground, 0.3), 0.012)
    for k in range(7):
        c.line(
            [(0.21 + 0.014 * k, 0.78 - 0.09 * k), (0.27 + 0.014 * k, 0.78 - 0.09 * k)],
            darker(p.ground, 0.3),
            0.01,
        )


_THINGS: dict[str, Callable[[Stage, float], None]] = {
    "fireplace": _fireplace,
    "desk": _desk,
    "piano": _piano,
    "globe": _globe,
    "plants": _plants,
    "ladder": _ladder,
}


def _pendant_lamps(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    warm = mix(p.second, (1, 0.9, 0.6), 0.5)
    for x, low in ((0.3, 0.24), (0.52, 0.17), (0.72, 0.27)):
        c.glow(x, low + 0.02, 0.17, warm)
        c.line([(x, -0.02), (x, low)], darker(p.near, 0.5), 0.005)
        c.area([*arc(x, low + 0.035, 0.06, 0.055, 180, 360, 12)], p.accent)
        c.oval(x, low + 0.037, 0.02, colour=warm)


def _string_lights(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    warm = mix(p.second, (1, 0.9, 0.6), 0.5)
    x = np.linspace(-0.02, 1.02, 16)
    y = 0.09 + 0.05 * np.abs(np.sin(x * 9))
    c.curve(np.column_stack([x, y]), darker(p.near, 0.3), 0.004)
    for number, (lx, ly) in enumerate(zip(x, y, strict=True)):
        tint = (warm, p.main, p.accent)[number % 3]
        c.glow(float(lx), float(ly) + 0.012, 0.05, lighter(tint, 0.4))
        c.oval(float(lx), float(ly) + 0.012, 0.010, colour=lighter(tint, 0.4))


def _paintings(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for k, (x, y, w, h) in enumerate(
        ((0.3, 0.24, 0.09, 0.12), (0.69, 0.2, 0.11, 0.08), (0.69, 0.33, 0.07, 0.09))
    ):
        tint = (p.accent, p.second, p.main)[k]
        c.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2, darker(p.ground, 0.4))
        c.box(x - w * 0.4, y - h * 0.4, x + w * 0.4, y + h * 0.4, lighter(tint, 0.35), tint)


_OVERHEAD: dict[str, Callable[[Stage], None]] = {
    "pendant lamps": _pendant_lamps,
    "string lights": _string_lights,
    "paintings": _paintings,
}
