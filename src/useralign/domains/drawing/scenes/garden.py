"""Gardens: formal, wild, of stones, of water, of vegetables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import buildings, gardening, plants, sky, terrain
from useralign.domains.drawing.scenes import isometric
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from useralign.domains.drawing.scenes.stage import Stage

ELEMENTS = (
    *sky.WEATHER,
    "bench",
    "fountain",
    "pond",
    "bridge",
    "lanterns",
    "gate",
    "cat",
    "rabbit",
    "butterflies",
    "statue",
    "pots",
    "sunflowers",
    "blossom",
    "scarecrow",
)


def _lawn(stage: Stage, horizon: float) -> None:
    p = stage.palette
    sky.sky(stage, horizon)
    terrain.land(
        stage, terrain.swell(stage, horizon, 0.015, 0.6), mix(p.mid, p.ground, 0.35), p.mid
    )


def _path(stage: Stage, horizon: float, *, winding: bool) -> None:
    p, x = stage.palette, stage.place[0]
    stone = mix(p.ground, p.light, 0.45)
    h = horizon
    if winding:
        stage.canvas.blob(
            [
                (x - 0.02, h),
                (x + 0.02, h),
                (x + 0.10, h + 0.08),
                (x - 0.02, h + 0.18),
                (x + 0.22, 1.15),
                (x - 0.2, 1.15),
                (x - 0.14, h + 0.18),
                (x + 0.02, h + 0.08),
            ],
            stone,
        )
    else:
        stage.canvas.area(
            [(x - 0.03, h), (x + 0.03, h), (x + 0.2, 1.1), (x - 0.2, 1.1)],
            stone,
            darker(stone, 0.1),
        )


def _cottage_garden(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    _lawn(stage, 0.56)
    x = 0.3 if stage.place[0] > 0.5 else 0.68
    for tx in (0.06, 0.9, 0.48):
        plants.tree(
            c, tx, 0.6, stage.pick(0.28, 0.4), gardening.leaf(stage), darker(p.near, 0.5), stage.rng
        )
    buildings.house(
        c,
        x,
        0.62,
        0.32,
        mix(p.light, p.ground, 0.25),
        p.main,
        p.second if stage.dark else mix(p.sky, p.light, 0.3),
    )
    _path(stage, 0.6, winding=True)
    for row, y in enumerate((0.68, 0.8, 0.95)):
        c.sheet()
        for fx in stage.rng.uniform(0, 1, 15 - 3 * row):
            if abs(fx - stage.place[0]) > 0.07 + 0.05 * row:
                plants.flower(
                    c,
                    float(fx),
                    y + stage.pick(0, 0.05),
                    0.09 + 0.045 * row,
                    gardening.bloom(stage),
                    p.second,
                    gardening.leaf(stage),
                    (5, 6, 3)[int(stage.rng.integers(3))],
                )
    gardening.extras(stage)


def _formal(stage: Stage) -> None:
    """Draw clipped hedges on both sides of an axis."""
    c, p = stage.canvas, stage.palette
    _lawn(stage, 0.5)
    x = stage.place[0]
    buildings.castle(c, x, 0.52, 0.26, mix(p.light, p.far, 0.3), mix(p.main, p.far, 0.3), p.second)
    _path(stage, 0.52, winding=False)
    for row in range(4):
        share = (row / 3) ** 1.4
        y, gap, size = 0.56 + 0.4 * share, 0.10 + 0.26 * share, 0.06 + 0.16 * share
        c.sheet()
        for side in (-1, 1):
            leaf = gardening.leaf(stage)
            if row % 2:
                plants.tree(
                    c,
                    x + side * gap,
                    y,
                    size * 1.7,
                    leaf,
                    darker(p.near, 0.5),
                    stage.rng,
                    "cypress",
                )
            else:
                c.oval(
                    x + side * gap, y - size * 0.75, size * 0.42, colour=leaf, to=darker(leaf, 0.25)
                )
                c.box(
                    x + side * gap - size * 0.07,
                    y - size * 0.35,
                    x + side * gap + size * 0.07,
                    y,
                    darker(p.near, 0.5),
                )
            hedge = x + side * (gap + size * 0.6)
            c.box(
                min(hedge, hedge + side * 0.7),
                y - size * 0.45,
                max(hedge, hedge + side * 0.7),
                y,
                leaf,
                darker(leaf, 0.2),
            )
            for k in range(6):
                c.oval(
                    hedge + side * size * 0.5 * k,
                    y - size * 0.5,
                    size * 0.10,
                    colour=p.main if side < 0 else p.accent,
                )
    gardening.extras(stage)


def _zen(stage: Stage) -> None:
    """Draw raked gravel, stones and a maple."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.45)
    c.box(-0.1, 0.33, 1.1, 0.46, mix(p.light, p.ground, 0.5), mix(p.ground, p.far, 0.4))
    c.box(-0.1, 0.30, 1.1, 0.34, darker(p.near, 0.2))
    sand = mix(p.light, p.ground, 0.35)
    c.box(-0.1, 0.46, 1.1, 1.1, sand, darker(sand, 0.06))
    x = stage.place[0]
    rocks = ((x - 0.2, 0.62, 0.07), (x + 0.22, 0.74, 0.1), (x - 0.08, 0.84, 0.05))
    for level in np.linspace(0.5, 1.0, 13):
        xs = np.linspace(-0.05, 1.05, 24)
        ys = level + 0.008 * np.sin(xs * 9)
        for rx, ry, r in rocks:
            ys = ys + 0.05 * np.sign(level - ry + 0.001) * np.exp(
                -((xs - rx) ** 2) / (2 * r * r)
            ) * np.exp(-((level - ry) ** 2) / 0.006)
        c.curve(np.column_stack([xs, ys]), darker(sand, 0.16), 0.005)
    c.sheet()
    for rx, ry, r in rocks:
        c.blob(
            [
                (rx - r, ry + 0.2 * r),
                (rx - 0.7 * r, ry - 0.6 * r),
                (rx, ry - r),
                (rx + 0.8 * r, ry - 0.5 * r),
                (rx + r, ry + 0.25 * r),
                (rx, ry + 0.45 * r),
            ],
            mix(p.far, p.dark, 0.35),
            mix(p.near, p.dark, 0.3),
        )
        c.blob(
            [
                (rx - r, ry + 0.3 * r),
                (rx, ry + 0.2 * r),
                (rx + r, ry + 0.3 * r),
                (rx, ry + 0.55 * r),
            ],
            p.mid,
        )
    plants.tree(
        c,
        0.85 if x < 0.6 else 0.15,
        0.52,
        0.5,
        mix(p.main, p.mid, 0.15),
        darker(p.near, 0.6),
        stage.rng,
        "blossom" if stage.has("blossom") else "round",
    )
    gardening.extras(stage)


