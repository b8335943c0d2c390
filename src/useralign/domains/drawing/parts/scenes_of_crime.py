"""Places for a mystery: a house, a corridor, a train, a bridge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import (
    animals,
    buildings,
    plants,
    sky,
    terrain,
)

if TYPE_CHECKING:
    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.scenes.stage import Stage


def backdrop(stage: Stage, *, glow: bool = True) -> None:
    """Draw a plain ground, with light in its middle or without."""
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, p.sky, p.near, edge=False)
    if glow:
        c.glow(stage.place[0], 0.52, 0.5, mix(p.haze, p.second, 0.3))
    if stage.has("stars"):
        sky.stars(stage, 1.0, 50)
    c.sheet()


def mansion(stage: Stage) -> None:
    """Draw an old house on a hill."""
    p, x = stage.palette, stage.place[0]
    sky.sky(stage, 0.85)
    terrain.land(
        stage, terrain.swell(stage, 0.82, 0.03, 0.5), mix(p.mid, p.near, 0.5), darker(p.near, 0.3)
    )
    size = 0.42 * min(stage.place[2], 1.25)
    buildings.mansion(
        stage.canvas, x, 0.82, size, darker(mix(p.near, p.dark, 0.6), 0.1), lighter(p.second, 0.2)
    )
    for dx in (-0.36, 0.34):
        plants.tree(
            stage.canvas, x + dx, 0.86, 0.42, p.near, darker(p.dark, 0.1), stage.rng, "bare"
        )
    stage.canvas.blob(
        path("-0.03,0.82 0.03,0.82 0.02,0.9 0.2,1.1 -0.1,1.1 -0.04,0.9", x),
        mix(p.ground, p.haze, 0.3),
    )


def window(stage: Stage) -> None:
    """Draw somebody behind a lit window."""
    c, p, x = stage.canvas, stage.palette, stage.place[0]
    brick = mix(p.near, p.mid, 0.35)
    c.box(-0.1, -0.1, 1.1, 1.1, brick, edge=False)
    for row in range(14):
        for k in range(8):
            left = 0.15 * k - 0.075 * (row % 2)
            c.box(
                left,
                0.075 * row,
                left + 0.142,
                0.075 * row + 0.068,
                mix(brick, p.dark, stage.pick(0.05, 0.3)),
            )
    c.sheet()
    w, h = 0.2 * min(stage.place[2], 1.3), 0.26 * min(stage.place[2], 1.2)
    c.box(x - w - 0.02, 0.54 - h - 0.02, x + w + 0.02, 0.54 + h + 0.02, darker(p.dark, 0.1))
    c.box(x - w, 0.54 - h, x + w, 0.54 + h, lighter(p.second, 0.25), p.second)
    shade = darker(p.dark, 0.2)
    c.oval(x + 0.02, 0.54 - 0.06, 0.05, 0.062, shade)
    c.blob(
        [
            (x - 0.1, 0.54 + h),
            (x - 0.07, 0.6),
            (x + 0.02, 0.55),
            (x + 0.11, 0.6),
            (x + 0.14, 0.54 + h),
        ],
        shade,
    )
    c.blob(
        path("-0.06,0.44 -0.02,0.43 -0.01,0.38 0.06,0.38 0.065,0.43 0.11,0.44 0.02,0.46", x),
        shade,
    )
    c.line([(x, 0.54 - h), (x, 0.54 + h)], darker(p.dark, 0.1), 0.012)
    c.line([(x - w, 0.5), (x + w, 0.5)], darker(p.dark, 0.1), 0.012)


def detective(stage: Stage) -> None:
    """Draw a figure in a coat under a street lamp."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.85)
    for x in (0.05, 0.22, 0.8, 0.96):
        buildings.tower(
            c,
            x,
            0.86,
            0.17,
            stage.pick(0.4, 0.7),
            mix(p.far, p.near, stage.pick(0.3, 0.9)),
            mix(p.second, p.near, 0.3),
            stage.rng,
            0.2,
        )
    c.sheet()
    c.box(-0.1, 0.85, 1.1, 1.1, p.near, darker(p.near, 0.4))
    x, _, scale, _ = stage.place
    lamp = x + 0.24 if x < 0.6 else x - 0.26
    c.glow(lamp, 0.34, 0.36, lighter(p.second, 0.3))
    c.line([(lamp, 0.93), (lamp, 0.34)], darker(p.dark, 0.1), 0.018)
    c.area([(lamp - 0.05, 0.34), (lamp + 0.05, 0.34), (lamp, 0.27)], darker(p.dark, 0.1))
    c.oval(lamp, 0.355, 0.03, colour=lighter(p.second, 0.5))
    coat = mix(p.dark, p.main, 0.25)
    with c.placed(x, 0.95, 0.62 * min(scale, 1.3)):
        c.blob(
            [(0.02, 0.0), (0.5, 0.08), (0.55, 0.1), (0.1, 0.06)], darker(p.near, 0.5), edge=False
        )
        for side in (-1, 1):
            c.limb((side * 0.05, -0.3), (side * 0.07, 0), (0.08, 0.06), darker(coat, 0.5))
        c.blob(
            path(
                "-0.16,-0.72 0,-0.78 0.16,-0.72 0.15,-0.45 0.2,-0.16 0,-0.12 -0.2,-0.16 -0.15,-0.45"
            ),
            coat,
            darker(coat, 0.3),
        )
        c.area([(-0.15, -0.47), (0.15, -0.47), (0.15, -0.43), (-0.15, -0.43)], darker(coat, 0.5))
        c.oval(0, -0.84, 0.075, 0.085, mix((0.8, 0.6, 0.45), coat, 0.35))
        c.blob(
            path("-0.17,-0.86 -0.09,-0.89 -0.07,-0.99 0.07,-0.99 0.09,-0.89 0.17,-0.86 0,-0.84"),
            darker(coat, 0.45),
        )
        c.area(
            path("-0.12,-0.76 0,-0.68 0.12,-0.76 0.08,-0.8 -0.08,-0.8"),
            lighter(coat, 0.1),
        )


