"""What stands in a garden: arches, benches, fountains, pots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import (
    animals,
    plants,
    sky,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.scenes.stage import Stage


def leaf(stage: Stage) -> Colour:
    """Return a green of this palette, by chance."""
    p = stage.palette
    return mix(mix(p.mid, p.near, stage.pick(0, 0.7)), (0.3, 0.55, 0.3), 0.12)


def bloom(stage: Stage) -> Colour:
    """Return the colour of a flower, by chance."""
    p = stage.palette
    return (p.main, p.second, p.accent, p.light)[int(stage.rng.integers(4))]


def bridge(stage: Stage) -> None:
    """Draw an arched bridge with a rail."""
    c, p = stage.canvas, stage.palette
    wood = mix(p.main, p.near, 0.2)
    for lift, width in ((0.0, 0.035), (-0.08, 0.014)):
        c.curve(
            [
                (-0.05, 0.68 + lift),
                (0.25, 0.58 + lift),
                (0.5, 0.55 + lift),
                (0.75, 0.58 + lift),
                (1.05, 0.68 + lift),
            ],
            wood,
            width,
        )
    for x in np.linspace(0.04, 0.96, 11):
        y = 0.55 + 0.5 * (float(x) - 0.5) ** 2
        c.line([(x, y), (x, y - 0.085)], darker(wood, 0.15), 0.01)


def extras(stage: Stage, *, over: bool = True) -> None:
    """Draw the elements of a garden; `over` says whether a bridge may be among them."""
    c = stage.canvas
    x = stage.place[0]
    other = 0.22 if x >= 0.5 else 0.78
    c.sheet()
    if over and stage.has("bridge"):
        with c.placed(0.1, 0.3, 0.8):
            bridge(stage)
    for name, draw in _LARGE.items():
        if stage.has(name):
            draw(stage, x, other)
    _small(stage, other)
    sky.weather(stage)


def _small(stage: Stage, other: float) -> None:
    for name, draw in _SMALL.items():
        if stage.has(name):
            draw(stage, other)


def _fountain(stage: Stage, x: float, y: float) -> None:
    c, p = stage.canvas, stage.palette
    stone = mix(p.light, p.far, 0.4)
    c.oval(x, y, 0.2, 0.055, stone)
    c.oval(x, y - 0.008, 0.175, 0.042, mix(p.sky, p.light, 0.3))
    c.box(x - 0.025, y - 0.2, x + 0.025, y, stone)
    c.oval(x, y - 0.2, 0.09, 0.026, stone)
    for side in (-1, 1):
        for reach in (0.05, 0.1):
            c.curve(
                [
                    (x, y - 0.22),
                    (x + side * reach * 0.6, y - 0.31),
                    (x + side * reach * 1.2, y - 0.1),
                ],
                lighter(p.sky, 0.6),
                0.008,
            )


def _lanterns(stage: Stage, _other: float) -> None:
    c, p = stage.canvas, stage.palette
    for lx in (0.14, 0.38, 0.64, 0.88):
        y = stage.pick(0.18, 0.32)
        c.line([(lx, -0.05), (lx, y)], p.dark, 0.003)
        c.glow(lx, y + 0.03, 0.13, lighter(p.second, 0.3))
        c.oval(lx, y + 0.03, 0.035, 0.04, mix(p.main, p.second, 0.5))


def _scarecrow(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    c.line([(other, 0.95), (other, 0.55)], (0.45, 0.3, 0.2), 0.016)
    c.line([(other - 0.13, 0.66), (other + 0.13, 0.66)], p.main, 0.04)
    c.oval(other, 0.57, 0.045, colour=mix(p.second, p.light, 0.4))
    c.area([(other - 0.07, 0.54), (other + 0.07, 0.54), (other, 0.44)], p.near)


def _cat(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    animals.cat(c, other, 0.96, 0.17, mix(p.dark, p.main, 0.2), p.second)


def _rabbit(stage: Stage, other: float) -> None:
    c, p = stage.canvas, stage.palette
    animals.rabbit(c, other, 0.96, 0.15, mix(p.light, p.ground, 0.35))


def _butterflies(stage: Stage, _other: float) -> None:
    c, p = stage.canvas, stage.palette
    for bx, by, s in stage.rng.uniform(0.1, 0.9, (6, 3)):
        animals.butterfly(c, bx, by * 0.7, 0.04 + 0.03 * s, bloom(stage), p.dark)


def _pots(stage: Stage, _other: float) -> None:
    c, p = stage.canvas, stage.palette
    for px in (0.07, 0.93):
        plants.potted(c, px, 0.98, 0.3, leaf(stage), p.main)


_SMALL: dict[str, Callable[[Stage, float], None]] = {
    "lanterns": _lanterns,
    "scarecrow": _scarecrow,
    "cat": _cat,
    "rabbit": _rabbit,
    "butterflies": _butterflies,
    "pots": _pots,
}


def _pond(stage: Stage, _x: float, other: float) -> None:
    c, p = stage.canvas, stage.palette
    c.blob(
        [
            (other - 0.2, 0.86),
            (other, 0.8),
            (other + 0.2, 0.85),
            (other + 0.15, 0.94),
            (other - 0.12, 0.95),
        ],
        mix(p.sky, p.light, 0.2),
        mix(p.sky, p.mid, 0.4),
    )


def _fountain_of(stage: Stage, x: float, _other: float) -> None:
    _fountain(stage, x, 0.86)


def _gate(stage: Stage, x: float, _other: float) -> None:
    c, p = stage.canvas, stage.palette
    for side in (-1, 1):
        c.box(x + side * 0.2 - 0.025, 0.45, x + side * 0.2 + 0.025, 0.95, mix(p.light, p.far, 0.4))
    c.area(
        [*arc(x, 0.47, 0.24, 0.2, 180, 360, 18), *arc(x, 0.47, 0.18, 0.14, 360, 180, 18)],
        p.near,
    )
    for px, py in arc(x, 0.47, 0.21, 0.17, 180, 360, 10):
        c.oval(px, py, 0.025, colour=bloom(stage))


def _statue(stage: Stage, _x: float, other: float) -> None:
    c, p = stage.canvas, stage.palette
    c.box(other - 0.06, 0.78, other + 0.06, 0.9, mix(p.light, p.far, 0.4))
    c.blob(
        [
            (other - 0.05, 0.78),
            (other - 0.04, 0.62),
            (other, 0.58),
            (other + 0.04, 0.62),
            (other + 0.05, 0.78),
        ],
        lighter(p.far, 0.5),
    )
    c.oval(other, 0.55, 0.03, 0.036, lighter(p.far, 0.5))


def _bench(stage: Stage, _x: float, other: float) -> None:
    c, p = stage.canvas, stage.palette
    wood = mix(p.main, p.ground, 0.5)
    for y in (0.74, 0.78, 0.84):
        c.box(other - 0.14, y, other + 0.14, y + 0.022, wood)
    for dx in (-0.12, 0.12):
        c.line([(other + dx, 0.74), (other + dx, 0.93)], darker(wood, 0.4), 0.014)


_LARGE: dict[str, Callable[[Stage, float, float], None]] = {
    "pond": _pond,
    "fountain": _fountain_of,
    "gate": _gate,
    "statue": _statue,
    "bench": _bench,
}
