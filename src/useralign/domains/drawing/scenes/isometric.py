"""Isometric views: boxes on a diamond floor, the far ones first."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import path, ring
from useralign.domains.drawing.colour import Colour, darker, lighter, mix
from useralign.domains.drawing.parts import plants

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas, Point
    from useralign.domains.drawing.scenes.stage import Stage


def at(x: float, y: float, z: float = 0.0) -> Point:
    """Return where a place on the floor, x and y in [0, 1], and a height are in the picture."""
    return (0.5 + (x - y) * 0.44, 0.46 + (x + y) * 0.245 - z)


def block(
    canvas: Canvas,
    x: float,
    y: float,
    size: tuple[float, float, float],
    colour: Colour,
    z: float = 0.0,
) -> None:
    """Draw a box whose far corner is at (x, y, z), with its size along x, y and up."""
    w, d, h = size
    a, b, c, e = at(x, y, z + h), at(x + w, y, z + h), at(x + w, y + d, z + h), at(x, y + d, z + h)
    canvas.area([e, c, at(x + w, y + d, z), at(x, y + d, z)], darker(colour, 0.15))
    canvas.area([c, b, at(x + w, y, z), at(x + w, y + d, z)], darker(colour, 0.35))
    canvas.area([a, b, c, e], lighter(colour, 0.18))


def ground(stage: Stage, colour: Colour, below: Colour) -> None:
    """Draw the background and the plate that everything stands on."""
    p = stage.palette
    stage.canvas.box(-0.1, -0.1, 1.1, 1.1, p.sky, p.haze, edge=False)
    stage.canvas.sheet()
    block(stage.canvas, 0, 0, (1, 1, 0.05), below, -0.05)
    stage.canvas.area([at(0, 0), at(1, 0), at(1, 1), at(0, 1)], colour)


def room(stage: Stage) -> None:
    """Draw a room with two walls cut away."""
    c, p = stage.canvas, stage.palette
    wall = mix(p.haze, p.far, 0.6)
    ground(stage, mix(p.ground, (0.6, 0.4, 0.24), 0.4), darker(p.near))
    c.area([at(0, 0), at(1, 0), at(1, 0, 0.4), at(0, 0, 0.4)], wall)
    c.area([at(0, 0), at(0, 1), at(0, 1, 0.4), at(0, 0, 0.4)], darker(wall, 0.14))
    c.area([at(0.35, 0, 0.13), at(0.75, 0, 0.13), at(0.75, 0, 0.34), at(0.35, 0, 0.34)], p.light)
    c.area(
        [at(0.37, 0, 0.145), at(0.73, 0, 0.145), at(0.73, 0, 0.325), at(0.37, 0, 0.325)],
        p.sky if not stage.dark else darker(p.sky, 0.3),
        p.haze,
    )
    c.sheet()
    _iso_shelf(stage)
    if stage.has("rug"):
        c.area([at(0.25, 0.3), at(0.85, 0.3), at(0.85, 0.85), at(0.25, 0.85)], p.second)
        c.area([at(0.31, 0.36), at(0.79, 0.36), at(0.79, 0.79), at(0.31, 0.79)], p.main)
    seat = p.main if not stage.has("rug") else p.accent
    long = 0.5 if stage.has("sofa", "bed") else 0.26
    block(c, 0.36, 0.12, (long, 0.08, 0.2), seat)
    block(c, 0.36, 0.2, (long, 0.2, 0.09), lighter(seat, 0.1))
    block(c, 0.3, 0.16, (0.06, 0.25, 0.14), darker(seat, 0.1))
    block(c, 0.36 + long, 0.16, (0.06, 0.25, 0.14), darker(seat, 0.1))
    block(c, 0.55, 0.6, (0.2, 0.16, 0.07), darker(p.ground, 0.3))
    block(c, 0.6, 0.64, (0.08, 0.06, 0.02), p.accent, 0.07)
    _iso_extras(stage)


def _iso_shelf(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    block(c, 0.0, 0.25, (0.09, 0.6, 0.36), darker(p.ground, 0.3))
    for level in (0.02, 0.135, 0.25):
        y = 0.28
        while y < 0.8:
            tint = (p.main, p.second, p.accent, p.light, p.mid)[int(stage.rng.integers(5))]
            thick, high = stage.pick(0.02, 0.045), stage.pick(0.06, 0.09)
            c.area(
                [
                    at(0.09, y, level),
                    at(0.09, y + thick, level),
                    at(0.09, y + thick, level + high),
                    at(0.09, y, level + high),
                ],
                tint,
            )
            y += thick + 0.006


def _iso_extras(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    if stage.has("lamp", "pendant lamps", "string lights"):
        x, y = at(0.9, 0.16, 0.0)
        c.line([(x, y), (x, y - 0.3)], darker(p.near, 0.3), 0.01)
        c.glow(x, y - 0.3, 0.2, lighter(p.second, 0.4))
        c.area(
            path("-0.03,-0.34 0.03,-0.34 0.055,-0.27 -0.055,-0.27", x, y),
            lighter(p.second, 0.3),
        )
    if stage.has("plants"):
        for place in ((0.2, 0.93), (0.92, 0.85)):
            plants.potted(c, *at(*place), 0.2, mix(p.mid, p.near, 0.3), p.accent)
    if stage.has("cat"):
        x, y = at(0.8, 0.55)
        c.oval(x, y - 0.02, 0.05, 0.025, darker(p.dark, 0.1))
        c.oval(x + 0.045, y - 0.03, 0.022, colour=darker(p.dark, 0.1))


def garden(stage: Stage) -> None:
    """Draw a garden on a plate: beds, a path, trees, a pond."""
    c, p = stage.canvas, stage.palette
    ground(stage, mix(p.mid, p.ground, 0.4), darker(p.ground, 0.3))
    c.area([at(0.44, 0), at(0.56, 0), at(0.56, 1), at(0.44, 1)], mix(p.ground, p.light, 0.5))
    c.area([at(0, 0.44), at(1, 0.44), at(1, 0.56), at(0, 0.56)], mix(p.ground, p.light, 0.5))
    x, y = at(0.5, 0.5)
    c.oval(x, y, 0.13, 0.07, p.light)
    c.oval(x, y, 0.105, 0.055, mix(p.sky, p.accent, 0.3))
    for i in range(4):
        for j in range(4):
            px, py = (0.08, 0.3, 0.66, 0.88)[i], (0.08, 0.3, 0.66, 0.88)[j]
            kind = int(stage.rng.integers(4))
            fx, fy = at(px + 0.03, py + 0.03)
            if kind == 0:
                plants.tree(
                    c,
                    fx,
                    fy,
                    stage.pick(0.16, 0.24),
                    mix(p.near, p.mid, stage.pick(0, 1)),
                    darker(p.near, 0.5),
                    stage.rng,
                    "round" if stage.coin() else "pine",
                )
            elif kind == 1:
                block(c, px - 0.04, py - 0.04, (0.16, 0.16, 0.06), p.near)
            else:
                block(c, px - 0.05, py - 0.05, (0.18, 0.18, 0.015), darker(p.ground, 0.45))
                tint = (p.main, p.second, p.accent)[int(stage.rng.integers(3))]
                for dx, dy in ((0, 0), (0.07, 0), (0, 0.07), (0.07, 0.07)):
                    plants.flower(c, *at(px + dx, py + dy, 0.01), 0.08, tint, p.light, p.near, 5)


def city(stage: Stage) -> None:
    """Draw blocks of a city on a plate, with a park and a tower."""
    c, p = stage.canvas, stage.palette
    ground(stage, mix(p.ground, p.far, 0.5), darker(p.near))
    for number in range(25):
        i, j = divmod(number, 5)
        x, y = 0.02 + 0.2 * i, 0.02 + 0.2 * j
        if stage.rng.random() < 0.18:
            c.area([at(x, y), at(x + 0.16, y), at(x + 0.16, y + 0.16), at(x, y + 0.16)], p.mid)
            fx, fy = at(x + 0.08, y + 0.08)
            plants.tree(c, fx, fy, 0.11, p.near, darker(p.near, 0.5), stage.rng)
            continue
        _iso_tower(stage, x, y)
    if stage.has("flying cars", "airships"):
        for _ in range(5):
            x, y = stage.pick(0.15, 0.85), stage.pick(0.08, 0.4)
            c.oval(x, y, 0.032, 0.012, p.main)
            c.oval(x - 0.003, y - 0.009, 0.014, 0.008, p.light)


def _iso_tower(stage: Stage, x: float, y: float) -> None:
    c, p = stage.canvas, stage.palette
    height = stage.pick(0.05, 0.18) + (0.16 if stage.rng.random() < 0.25 else 0)
    tint = (p.far, p.mid, p.main, p.light, p.accent)[int(stage.rng.integers(5))]
    block(c, x, y, (0.15, 0.15, height), tint)
    lit = lighter(p.second, 0.25)
    for level in range(1, max(2, int(height / 0.035))):
        z = level * 0.035 - 0.012
        for k in (0.03, 0.075, 0.12):
            if stage.rng.random() < 0.6:
                left, right = at(x + k - 0.012, y + 0.15, z), at(x + k + 0.012, y + 0.15, z)
                c.area(
                    [left, right, (right[0], right[1] - 0.014), (left[0], left[1] - 0.014)],
                    lit,
                    edge=False,
                )
    roof = at(x + 0.075, y + 0.075, height)
    if stage.coin():
        c.area(ring(roof[0], roof[1], (0.032, 0.022), 8), p.second)
    elif height > 0.2:
        c.line([roof, (roof[0], roof[1] - 0.07)], p.light, 0.005)
