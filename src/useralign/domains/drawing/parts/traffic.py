"""What moves in a city, and what it moves on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import path
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import (
    buildings,
    plants,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.scenes.stage import Stage


def spire(stage: Stage) -> None:
    """Draw a tall spire with discs."""
    c, p, x = stage.canvas, stage.palette, stage.place[0]
    c.blob(
        path("0,0.06 0.015,0.3 0.03,0.6 0.11,0.95 -0.11,0.95 -0.03,0.6 -0.015,0.3", x),
        lighter(p.main, 0.2),
        darker(p.main, 0.3),
    )
    for y, r in ((0.36, 0.07), (0.52, 0.1)):
        c.oval(x, y, r, r * 0.28, mix(p.light, p.main, 0.3))
    c.glow(x, 0.06, 0.14, lighter(p.second, 0.3))


def monorail(stage: Stage) -> None:
    """Draw a train on a high track."""
    c, p = stage.canvas, stage.palette
    x = np.linspace(-0.1, 1.1, 12)
    y = 0.76 + 0.05 * np.sin(x * 4 + 1)
    for px, py in list(zip(x, y, strict=True))[1::3]:
        c.line([(px, py), (px, 1.1)], darker(p.far, 0.2), 0.02)
    c.curve(np.column_stack([x, y]), lighter(p.far, 0.2), 0.022)
    c.curve(np.column_stack([x[3:7], y[3:7] - 0.024]), p.main, 0.042)
    c.curve(np.column_stack([x[3:7], y[3:7] - 0.03]), lighter(p.second, 0.5), 0.012)


def moving(stage: Stage) -> None:
    """Draw the elements of a city, those far away first."""
    for name, draw in _MOVING.items():
        if stage.has(name):
            draw(stage)


def _flying_cars(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for k in range(8):
        x, y, s = stage.pick(0.05, 0.95), stage.pick(0.18, 0.72), stage.pick(0.6, 1.3)
        tint = (p.main, p.second, p.accent)[k % 3]
        c.line([(x - 0.09 * s, y), (x, y)], lighter(tint, 0.5), 0.004)
        c.oval(x, y, 0.03 * s, 0.011 * s, tint)
        c.oval(x + 0.004 * s, y - 0.008 * s, 0.014 * s, 0.008 * s, p.light)


def _airships(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for x, y, s in ((0.26, 0.2, 1.0), (0.72, 0.3, 0.65)):
        c.blob(
            path("-0.15,0 0,-0.055 0.14,0 0,0.055", x, y, s),
            p.main,
            darker(p.main, 0.3),
        )
        c.area(
            [(x - 0.13 * s, y), (x - 0.17 * s, y - 0.04 * s), (x - 0.17 * s, y + 0.04 * s)],
            p.second,
        )
        c.box(x - 0.04 * s, y + 0.055 * s, x + 0.04 * s, y + 0.08 * s, darker(p.main, 0.4))


def _wind_turbines(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for x in (0.12, 0.86):
        c.line([(x, 0.95), (x, 0.5)], p.light, 0.012)
        for turn in (10, 130, 250):
            t = np.radians(turn)
            c.limb(
                (x, 0.5),
                (x + 0.12 * float(np.cos(t)), 0.5 + 0.12 * float(np.sin(t))),
                (0.018, 0.006),
                p.light,
            )


def _signs(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for k in range(7):
        x, y = stage.pick(0.05, 0.95), stage.pick(0.4, 0.8)
        tint = (p.main, p.second, p.accent)[k % 3]
        c.glow(x, y, 0.1, lighter(tint, 0.2))
        c.box(x - 0.018, y - 0.05, x + 0.018, y + 0.05, lighter(tint, 0.25))


def _people(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for x in stage.rng.uniform(0.03, 0.97, 12):
        y = stage.pick(0.95, 1.0)
        c.blob(
            path("-0.014,0 -0.01,-0.045 0.01,-0.045 0.014,0", x, y),
            p.dark,
        )
        c.oval(float(x), y - 0.056, 0.01, colour=p.dark)


def _gardens(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for x in stage.rng.uniform(0, 1, 8):
        plants.tree(
            c,
            float(x),
            1.0,
            stage.pick(0.1, 0.2),
            mix(p.near, (0.25, 0.55, 0.3), 0.45),
            darker(p.near, 0.5),
            stage.rng,
        )


def _gears(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    for x, y, r in ((0.1, 0.9, 0.12), (0.24, 0.98, 0.09), (0.92, 0.92, 0.14)):
        buildings.gear(c, x, y, r, mix(p.second, p.dark, 0.3), p.near)


_MOVING: dict[str, Callable[[Stage], None]] = {
    "flying cars": _flying_cars,
    "airships": _airships,
    "wind turbines": _wind_turbines,
    "signs": _signs,
    "people": _people,
    "gardens": _gardens,
    "gears": _gears,
}