def _water(stage: Stage) -> None:
    """Draw a pond with lilies, and a bridge in the manner of Monet."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.5)
    for x in np.linspace(0, 1, 9):
        plants.tree(
            c,
            float(x),
            0.53,
            stage.pick(0.3, 0.55),
            gardening.leaf(stage),
            darker(p.near, 0.5),
            stage.rng,
            "round" if stage.coin() else "birch",
        )
    water = mix(p.sky, p.mid, 0.4)
    c.box(-0.1, 0.5, 1.1, 1.1, mix(water, p.haze, 0.3), darker(water, 0.25))
    c.sheet()
    for number, (x, y) in enumerate(stage.rng.uniform(0, 1, (24, 2))):
        r, py = 0.025 + 0.05 * y, 0.56 + 0.42 * y
        c.area(
            [*arc(x, py, r, r * 0.4, 20, 330, 18), (x, py)], mix(p.mid, p.near, stage.pick(0, 0.6))
        )
        if number % 3 == 0:
            c.area(ring(x, py - 0.3 * r, (0.5 * r, 0.22 * r), 12), gardening.bloom(stage))
    if stage.has("bridge"):
        gardening.bridge(stage)
    for x in (0.03, 0.1, 0.9, 0.97):
        for _ in range(3):
            c.curve(
                [
                    (x, 1.02),
                    (x + stage.pick(-0.02, 0.02), 0.85),
                    (x + stage.pick(-0.06, 0.06), 0.68),
                ],
                p.near,
                0.008,
            )
    gardening.extras(stage, over=False)


def _meadow(stage: Stage) -> None:
    """Draw wild flowers up to the sky."""
    c, p = stage.canvas, stage.palette
    horizon = 0.4 if stage.composition == "close" else 0.55
    sky.sky(stage, horizon)
    terrain.land(stage, terrain.ridge(stage, horizon, 0.12), p.far, mix(p.far, p.haze, 0.5))
    terrain.land(stage, terrain.swell(stage, horizon + 0.03, 0.03, 0.6), p.mid, p.near)
    for row in range(5):
        c.sheet()
        y, size = horizon + 0.14 + 0.11 * row, 0.06 + 0.05 * row
        for x in stage.rng.uniform(0, 1, 20 - 2 * row):
            if stage.has("sunflowers"):
                plants.flower(
                    c,
                    float(x),
                    y + stage.pick(0, 0.05),
                    size * 1.3,
                    mix(p.second, (0.98, 0.8, 0.2), 0.5),
                    darker(p.main, 0.5),
                    p.near,
                    9,
                )
            else:
                plants.flower(
                    c,
                    float(x),
                    y + stage.pick(0, 0.05),
                    size,
                    gardening.bloom(stage),
                    p.second,
                    gardening.leaf(stage),
                    (5, 3, 7)[int(stage.rng.integers(3))],
                )
    plants.grass(c, 1.02, darker(p.near, 0.15), stage.rng, 50)
    gardening.extras(stage)


def _kitchen(stage: Stage) -> None:
    """Draw rows of vegetables."""
    c, p = stage.canvas, stage.palette
    _lawn(stage, 0.45)
    for x in np.linspace(0.02, 0.98, 15):
        c.box(float(x) - 0.022, 0.36, float(x) + 0.022, 0.48, mix(p.light, p.ground, 0.4))
    soil = mix(p.ground, (0.35, 0.22, 0.14), 0.6)
    x0 = stage.place[0]
    for k in range(-3, 4):
        top, low = x0 + 0.10 * k, x0 + 0.36 * k
        c.sheet()
        c.area(
            [(top - 0.035, 0.5), (top + 0.035, 0.5), (low + 0.13, 1.1), (low - 0.13, 1.1)],
            soil,
            darker(soil, 0.25),
        )
        kind = k % 3
        for step in range(6):
            share = (step / 5) ** 1.3
            x, y, s = top + (low - top) * share * 0.85, 0.54 + 0.46 * share, 0.022 + 0.05 * share
            _crop(stage, kind, x, y, s)
    gardening.extras(stage)


def _crop(stage: Stage, kind: int, x: float, y: float, s: float) -> None:
    c, p = stage.canvas, stage.palette
    if kind == 0:
        c.area(ring(x, y, (s, s * 0.7), 12), gardening.leaf(stage))
        c.oval(x, y, s * 0.45, colour=lighter(p.mid, 0.35))
    elif kind == 1:
        c.oval(x, y, s * 0.8, s * 0.62, mix(p.main, (0.95, 0.5, 0.1), 0.4))
        c.line([(x, y - 0.5 * s), (x + 0.2 * s, y - 1.0 * s)], p.near, 0.2 * s)
    else:
        for lean in (-0.5, 0, 0.5):
            c.blob(
                [
                    (x, y),
                    (x + lean * s, y - s),
                    (x + lean * 1.4 * s, y - 1.8 * s),
                    (x + lean * 0.4 * s, y - 0.9 * s),
                ],
                gardening.leaf(stage),
            )


def _desert_garden(stage: Stage) -> None:
    """Draw cactuses and succulents."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.6)
    terrain.land(stage, terrain.ridge(stage, 0.6, 0.16), p.far, mix(p.far, p.haze, 0.5))
    terrain.land(stage, terrain.swell(stage, 0.62, 0.02, 0.6), p.ground, mix(p.ground, p.mid, 0.35))
    for number, x in enumerate(np.linspace(0.06, 0.94, 7)):
        c.sheet()
        y, s = stage.pick(0.7, 0.95), stage.pick(0.2, 0.4)
        leaf = mix(mix(p.mid, p.near, 0.4), (0.25, 0.5, 0.35), 0.4)
        if number % 2 == 0:
            c.limb((x, y), (x, y - s), (0.22 * s, 0.2 * s), leaf)
            for side, level in ((-1, 0.4), (1, 0.55)):
                c.limb(
                    (x, y - level * s),
                    (x + side * 0.26 * s, y - level * s),
                    (0.13 * s, 0.13 * s),
                    leaf,
                )
                c.limb(
                    (x + side * 0.26 * s, y - level * s),
                    (x + side * 0.26 * s, y - (level + 0.26) * s),
                    (0.13 * s, 0.12 * s),
                    leaf,
                )
            c.area(ring(float(x), y - s * 1.1, (0.09 * s, 0.04 * s), 10), p.main)
        else:
            for angle in np.linspace(-165, -15, 9):
                t = np.radians(angle)
                c.area(
                    [
                        (x - 0.03, y),
                        (x + 0.4 * s * float(np.cos(t)), y + 0.5 * s * float(np.sin(t))),
                        (x + 0.03, y),
                    ],
                    lighter(leaf, 0.1),
                )
    gardening.extras(stage)


