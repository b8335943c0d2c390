"""Cities of the future: towers, domes, gardens in the air, tracks, water."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import Colour, darker, lighter, mix
from useralign.domains.drawing.parts import buildings, plants, sky, terrain, traffic
from useralign.domains.drawing.scenes import isometric
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from useralign.domains.drawing.scenes.stage import Stage

ELEMENTS = (
    *sky.WEATHER,
    "flying cars",
    "airships",
    "monorail",
    "gardens",
    "river",
    "bridges",
    "spire",
    "signs",
    "people",
    "wind turbines",
    "gears",
)


def _base(stage: Stage) -> float:
    return {"wide": 0.86, "close": 0.98}.get(stage.composition, 0.92)


def _rows(stage: Stage, draw: str) -> None:
    """Draw three rows of towers, the far ones pale."""
    c, p = stage.canvas, stage.palette
    base = _base(stage)
    x0, _, scale, _ = stage.place
    for row, tint in enumerate((mix(p.far, p.haze, 0.45), p.far, mix(p.mid, p.near, 0.4))):
        c.sheet()
        for x in np.linspace(-0.02, 1.02, 9 - 2 * row) + stage.rng.normal(0, 0.025, 9 - 2 * row):
            near = 1.3 - abs(float(x) - x0)
            h = stage.pick(0.3, 0.62) * near * (1.05 - 0.2 * row) * min(max(scale, 0.75), 1.25)
            _tower(
                stage,
                float(x),
                base + 0.03 * row,
                0.10 + 0.025 * row,
                h,
                mix(tint, p.main if stage.coin() else p.accent, 0.12),
                draw,
            )


def _tower(stage: Stage, x: float, y: float, w: float, h: float, tint: Colour, kind: str) -> None:
    c, p = stage.canvas, stage.palette
    lit = mix(p.second, p.light, 0.3)
    if kind == "box":
        buildings.tower(
            c,
            x,
            y,
            w,
            h,
            tint,
            lit if stage.dark or stage.light == "dusk" else mix(tint, p.light, 0.45),
            stage.rng,
            0.45,
        )
    elif kind == "round":
        c.area(
            [*arc(x, y - h, w / 2, w * 0.55, 180, 360, 14), (x + w / 2, y), (x - w / 2, y)],
            lighter(tint, 0.12),
            darker(tint, 0.1),
        )
        for level in np.arange(0.05, h - 0.03, 0.05):
            c.curve(
                [(x - w / 2, y - level), (x, y - level + 0.012), (x + w / 2, y - level)],
                mix(tint, lit, 0.6),
                0.006,
            )
    elif kind == "needle":
        c.blob(
            [
                (x, y - h * 1.1),
                (x + w * 0.12, y - h * 0.8),
                (x + w * 0.2, y - h * 0.4),
                (x + w * 0.5, y),
                (x - w * 0.5, y),
                (x - w * 0.2, y - h * 0.4),
                (x - w * 0.12, y - h * 0.8),
            ],
            lighter(tint, 0.1),
            darker(tint, 0.15),
        )
        c.oval(x, y - h * 0.72, w * 0.55, w * 0.16, mix(tint, p.light, 0.5))
        c.oval(x, y - h * 0.75, w * 0.3, w * 0.09, lit)
    else:
        c.area(
            [(x - w / 2, y), (x - w / 2, y - h * 0.85), (x + w / 2, y - h), (x + w / 2, y)],
            tint,
            darker(tint, 0.2),
        )
        for level in np.arange(0.06, h * 0.8, 0.085):
            c.line([(x - w / 2, y - level), (x + w / 2, y - level)], darker(tint, 0.25), 0.008)
            plants.bush(
                c,
                x + stage.pick(-0.25, 0.25) * w,
                y - level,
                w * 0.34,
                mix(p.near, (0.25, 0.55, 0.3), 0.4),
                stage.rng,
            )


def _finish(stage: Stage) -> None:
    """Draw the foreground and what moves."""
    c, p = stage.canvas, stage.palette
    base = _base(stage)
    c.sheet()
    if stage.has("river"):
        c.box(-0.1, base - 0.02, 1.1, 1.1, mix(p.sky, p.accent, 0.25), darker(p.sky, 0.3))
        for _ in range(14):
            x, y = stage.pick(0, 0.9), stage.pick(base, 0.99)
            c.line([(x, y), (x + stage.pick(0.04, 0.14), y)], mix(p.second, p.light, 0.4), 0.004)
    else:
        c.box(-0.1, base, 1.1, 1.1, mix(p.near, p.ground, 0.25), darker(p.near, 0.3))
    if stage.has("bridges"):
        for y in (0.5, 0.66):
            c.curve(
                [(-0.05, y), (0.3, y - 0.05), (0.7, y - 0.05), (1.05, y)],
                lighter(p.far, 0.35),
                0.014,
            )
    if stage.has("spire"):
        traffic.spire(stage)
    if stage.has("monorail"):
        traffic.monorail(stage)
    traffic.moving(stage)
    sky.weather(stage)


def _towers(stage: Stage) -> None:
    sky.sky(stage, 0.9)
    _rows(stage, "box")
    _finish(stage)


def _round(stage: Stage) -> None:
    sky.sky(stage, 0.9)
    _rows(stage, "round")
    _finish(stage)


def _needles(stage: Stage) -> None:
    sky.sky(stage, 0.9)
    _rows(stage, "needle")
    _finish(stage)


def _green(stage: Stage) -> None:
    sky.sky(stage, 0.9)
    _rows(stage, "terrace")
    _finish(stage)


def _domes(stage: Stage) -> None:
    """Draw glass domes on the ground of another world."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.75)
    terrain.land(stage, terrain.ridge(stage, 0.7, 0.2), p.far, mix(p.far, p.haze, 0.4))
    terrain.land(
        stage, terrain.swell(stage, 0.72, 0.015, 0.6), p.ground, mix(p.ground, p.near, 0.5)
    )
    x0 = stage.place[0]
    for x, y, r in (
        (x0 - 0.32, 0.76, 0.13),
        (x0 + 0.32, 0.78, 0.15),
        (x0, 0.86, 0.28 * min(stage.place[2], 1.1)),
    ):
        c.sheet()
        glass = mix(p.sky, p.light, 0.55)
        c.area([*arc(x, y, r, r, 180, 360, 26)], mix(glass, p.accent, 0.15), glass)
        for k in range(4):
            w = r * stage.pick(0.1, 0.18)
            bx = x + r * (-0.55 + 0.36 * k)
            buildings.tower(
                c,
                bx,
                y,
                w * 1.5,
                r * stage.pick(0.3, 0.62),
                mix(p.main, p.far, stage.pick(0, 0.8)),
                p.second,
                stage.rng,
                0.5,
            )
        for tx in (-0.7, 0.72):
            plants.tree(
                c, x + tx * r, y, r * 0.36, mix(p.mid, (0.25, 0.55, 0.3), 0.4), p.near, stage.rng
            )
        for share in (0.0, 0.5, 1.0):
            c.curve(arc(x, y, r * share + 0.001, r, 180, 360, 20), lighter(p.light, 0.3), 0.005)
        c.curve(arc(x, y, r, r, 180, 360, 26), p.light, 0.01)
        c.box(x - r * 1.04, y, x + r * 1.04, y + 0.025, mix(p.light, p.far, 0.4))
    _finish_open(stage)


