"""Landscapes: layers from the distance to the foreground, under a sky."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import path
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import buildings, landmarks, plants, sky, terrain
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.scenes.stage import Stage

ELEMENTS = (
    *sky.WEATHER,
    "boat",
    "cabin",
    "lighthouse",
    "castle",
    "balloon",
    "lone tree",
    "river",
    "fox",
    "flowers",
    "pines",
)


def _horizon(stage: Stage) -> float:
    return {"wide": 0.72, "close": 0.45, "tilted": 0.62}.get(stage.composition, 0.58)


def _mountains(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon + 0.1)
    for number, (share, height) in enumerate(((0.0, 0.30), (0.45, 0.26), (0.8, 0.15))):
        line = terrain.ridge(stage, horizon + 0.05 + 0.09 * number, height)
        tint = mix(p.far, p.mid, share)
        terrain.land(stage, line, tint, mix(tint, p.haze, 0.45))
        if number == 0:
            _caps(stage, line)
    terrain.land(stage, terrain.swell(stage, horizon + 0.26, 0.02, 0.8), p.near, darker(p.near))
    landmarks.foreground(stage, horizon + 0.26)


def _caps(stage: Stage, line: NDArray[np.float64]) -> None:
    """Put snow on the highest peaks."""
    p = stage.palette
    level = float(np.quantile(line[:, 1], 0.30))
    for i in range(1, len(line) - 1):
        x, y = line[i]
        if y < level and y <= line[max(i - 5, 0) : i + 6, 1].min():
            w = 0.03 + 0.12 * (level - y)
            h = 0.95 * w
            stage.canvas.area(
                [
                    (x, y),
                    (x + w, y + h),
                    (x + 0.45 * w, y + 0.8 * h),
                    (x + 0.1 * w, y + 1.25 * h),
                    (x - 0.4 * w, y + 0.75 * h),
                    (x - w, y + h),
                ],
                mix(p.light, p.haze, 0.15),
            )


def _sea(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon)
    water = mix(p.mid, p.sky, 0.45)
    stage.canvas.box(-0.1, horizon, 1.1, 1.1, mix(water, p.haze, 0.3), darker(water, 0.25))
    if stage.composition in ("left", "right"):
        side = 0.02 if stage.composition == "left" else 0.98
        cliff = [
            (side, horizon - 0.22),
            (0.5 + (side - 0.5) * 0.5, horizon - 0.16),
            (0.5 + (side - 0.5) * 0.42, horizon + 0.02),
            (side, horizon + 0.03),
        ]
        stage.canvas.area(
            [
                (side + (side - 0.5) * 0.3, horizon - 0.2),
                *cliff,
                (side + (side - 0.5) * 0.3, horizon + 0.03),
            ],
            p.far,
            p.mid,
        )
    for number in range(7):
        y = horizon + 0.03 + 0.055 * number * (1 + 0.12 * number)
        x0 = stage.pick(-0.1, 0.5)
        stage.canvas.curve(
            [(x0, y), (x0 + 0.15, y - 0.008), (x0 + 0.3, y + 0.004), (x0 + 0.45, y)],
            lighter(water, 0.3),
            0.004 + 0.001 * number,
        )
    stage.canvas.sheet()
    landmarks.foreground(stage, 0.95)


def _forest(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon + 0.1)
    kind = (
        ("pine", "birch", "round", "bare")[int(stage.rng.integers(4))]
        if not stage.has("pines")
        else "pine"
    )
    for number, (size, tint) in enumerate(((0.28, p.far), (0.42, p.mid), (0.72, p.near))):
        base = horizon + 0.08 + 0.13 * number
        terrain.land(stage, terrain.swell(stage, base, 0.012, 0.7), tint)
        for x in np.linspace(-0.05, 1.05, 9 - 2 * number) + stage.rng.normal(
            0, 0.03, 9 - 2 * number
        ):
            height = size * stage.pick(0.75, 1.15)
            plants.tree(
                stage.canvas,
                float(x),
                base + 0.02,
                height,
                mix(tint, p.accent if stage.coin() else p.main, 0.12),
                darker(p.near, 0.4),
                stage.rng,
                kind,
            )
    landmarks.foreground(stage, 0.93)


def _dunes(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon)
    for number in range(4):
        share = number / 3
        base = horizon + 0.02 + 0.12 * number
        line = terrain.swell(stage, base, 0.045 + 0.012 * number, 0.55)
        tint = mix(mix(p.ground, p.haze, 0.4), p.mid, share)
        terrain.land(stage, line, tint, mix(tint, p.near, 0.3))
        shade = np.vstack([line[8:30], line[8:30][::-1] + np.array([0.05, 0.10])])
        stage.canvas.area(shade, mix(tint, p.near, 0.35), edge=False)
    landmarks.foreground(stage, 0.9)


def _lake(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon)
    line = terrain.ridge(stage, horizon - 0.02, 0.26)
    second = terrain.ridge(stage, horizon, 0.12)
    water = mix(p.sky, p.haze, 0.5)
    terrain.land(stage, line, p.far, mix(p.far, p.haze, 0.4))
    terrain.land(stage, second, p.mid)
    stage.canvas.box(-0.1, horizon + 0.02, 1.1, 1.1, water, mix(water, p.sky, 0.7))
    for shape, tint in ((line, p.far), (second, p.mid)):
        mirrored = np.column_stack([shape[:, 0], 2 * horizon + 0.04 - shape[:, 1] * 1.0])
        mirrored[:, 1] = np.maximum(horizon + 0.02, (mirrored[:, 1] - horizon) * 0.75 + horizon)
        outline = np.vstack([mirrored, [(1.08, horizon + 0.02), (-0.08, horizon + 0.02)]])
        stage.canvas.area(outline, mix(tint, water, 0.5), edge=False)
    for _ in range(12):
        x, y = stage.pick(0, 0.8), stage.pick(horizon + 0.06, 0.95)
        stage.canvas.line([(x, y), (x + stage.pick(0.05, 0.22), y)], lighter(water, 0.35), 0.004)
    terrain.land(stage, terrain.swell(stage, 0.99, 0.03, 0.5), p.near)
    landmarks.foreground(stage, 0.95)


def _hills(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon)
    for number in range(4):
        base = horizon + 0.12 * number
        tint = mix(mix(p.far, p.haze, 0.25), p.near, number / 3)
        line = terrain.swell(stage, base, 0.05, 0.5 + 0.2 * number)
        terrain.land(stage, line, tint, lighter(tint, 0.12))
        rows = mix(tint, p.second, 0.35)
        for step in range(5):
            part = line[5 + 5 * step : 12 + 5 * step] + np.array([0, 0.03])
            stage.canvas.curve(part[::2] + stage.rng.normal(0, 0.002, part[::2].shape), rows, 0.004)
        for _ in range(3):
            x, y = line[int(stage.rng.integers(4, 36))]
            plants.tree(
                stage.canvas,
                x,
                y + 0.015,
                0.06 + 0.035 * number,
                mix(p.near, p.main, 0.2 * stage.pick(0, 2)),
                darker(p.near, 0.5),
                stage.rng,
                "cypress" if stage.coin() else "round",
            )
    landmarks.foreground(stage, 0.93)


def _canyon(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon + 0.12)
    for _ in range(4):
        x, w, h = stage.pick(0.05, 0.95), stage.pick(0.06, 0.14), stage.pick(0.10, 0.3)
        _mesa(stage, x, horizon + 0.12, w, h, mix(p.far, p.mid, stage.pick(0, 0.7)))
    terrain.land(
        stage, terrain.swell(stage, horizon + 0.14, 0.008, 0.6), p.ground, mix(p.ground, p.mid, 0.6)
    )
    for side in (-1, 1):
        stage.canvas.sheet()
        edge = 0.5 + side * 0.55
        wall = [
            (edge, 0.12),
            (0.5 + side * 0.36, 0.16),
            (0.5 + side * 0.33, 0.4),
            (0.5 + side * 0.27, 0.45),
            (0.5 + side * 0.24, 0.75),
            (0.5 + side * 0.14, 0.82),
            (0.5 + side * 0.10, 1.1),
            (edge, 1.1),
        ]
        stage.canvas.area(wall, p.near, darker(p.near, 0.35))
        for level in (0.28, 0.42, 0.58, 0.74, 0.9):
            stage.canvas.line(
                [(edge, level), (0.5 + side * (0.36 - 0.22 * level), level + 0.03)],
                mix(p.near, p.main, 0.45),
                0.011,
            )
    landmarks.foreground(stage, 0.95)


def _mesa(stage: Stage, x: float, y: float, w: float, h: float, tint: Colour) -> None:
    outline = [
        (x - w, y),
        (x - 0.7 * w, y - 0.35 * h),
        (x - 0.6 * w, y - h),
        (x + 0.6 * w, y - h),
        (x + 0.72 * w, y - 0.4 * h),
        (x + w, y),
    ]
    stage.canvas.area(outline, tint, mix(tint, stage.palette.haze, 0.3))
    stage.canvas.line(
        [(x - 0.62 * w, y - 0.75 * h), (x + 0.62 * w, y - 0.75 * h)], darker(tint), 0.006
    )


def _islands(stage: Stage) -> None:
    """Draw islands that float in the air."""
    p = stage.palette
    sky.sky(stage, 0.95)
    places = (
        (0.25, 0.36, 0.12),
        (0.8, 0.28, 0.09),
        (0.54, 0.62, 0.25),
        (0.12, 0.78, 0.10),
        (0.9, 0.76, 0.11),
    )
    for left, top, w in places:
        stage.canvas.sheet()
        x, y = left + stage.pick(-0.04, 0.04), top + stage.pick(-0.03, 0.03)
        rock = path("-1,0 -0.6,0.5 -0.1,1.2 0.35,0.6 1,0", x, y, w)
        stage.canvas.area(rock, mix(p.far, p.near, 0.4), darker(p.near))
        stage.canvas.blob(
            path("-1.05,0 -0.5,-0.16 0.5,-0.13 1.05,0 0,0.16", x, y, w),
            p.mid,
            lighter(p.mid, 0.2),
        )
        for dx in (-0.5, 0.55):
            plants.tree(
                stage.canvas,
                x + dx * w,
                y,
                w * stage.pick(0.6, 1.0),
                mix(p.mid, p.main, 0.4),
                darker(p.near, 0.4),
                stage.rng,
                "round" if stage.coin() else "pine",
            )
        if w > 0.2:
            buildings.castle(
                stage.canvas, x, y, w * 0.85, mix(p.light, p.far, 0.25), p.main, p.second
            )
            stage.canvas.line(
                [(x + 0.8 * w, y + 0.02), (x + 0.82 * w, y + 1.2 * w)], lighter(p.sky, 0.6), 0.014
            )
    landmarks.foreground(stage, 1.2)


def _waterfall(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon)
    terrain.land(stage, terrain.ridge(stage, horizon - 0.05, 0.2), p.far, mix(p.far, p.haze, 0.5))
    x = stage.place[0]
    stage.canvas.sheet()
    for side in (-1, 1):
        cliff = [
            (x + side * 0.09, 0.3),
            (x + side * 0.25, 0.26),
            (x + side * 1.2, 0.34),
            (x + side * 1.2, 1.1),
            (x + side * 0.12, 0.82),
        ]
        stage.canvas.area(cliff, p.mid, p.near)
        for step in range(4):
            top = (x + side * (0.15 + 0.1 * step), 0.36)
            stage.canvas.line(
                [top, (top[0] + side * 0.02, 0.62 + 0.05 * step)], darker(p.mid), 0.008
            )
    fall = mix(p.light, p.sky, 0.2)
    stage.canvas.area(
        [(x - 0.1, 0.3), (x + 0.1, 0.3), (x + 0.13, 0.84), (x - 0.13, 0.84)],
        fall,
        mix(fall, p.sky, 0.3),
    )
    for dx in (-0.06, -0.02, 0.03, 0.07):
        stage.canvas.line([(x + dx, 0.33), (x + dx * 1.2, 0.8)], mix(fall, p.mid, 0.3), 0.007)
    stage.canvas.sheet()
    stage.canvas.blob(
        path("-0.5,0.9 -0.2,0.82 0.2,0.82 0.5,0.9 0.4,1.1 -0.4,1.1", x),
        mix(p.sky, p.mid, 0.4),
        mix(p.sky, p.near, 0.5),
    )
    for dx in np.linspace(-0.16, 0.16, 7):
        stage.canvas.oval(
            x + float(dx),
            0.84 + stage.pick(-0.01, 0.02),
            0.035,
            colour=lighter(fall, 0.4),
            edge=False,
        )
    for offset in (-0.42, -0.3, 0.32, 0.44):
        plants.tree(
            stage.canvas,
            x + offset,
            0.36,
            stage.pick(0.14, 0.22),
            mix(p.near, p.accent, 0.15),
            darker(p.near, 0.5),
            stage.rng,
            "pine",
        )
    landmarks.foreground(stage, 0.97)


def _village(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon)
    terrain.land(stage, terrain.ridge(stage, horizon - 0.02, 0.22), p.far, mix(p.far, p.haze, 0.4))
    for number in range(3):
        base = horizon + 0.08 + 0.13 * number
        line = terrain.swell(stage, base, 0.02, 0.6)
        terrain.land(stage, line, mix(p.mid, p.near, number / 2), lighter(p.mid, 0.1))
        for x in stage.rng.uniform(0.05, 0.95, 4 - number):
            size = 0.10 + 0.055 * number
            roof = (p.main, p.second, p.accent)[int(stage.rng.integers(3))]
            buildings.house(
                stage.canvas,
                float(x),
                base + 0.01,
                size,
                mix(p.light, p.ground, 0.3),
                roof,
                p.second if stage.dark else p.far,
            )
        for x in stage.rng.uniform(0, 1, 4):
            plants.tree(
                stage.canvas,
                float(x),
                base + 0.02,
                0.09 + 0.03 * number,
                p.near,
                darker(p.near, 0.5),
                stage.rng,
                "pine" if stage.has("snow", "pines") else "round",
            )
    landmarks.foreground(stage, 0.95)


def _volcano(stage: Stage) -> None:
    p, horizon = stage.palette, _horizon(stage)
    sky.sky(stage, horizon + 0.1)
    x = stage.place[0]
    for step in range(5):
        sky.cloud(
            stage.canvas,
            x + 0.05 * step,
            0.26 - 0.045 * step,
            0.08 + 0.03 * step,
            mix(p.far, p.dark, 0.25),
        )
    stage.canvas.glow(x, 0.3, 0.3, p.second)
    cone = [
        (x - 0.55, horizon + 0.2),
        (x - 0.2, 0.46),
        (x - 0.09, 0.3),
        (x - 0.03, 0.32),
        (x + 0.04, 0.305),
        (x + 0.09, 0.3),
        (x + 0.2, 0.45),
        (x + 0.55, horizon + 0.2),
    ]
    stage.canvas.area(cone, mix(p.mid, p.dark, 0.35), p.mid)
    for dx, low in ((-0.05, 0.55), (0.03, 0.66), (0.07, 0.5)):
        stage.canvas.curve(
            [(x + dx * 0.6, 0.31), (x + dx, 0.4), (x + dx * 1.8, low)], p.main, 0.016
        )
    terrain.land(stage, terrain.ridge(stage, horizon + 0.16, 0.07), mix(p.mid, p.near, 0.5))
    terrain.land(stage, terrain.swell(stage, horizon + 0.3, 0.02, 0.7), p.near, darker(p.near))
    landmarks.foreground(stage, horizon + 0.3)


SCENE = Scene(
    {
        "mountains": _mountains,
        "sea": _sea,
        "forest": _forest,
        "dunes": _dunes,
        "lake": _lake,
        "hills": _hills,
        "canyon": _canyon,
        "floating islands": _islands,
        "waterfall": _waterfall,
        "village": _village,
        "volcano": _volcano,
    },
    ELEMENTS,
)