def _night_garden(stage: Stage) -> None:
    """Draw giant plants that glow."""
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, darker(p.sky, 0.5), darker(p.near, 0.3), edge=False)
    sky.stars(stage, 0.7, 40)
    terrain.land(stage, terrain.swell(stage, 0.85, 0.03, 0.6), darker(p.near, 0.4))
    for x in np.linspace(0.08, 0.92, 7) + stage.rng.normal(0, 0.03, 7):
        s, tint = stage.pick(0.25, 0.6), lighter(gardening.bloom(stage), 0.15)
        foot = stage.pick(0.86, 0.98)
        c.sheet()
        c.glow(float(x), foot - s, 0.22, tint)
        c.curve(
            [(x, foot), (x + 0.02, foot - s * 0.5), (x, foot - s)], mix(p.mid, p.light, 0.3), 0.022
        )
        if stage.coin():
            c.area(
                [*arc(float(x), foot - s + 0.02, 0.12, 0.12, 180, 360, 14)], tint, darker(tint, 0.3)
            )
            for dx in (-0.06, 0, 0.05):
                c.oval(float(x) + dx, foot - s - 0.03, 0.016, colour=p.light)
        else:
            for px, py in ring(float(x), foot - s, (0.07,), 7):
                c.oval(px, py, 0.045, colour=tint)
            c.oval(float(x), foot - s, 0.04, colour=p.light)
    for x, y in stage.rng.uniform(0, 1, (30, 2)):
        c.oval(x, 0.3 + 0.65 * y, 0.004, colour=lighter(p.second, 0.5), edge=False)
    gardening.extras(stage)