def _finish_open(stage: Stage) -> None:
    stage.canvas.sheet()
    if stage.has("monorail"):
        traffic.monorail(stage)
    traffic.moving(stage)
    sky.weather(stage)


def _floating(stage: Stage) -> None:
    """Draw a city on discs in the sky."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 1.0)
    for x, y, w in ((0.2, 0.36, 0.13), (0.82, 0.42, 0.15), (stage.place[0], 0.66, 0.3)):
        c.sheet()
        c.blob(
            path("-1,0 -0.5,0.3 0,0.75 0.5,0.3 1,0", x, y, w),
            mix(p.near, p.far, 0.4),
            darker(p.near, 0.3),
        )
        c.glow(x, y + 0.7 * w, w * 0.8, lighter(p.accent, 0.2))
        for k in range(7):
            bx = x + w * (-0.75 + 0.25 * k)
            h = w * stage.pick(0.4, 1.0) * (1.3 - abs(bx - x) / w)
            _tower(
                stage,
                bx,
                y + 0.01,
                w * 0.24,
                h,
                mix(p.main, p.far, stage.pick(0, 1)),
                ("round", "needle", "box")[k % 3],
            )
        c.oval(x, y, w * 1.04, w * 0.13, mix(p.mid, p.light, 0.3))
    for _ in range(4):
        sky.cloud(
            c,
            stage.pick(0, 1),
            stage.pick(0.75, 0.98),
            stage.pick(0.12, 0.22),
            mix(p.haze, p.light, 0.5),
        )
    _finish_open(stage)


def _street(stage: Stage) -> None:
    """Draw a street seen from the ground."""
    c, p = stage.canvas, stage.palette
    sky.sky(stage, 0.7)
    x0 = stage.place[0]
    for row in range(5):
        share = row / 4
        c.sheet()
        for side in (-1, 1):
            inner = x0 + side * (0.05 + 0.34 * share**1.4)
            outer = x0 + side * 1.2
            top = 0.42 - 0.5 * share
            tint = mix(mix(p.far, p.haze, 0.4), p.near, share)
            c.area(
                [
                    (inner, top),
                    (outer, top - 0.15 * share),
                    (outer, 1.1),
                    (inner, 0.72 + 0.3 * share),
                ],
                tint,
                darker(tint, 0.2),
            )
            for _ in range(9):
                wx = inner + side * stage.pick(0.01, 0.03 + 0.10 * share)
                wy = stage.pick(max(top, 0.02) + 0.03, 0.68 + 0.2 * share)
                c.box(
                    wx,
                    wy,
                    wx + 0.01 + 0.014 * share,
                    wy + 0.018 + 0.02 * share,
                    lighter((p.second, p.main, p.accent)[int(stage.rng.integers(3))], 0.25),
                    edge=False,
                )
    c.area(
        [(x0 - 0.05, 0.72), (x0 + 0.05, 0.72), (x0 + 0.45, 1.1), (x0 - 0.45, 1.1)],
        darker(p.near, 0.35),
        darker(p.near, 0.1),
    )
    for k in range(5):
        y = 0.75 + 0.06 * k
        c.line([(x0, y), (x0, y + 0.012 + 0.008 * k)], p.second, 0.004 + 0.003 * k)
    _finish_open(stage)


def _ringworld(stage: Stage) -> None:
    """Draw a city along a great ring in space."""
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, darker(p.sky, 0.5), p.far, edge=False)
    sky.stars(stage, 1.0, 60)
    sky.planet(stage)
    c.sheet()
    x0 = stage.place[0]
    c.area(
        [*arc(x0, 0.72, 0.62, 0.56, 180, 360, 40), *arc(x0, 0.74, 0.48, 0.42, 360, 180, 40)],
        mix(p.light, p.far, 0.5),
        p.far,
    )
    for angle in np.linspace(188, 352, 22):
        t = np.radians(angle)
        r = stage.pick(0.08, 0.2)
        foot = (x0 + 0.49 * float(np.cos(t)), 0.73 + 0.43 * float(np.sin(t)))
        tip = (x0 + (0.49 - r) * float(np.cos(t)), 0.73 + (0.43 - r) * float(np.sin(t)))
        c.limb(foot, tip, (0.05, 0.03), mix(p.main, p.near, stage.pick(0, 0.8)))
        c.oval(tip[0], tip[1], 0.012, colour=lighter(p.second, 0.3))
    c.sheet()
    for x in np.linspace(0.02, 0.98, 9):
        _tower(
            stage,
            float(x),
            1.02,
            0.09,
            stage.pick(0.12, 0.3),
            mix(p.near, p.main, stage.pick(0, 0.4)),
            "box",
        )
    c.area(ring(x0, 0.56, (0.05, 0.02), 8), lighter(p.second, 0.4))
    _finish_open(stage)


SCENE = Scene(
    {
        "towers": _towers,
        "round towers": _round,
        "needles": _needles,
        "terraces": _green,
        "domes": _domes,
        "sky city": _floating,
        "street": _street,
        "ring station": _ringworld,
        "isometric blocks": isometric.city,
    },
    ELEMENTS,
)
