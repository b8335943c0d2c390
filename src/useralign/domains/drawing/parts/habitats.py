"""Where monsters live: bedrooms, woods, the sea, space, caves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import path
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import (
    plants,
    sky,
    terrain,
)

if TYPE_CHECKING:
    from useralign.domains.drawing.scenes.stage import Stage


def ground(stage: Stage) -> None:
    """Draw the habitat that was asked for, else a hill under the sky."""
    for name, draw in GROUNDS.items():
        if stage.has(name):
            draw(stage)
            return
    sky.sky(stage, 0.85)
    terrain.land(
        stage, terrain.swell(stage, 0.82, 0.03, 0.6), stage.palette.mid, stage.palette.near
    )


def _bedroom(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    wall = mix(p.haze, p.far, 0.4)
    c.box(-0.1, -0.1, 1.1, 0.8, wall, edge=False)
    for k in range(9):
        c.box(0.125 * k, -0.1, 0.125 * k + 0.05, 0.8, mix(wall, p.light, 0.35), edge=False)
    c.box(-0.1, 0.78, 1.1, 1.1, p.ground, darker(p.ground, 0.2))
    c.box(0.08, 0.14, 0.3, 0.4, p.light)
    c.box(0.095, 0.155, 0.285, 0.385, darker(p.sky, 0.35), p.sky)
    c.oval(0.23, 0.22, 0.03, colour=p.light)
    c.box(0.66, 0.6, 1.1, 0.86, mix(p.main, p.light, 0.4), p.main)
    c.box(0.62, 0.46, 0.66, 0.9, darker(p.ground, 0.4))


def _woods(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.8)
    for x in stage.rng.uniform(0, 1, 10):
        plants.tree(
            c,
            float(x),
            0.86,
            stage.pick(0.4, 0.75),
            mix(p.far, p.mid, stage.pick(0, 1)),
            darker(p.mid, 0.5),
            stage.rng,
            "pine" if stage.coin() else "round",
        )
    terrain.land(stage, terrain.swell(stage, 0.84, 0.015, 0.6), p.near, darker(p.near, 0.2))


def _underwater(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, lighter(p.sky, 0.15), darker(p.near, 0.1), edge=False)
    for x in (0.2, 0.5, 0.8):
        c.area(
            [(x - 0.04, -0.1), (x + 0.06, -0.1), (x + 0.25, 1.1), (x - 0.02, 1.1)],
            mix(p.sky, p.light, 0.25),
            mix(p.near, p.sky, 0.3),
            edge=False,
        )
    for x in stage.rng.uniform(0, 1, 9):
        sway = stage.pick(-0.05, 0.05)
        c.curve(
            [(x, 1.02), (x + sway, 0.9), (x - sway, 0.78), (x + sway, stage.pick(0.5, 0.7))],
            mix(p.mid, p.accent, 0.3),
            0.022,
        )
    for x, y, r in stage.rng.uniform(0, 1, (16, 3)):
        c.oval(x, y, 0.008 + 0.016 * r, colour=mix(p.sky, p.light, 0.6))
    c.blob(
        path("-0.1,0.93 0.3,0.88 0.7,0.92 1.1,0.88 1.1,1.1 -0.1,1.1"),
        mix(p.ground, p.light, 0.2),
    )


def _space(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, darker(p.sky, 0.6), darker(p.far, 0.55), edge=False)
    sky.stars(stage, 1.0, 70)
    sky.planet(stage)
    c.sheet()
    c.oval(0.5, 1.35, 0.75, 0.55, mix(p.ground, p.far, 0.4))
    for x, y in ((0.2, 0.93), (0.75, 0.9), (0.55, 0.96)):
        c.oval(x, y, 0.06, 0.018, darker(p.far, 0.2))


def _plain(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, lighter(p.haze, 0.1), edge=False)
    c.oval(stage.place[0], 0.52, 0.42, colour=mix(p.haze, p.second, 0.35))
    c.blob([(0.1, 0.92), (0.5, 0.86), (0.9, 0.92), (0.5, 0.97)], mix(p.ground, p.far, 0.3))


def _cave(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, darker(p.near, 0.35), edge=False)
    c.glow(0.5, 0.5, 0.6, mix(p.second, p.far, 0.35))
    for k in range(9):
        x = 0.12 * k
        c.area(
            [
                (x - 0.07, -0.1),
                (x + 0.07, -0.1),
                (x + stage.pick(-0.02, 0.02), stage.pick(0.1, 0.3)),
            ],
            darker(p.near, 0.55),
        )
    for x in (0.06, 0.16, 0.86, 0.95):
        c.area(
            [(x - 0.05, 1.1), (x, stage.pick(0.66, 0.85)), (x + 0.05, 1.1)],
            mix(p.accent, p.light, 0.3),
            p.accent,
        )
    c.blob(path("-0.1,0.92 0.4,0.88 1.1,0.93 1.1,1.1 -0.1,1.1"), darker(p.near, 0.5))


GROUNDS = {
    "bedroom": _bedroom,
    "woods": _woods,
    "underwater": _underwater,
    "space": _space,
    "plain": _plain,
    "cave": _cave,
}