def _roof(stage: Stage) -> None:
    """Draw pots on a roof above a city."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.75)
    for x in stage.rng.uniform(0, 1, 10):
        buildings.tower(
            c,
            float(x),
            0.76,
            stage.pick(0.08, 0.14),
            stage.pick(0.12, 0.42),
            mix(p.far, p.haze, stage.pick(0, 0.5)),
            p.second,
            stage.rng,
            0.3,
        )
    c.sheet()
    c.box(-0.1, 0.68, 1.1, 0.78, mix(p.main, p.ground, 0.5), darker(p.main, 0.3))
    c.box(-0.1, 0.78, 1.1, 1.1, mix(p.ground, p.light, 0.2), darker(p.ground, 0.15))
    c.sheet()
    for x in np.linspace(0.07, 0.93, 7):
        y, s = stage.pick(0.82, 0.97), stage.pick(0.2, 0.34)
        if stage.coin():
            plants.potted(c, float(x), y, s, gardening.leaf(stage), gardening.bloom(stage))
        else:
            for dx in (-0.03, 0.0, 0.03):
                plants.flower(
                    c,
                    float(x) + dx,
                    y - 0.08,
                    s * 0.7,
                    gardening.bloom(stage),
                    p.second,
                    gardening.leaf(stage),
                    6,
                )
            c.area(
                path("-0.06,-0.09 0.06,-0.09 0.045,0 -0.045,0", x, y),
                p.main,
                darker(p.main),
            )
    gardening.extras(stage)


SCENE = Scene(
    {
        "cottage garden": _cottage_garden,
        "formal garden": _formal,
        "stone garden": _zen,
        "water garden": _water,
        "flower meadow": _meadow,
        "kitchen garden": _kitchen,
        "cactus garden": _desert_garden,
        "glowing garden": _night_garden,
        "roof garden": _roof,
        "isometric garden": isometric.garden,
    },
    ELEMENTS,
)
