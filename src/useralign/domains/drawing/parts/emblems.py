"""Emblems of the cards, each around the origin, about one unit large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, from_hex, lighter, mix
from useralign.domains.drawing.parts import (
    animals,
    buildings,
    figure,
    headgear,
    sky,
)
from useralign.domains.drawing.parts.tools import TOOLS

if TYPE_CHECKING:
    from useralign.domains.drawing.scenes.stage import Stage


def sun(stage: Stage) -> None:
    """Draw a sun with a face."""
    c, p = stage.canvas, stage.palette
    gold = mix(p.second, (0.98, 0.8, 0.3), 0.3)
    c.area(ring(0, 0, (0.52, 0.3), 32), mix(gold, p.main, 0.35))
    c.area(ring(0, 0, (0.44, 0.28), 16, -78), gold)
    c.oval(0, 0, 0.27, colour=lighter(gold, 0.25), to=gold)
    for side in (-1, 1):
        c.curve(arc(side * 0.1, -0.05, 0.05, 0.035, 190, 350, 7), p.dark, 0.016)
        c.oval(side * 0.16, 0.06, 0.035, colour=mix(gold, p.main, 0.4), edge=False)
    c.curve(arc(0, 0.05, 0.1, 0.07, 20, 160, 9), p.dark, 0.018)
    c.curve([(0, -0.06), (-0.02, 0.03), (0.02, 0.04)], mix(gold, p.dark, 0.5), 0.012)


def moon(stage: Stage) -> None:
    """Draw a moon asleep over two foxes."""
    c, p = stage.canvas, stage.palette
    c.glow(0, -0.08, 0.6, mix(p.haze, p.light, 0.5))
    outer, inner = arc(0, -0.08, 0.38, 0.38, 50, 310, 30), arc(0.14, -0.08, 0.3, 0.3, 292, 68, 30)
    c.area([*outer, *inner], p.light, mix(p.light, p.second, 0.3))
    c.curve(arc(-0.22, -0.1, 0.05, 0.03, 20, 160, 7), p.dark, 0.014)
    for x, y, r in ((0.3, -0.3, 0.06), (0.36, 0.05, 0.045), (0.2, 0.22, 0.05)):
        c.area(ring(x, y, (r, r * 0.4), 8), p.second)
    for side in (-1, 1):
        with c.placed(side * 0.34, 0.5, 0.3, flip=side < 0):
            animals.fox(c, 0, 0, 1.0, mix(p.near, p.dark, 0.3), p.far)


def star(stage: Stage) -> None:
    """Draw a star over water."""
    c, p = stage.canvas, stage.palette
    c.glow(0, -0.12, 0.6, lighter(p.second, 0.4))
    c.area(ring(0, -0.12, (0.44, 0.13), 16, -78), mix(p.second, p.main, 0.4))
    c.area(ring(0, -0.12, (0.5, 0.16), 16), lighter(p.second, 0.2))
    c.oval(0, -0.12, 0.09, colour=p.light)
    c.blob(
        path("-0.6,0.5 -0.3,0.36 0,0.42 0.3,0.36 0.6,0.5 0,0.6"),
        mix(p.sky, p.accent, 0.4),
    )
    for x, y in ring(0, -0.12, (0.52,), 7, -60):
        c.area(ring(x, y, (0.05, 0.02), 8), p.light)


def tower(stage: Stage) -> None:
    """Draw a tower that is struck by lightning."""
    c, p = stage.canvas, stage.palette
    c.blob([(-0.6, 0.58), (-0.3, 0.36), (0.3, 0.34), (0.6, 0.58)], p.near)
    wall = mix(p.far, p.light, 0.3)
    c.area([(-0.18, 0.42), (-0.14, -0.3), (0.14, -0.3), (0.18, 0.42)], wall, darker(wall, 0.3))
    for k in range(4):
        c.box(-0.17 + 0.095 * k, -0.38, -0.11 + 0.095 * k, -0.29, wall)
    for x, y in ((-0.06, -0.16), (0.06, 0.02), (-0.05, 0.2)):
        c.area(
            [*arc(x, y, 0.03, 0.04, 180, 360, 8), (x + 0.03, y + 0.06), (x - 0.03, y + 0.06)],
            lighter(p.second, 0.2),
        )
    bolt = path("0.46,-0.62 0.16,-0.4 0.26,-0.38 0,-0.2 0.34,-0.42 0.24,-0.44")
    c.area(bolt, lighter(p.second, 0.4))
    for x, y in ((-0.14, -0.34), (0.15, -0.32), (0.0, -0.4)):
        c.blob(
            path("-0.06,0 -0.04,-0.1 0,-0.2 0.05,-0.08 0.06,0", x, y),
            mix(p.main, (1, 0.5, 0.1), 0.4),
        )


def hermit(stage: Stage) -> None:
    """Draw an old man with a lantern."""
    c, p = stage.canvas, stage.palette
    landscape_foot = [(-0.6, 0.56), (-0.2, 0.42), (0.25, 0.46), (0.6, 0.58)]
    c.blob(landscape_foot, p.near)
    cloak = mix(p.main, p.dark, 0.3)
    c.blob(
        path("0,-0.42 0.14,-0.3 0.17,-0.05 0.28,0.46 0,0.52 -0.28,0.46 -0.17,-0.05 -0.14,-0.3"),
        cloak,
        darker(cloak, 0.4),
    )
    c.oval(0, -0.25, 0.085, 0.1, darker(cloak, 0.7))
    c.blob(path("-0.05,-0.2 0.05,-0.2 0.03,0.06 0,0.12 -0.03,0.06"), p.light)
    c.line([(-0.3, -0.3), (-0.26, 0.5)], darker(p.ground, 0.4), 0.022)
    with c.placed(0.32, -0.2, 1.1):
        TOOLS["lantern"](c, p.second, p.light)
    c.limb((0.12, -0.1), (0.32, -0.18), (0.1, 0.05), cloak)


def fool(stage: Stage) -> None:
    """Draw a traveller on the edge of a cliff, with a dog."""
    c, p = stage.canvas, stage.palette
    c.area(
        path("-0.75,0.34 0.22,0.34 0.3,0.42 0.2,0.5 0.26,0.75 -0.75,0.75"),
        p.mid,
        p.near,
    )
    build = figure.BUILDS["slender"]
    with c.placed(0.0, 0.34, 0.78):
        figure.legs(c, build, "striding", darker(p.accent, 0.3), p.second)
        figure.arm(c, build, "striding", -1, p.main, from_hex("e8b58a"))
        figure.torso(c, build, "tunic", p.main, p.second)
        figure.face(c, build, from_hex("e8b58a"), darker(p.dark, 0.1), "bright")
        headgear.put_on(c, build, "hair", mix(p.second, p.dark, 0.4), p.second)
        hand = figure.arm(c, build, "striding", 1, p.main, from_hex("e8b58a"))
        c.line([hand, (-0.3, -0.98)], (0.4, 0.26, 0.16), 0.02)
        c.oval(-0.32, -0.92, 0.1, 0.09, p.accent)
    animals.fox(c, -0.4, 0.36, 0.24, p.light, p.haze)


def wheel(stage: Stage) -> None:
    """Draw a wheel with eight spokes."""
    c, p = stage.canvas, stage.palette
    for r, tint in (
        (0.46, darker(p.second, 0.3)),
        (0.42, p.second),
        (0.34, mix(p.main, p.dark, 0.2)),
        (0.14, p.second),
    ):
        c.oval(0, 0, r, colour=tint)
    for x, y in ring(0, 0, (0.38,), 8):
        c.line([(0, 0), (x, y)], lighter(p.second, 0.35), 0.022)
        c.oval(x, y, 0.035, colour=p.accent)
    c.area(ring(0, 0, (0.12, 0.05), 16), p.light)
    for x, y in ((-0.5, -0.46), (0.5, -0.46), (-0.5, 0.46), (0.5, 0.46)):
        c.area(ring(x, y, (0.07, 0.03), 8), lighter(p.second, 0.3))


def lovers(stage: Stage) -> None:
    """Draw two trees that grow together."""
    c, p = stage.canvas, stage.palette
    c.blob(path("-0.6,0.5 0,0.42 0.6,0.5 0.5,0.62 -0.5,0.62"), p.near)
    bark = darker(mix(p.ground, p.near, 0.5), 0.3)
    for side, tint in ((-1, p.main), (1, p.accent)):
        c.curve(
            [(side * 0.34, 0.48), (side * 0.2, 0.2), (-side * 0.06, 0.0), (side * 0.08, -0.2)],
            bark,
            0.06,
        )
        for dx, dy, r in ((0.2, -0.22, 0.2), (0.34, -0.06, 0.15), (0.1, -0.38, 0.16)):
            c.blob(ring(side * dx, dy, (r, r * 0.9), 10), tint, darker(tint, 0.2))
    c.blob(
        path("0,-0.38 -0.1,-0.5 -0.06,-0.58 0,-0.53 0.06,-0.58 0.1,-0.5"),
        lighter(p.main, 0.3),
    )


def strength(stage: Stage) -> None:
    """Draw a lion with a wreath."""
    c, p = stage.canvas, stage.palette
    gold = mix(p.second, (0.85, 0.6, 0.25), 0.4)
    c.area(ring(0, -0.05, (0.48, 0.38), 26), mix(p.main, gold, 0.3))
    c.area(ring(0, -0.05, (0.4, 0.33), 22), darker(gold, 0.25))
    with c.placed(0, 0.16, 2.3), c.placed(0, 0.92, 1.0):
        figure.beast(c, figure.Build(head=0.1), gold, p.light, "round")
    for x, y in arc(0, -0.12, 0.36, 0.3, 195, 345, 9):
        c.area(ring(x, y, (0.05, 0.03), 10), p.accent)


def world(stage: Stage) -> None:
    """Draw the earth in a serpent that bites its tail."""
    c, p = stage.canvas, stage.palette
    c.curve(arc(0, 0, 0.44, 0.44, -80, 255, 40), mix(p.mid, p.accent, 0.4), 0.085)
    c.blob([(-0.16, -0.48), (0.02, -0.5), (0.05, -0.4), (-0.12, -0.36)], mix(p.mid, p.accent, 0.3))
    c.oval(-0.06, -0.45, 0.016, colour=p.light)
    c.oval(0, 0, 0.3, colour=lighter(p.sky, 0.25), to=mix(p.sky, p.dark, 0.2))
    for points in (
        path("-0.2,-0.12 -0.05,-0.22 0.05,-0.12 -0.03,0.02 -0.14,0"),
        [(0.06, 0.02), (0.2, -0.02), (0.18, 0.16), (0.08, 0.2)],
        [(-0.16, 0.12), (-0.06, 0.1), (-0.05, 0.2)],
    ):
        c.blob(points, p.mid)


def seed(stage: Stage) -> None:
    """Draw a hand from a cloud that holds a sprout."""
    c, p = stage.canvas, stage.palette
    sky.cloud(c, -0.36, 0.42, 0.32, mix(p.haze, p.light, 0.6))
    skin = from_hex(("e8b58a", "a86b3c", "6b3f24")[int(stage.rng.integers(3))])
    c.limb((-0.4, 0.3), (-0.08, 0.22), (0.18, 0.14), mix(p.main, p.light, 0.2))
    c.blob(path("-0.12,0.12 0.1,0.12 0.26,0.06 0.28,0.13 0.12,0.26 -0.1,0.3"), skin)
    c.blob([(-0.02, 0.14), (0.2, 0.1), (0.14, 0.17), (0.02, 0.19)], darker(p.ground, 0.5))
    c.curve([(0.08, 0.12), (0.07, -0.1), (0.09, -0.32)], p.near, 0.026)
    for side, y in ((-1, -0.02), (1, -0.12), (-1, -0.22)):
        c.blob(
            [
                (0.08, y),
                (0.08 + side * 0.14, y - 0.12),
                (0.08 + side * 0.26, y - 0.12),
                (0.08 + side * 0.14, y - 0.02),
            ],
            lighter(p.mid, 0.1),
        )
    c.area(ring(0.09, -0.42, (0.14, 0.07), 12), p.main)
    c.oval(0.09, -0.42, 0.05, colour=p.second)


def chariot(stage: Stage) -> None:
    """Draw a ship with a sail for a sun."""
    c, p = stage.canvas, stage.palette
    c.oval(0, -0.12, 0.36, colour=lighter(p.second, 0.25))
    with c.placed(0, 0.36, 0.85):
        buildings.boat(c, 0, 0, 1.0, p.main, p.light)
    x = np.linspace(-0.75, 0.75, 30)
    for k in range(3):
        y = 0.4 + 0.08 * k + 0.025 * np.sin(x * 14 + 2 * k)
        c.area(
            np.vstack([np.column_stack([x, y]), [(0.75, 0.8), (-0.75, 0.8)]]),
            mix(p.accent, p.near, 0.3 + 0.25 * k),
        )


def death(stage: Stage) -> None:
    """Draw a skull with flowers in its eyes."""
    c, p = stage.canvas, stage.palette
    bone = mix(p.light, p.ground, 0.15)
    c.blob(
        path(
            "0,-0.44 0.34,-0.28 0.34,0.02 0.2,0.16 0.18,0.34 -0.18,0.34 -0.2,0.16 "
            "-0.34,0.02 -0.34,-0.28"
        ),
        bone,
        darker(bone, 0.15),
    )
    for side in (-1, 1):
        c.oval(side * 0.14, -0.06, 0.1, 0.11, p.dark)
        c.area(ring(side * 0.14, -0.06, (0.09, 0.045), 12), p.main if side < 0 else p.accent)
        c.oval(side * 0.14, -0.06, 0.03, colour=p.second)
    c.area([(0, 0.02), (0.05, 0.12), (-0.05, 0.12)], p.dark)
    for x in (-0.12, -0.06, 0, 0.06, 0.12):
        c.line([(x, 0.2), (x, 0.33)], darker(bone, 0.5), 0.012)