def train(stage: Stage) -> None:
    """Draw a train under steam, before mountains."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.7)
    terrain.land(stage, terrain.ridge(stage, 0.7, 0.25), p.far, mix(p.far, p.haze, 0.4))
    terrain.land(stage, terrain.swell(stage, 0.78, 0.012, 0.4), p.near, darker(p.near, 0.3))
    with c.placed(0.5 if stage.composition != "left" else 0.4, 0.84, 0.85):
        body = mix(p.main, p.dark, 0.35)
        for k in range(3):
            left = -0.1 + 0.34 * k
            c.box(left, -0.2, left + 0.32, -0.02, body, darker(body, 0.2))
            for w in range(4):
                c.box(
                    left + 0.03 + 0.07 * w,
                    -0.16,
                    left + 0.07 + 0.07 * w,
                    -0.1,
                    lighter(p.second, 0.2),
                )
        c.blob([(-0.48, -0.18), (-0.12, -0.2), (-0.12, -0.02), (-0.5, -0.02)], darker(body, 0.3))
        c.box(-0.42, -0.3, -0.37, -0.18, darker(body, 0.4))
        c.box(-0.2, -0.3, -0.1, -0.05, body)
        c.glow(-0.52, -0.1, 0.25, lighter(p.second, 0.4))
        for x in (-0.42, -0.3, -0.18, -0.02, 0.14, 0.32, 0.48, 0.66, 0.82):
            c.oval(x, -0.01, 0.045, colour=darker(p.dark, 0.2))
        for k in range(5):
            sky.cloud(
                c, -0.38 + 0.13 * k, -0.36 - 0.05 * k, 0.06 + 0.025 * k, mix(p.light, p.haze, 0.5)
            )
    c.line([(-0.1, 0.875), (1.1, 0.875)], p.dark, 0.012)


def doors(stage: Stage) -> None:
    """Draw a corridor with a door ajar at its end."""
    c, p, x = stage.canvas, stage.palette, stage.place[0]
    wall = mix(p.far, p.near, 0.5)
    c.box(-0.1, -0.1, 1.1, 1.1, wall, edge=False)
    ends = [(x - 0.13, 0.3), (x + 0.13, 0.3), (x + 0.13, 0.68), (x - 0.13, 0.68)]
    c.area([(-0.1, 1.1), ends[3], ends[2], (1.1, 1.1)], darker(p.ground, 0.35), p.ground)
    c.area([(-0.1, -0.1), ends[0], ends[3], (-0.1, 1.1)], darker(wall, 0.25))
    c.area([(1.1, -0.1), ends[1], ends[2], (1.1, 1.1)], darker(wall, 0.35))
    for side in (0, 1):
        edge, far = (-0.1, ends[0][0]) if side == 0 else (1.1, ends[1][0])
        for near_share, far_share in ((0.25, 0.5), (0.62, 0.8)):
            a, b = edge + (far - edge) * near_share, edge + (far - edge) * far_share
            top_a, top_b = 0.1 + 0.25 * near_share, 0.1 + 0.25 * far_share
            low_a, low_b = 1.1 - 0.42 * near_share, 1.1 - 0.42 * far_share
            c.area(
                [(a, top_a), (b, top_b), (b, low_b), (a, low_a)],
                mix(p.main, p.dark, 0.35),
                mix(p.main, p.dark, 0.6),
            )
    c.area(ends, darker(wall, 0.1))
    c.glow(x + 0.02, 0.5, 0.3, lighter(p.second, 0.3))
    c.box(x - 0.07, 0.36, x + 0.08, 0.68, lighter(p.second, 0.45))
    c.area([(x - 0.07, 0.36), (x + 0.02, 0.34), (x + 0.02, 0.71), (x - 0.07, 0.68)], p.main)
    c.area(
        [(x + 0.02, 0.69), (x + 0.08, 0.68), (x + 0.24, 1.1), (x + 0.04, 1.1)],
        mix(p.second, p.ground, 0.3),
        edge=False,
    )


def raven(stage: Stage) -> None:
    """Draw a bird on a branch before the moon."""
    c, p = stage.canvas, stage.palette
    backdrop(stage, glow=False)
    x, _, scale, _ = stage.place
    c.glow(x, 0.48, 0.46, mix(p.haze, p.light, 0.4))
    c.oval(x, 0.48, 0.25 * min(scale, 1.3), colour=mix(p.light, p.second, 0.2))
    c.sheet()
    dark = darker(p.dark, 0.3)
    c.curve(path("-0.05,0.8 0.25,0.74 0.55,0.73 0.85,0.68 1.05,0.6"), dark, 0.03)
    for a, b in (
        ((0.2, 0.75), (0.12, 0.58)),
        ((0.75, 0.7), (0.82, 0.52)),
        ((0.85, 0.68), (0.95, 0.8)),
    ):
        c.limb(a, b, (0.018, 0.006), dark)
    animals.bird(c, x, 0.745, 0.34 * min(scale, 1.2), dark, mix(p.second, dark, 0.5))


def _ink(colour: Colour) -> Colour:
    return darker(colour, 0.2)


def bridge(stage: Stage) -> None:
    """Draw a stone bridge in the mist with someone on it."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.8)
    terrain.land(stage, terrain.ridge(stage, 0.66, 0.2), p.far, mix(p.far, p.haze, 0.6))
    c.box(-0.1, 0.76, 1.1, 1.1, mix(p.sky, p.mid, 0.5), p.near)
    c.sheet()
    stone = mix(p.mid, p.near, 0.5)
    deck = arc(0.5, 0.84, 0.72, 0.26, 180, 360, 24)
    hole = arc(0.5, 0.84, 0.3, 0.17, 360, 180, 20)
    c.area(
        [*deck, (1.22, 0.9), (0.8, 0.9), *hole, (0.2, 0.9), (-0.22, 0.9)], stone, darker(stone, 0.3)
    )
    x = stage.place[0]
    top = 0.84 - 0.26 * float(np.sqrt(max(0.0, 1 - ((x - 0.5) / 0.72) ** 2)))
    dark = _ink(p.dark)
    c.blob(
        [
            (x - 0.035, top),
            (x - 0.025, top - 0.11),
            (x, top - 0.13),
            (x + 0.025, top - 0.11),
            (x + 0.035, top),
        ],
        dark,
    )
    c.oval(x, top - 0.15, 0.02, colour=dark)
    c.line([(x + 0.03, top - 0.09), (x + 0.05, top - 0.2)], dark, 0.006)
    c.area([*arc(x + 0.05, top - 0.19, 0.07, 0.05, 180, 360, 12)], p.main)
