"""What stands in the foreground of a landscape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import path
from useralign.domains.drawing.colour import darker, lighter, mix
from useralign.domains.drawing.parts import (
    animals,
    buildings,
    plants,
    sky,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.scenes.stage import Stage


def foreground(stage: Stage, y: float) -> None:
    """Add the elements, the largest last."""
    x = {"left": 0.24, "right": 0.76}.get(stage.composition, stage.pick(0.3, 0.7))
    y = min(y, 0.95)
    stage.canvas.sheet()
    for name, draw in _LANDMARKS.items():
        if stage.has(name):
            draw(stage, x, y)
    sky.weather(stage)


def _river(stage: Stage, _x: float, y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    water = mix(p.sky, p.light, 0.35)
    canvas.blob(
        [
            (0.5, y - 0.06),
            (0.56, y - 0.02),
            (0.44, y + 0.04),
            (0.7, 1.15),
            (0.25, 1.15),
            (0.38, y + 0.03),
            (0.48, y - 0.02),
        ],
        water,
    )


def _balloon(stage: Stage, _x: float, _y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    buildings.balloon(canvas, stage.pick(0.2, 0.8), stage.pick(0.2, 0.32), 0.2, p.main, p.second)
    buildings.balloon(canvas, stage.pick(0.2, 0.8), stage.pick(0.3, 0.42), 0.10, p.accent, p.light)


def _boat(stage: Stage, _x: float, y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    buildings.boat(canvas, stage.pick(0.3, 0.7), min(y, 0.8) - 0.05, 0.18, p.main, p.light)


def _castle(stage: Stage, x: float, y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    buildings.castle(canvas, x, y - 0.02, 0.28, mix(p.far, p.light, 0.3), p.main, p.second)


def _lighthouse(stage: Stage, x: float, y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    canvas.blob(
        path("-0.2,0.08 -0.1,-0.06 0.08,-0.08 0.22,0.08 0,0.2", x, y),
        p.near,
        darker(p.near),
    )
    buildings.lighthouse(canvas, x, y - 0.06, 0.38, p.light, p.main, mix(p.second, p.light, 0.5))


def _cabin(stage: Stage, x: float, y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    buildings.house(
        canvas, x, y, 0.17, mix(p.near, p.ground, 0.5), p.main, mix(p.second, p.light, 0.3)
    )
    canvas.curve(
        [(x + 0.05, y - 0.17), (x + 0.07, y - 0.24), (x + 0.05, y - 0.31)],
        lighter(p.haze, 0.4),
        0.012,
    )


def _pines(stage: Stage, _x: float, _y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    for dx in (-0.46, -0.38, 0.36, 0.45):
        plants.tree(
            canvas,
            0.5 + dx,
            1.0,
            stage.pick(0.3, 0.48),
            darker(p.near, 0.25),
            darker(p.near, 0.6),
            stage.rng,
            "pine",
        )


def _lone_tree(stage: Stage, x: float, y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    kind = ("round", "bare", "blossom")[int(stage.rng.integers(3))]
    plants.tree(
        canvas,
        x,
        min(y + 0.03, 0.98),
        0.42,
        mix(p.main, p.near, 0.25),
        darker(p.near, 0.55),
        stage.rng,
        kind,
    )


def _fox(stage: Stage, x: float, _y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    animals.fox(canvas, 1 - x, 0.96, 0.16, mix(p.main, (0.85, 0.4, 0.1), 0.4), p.light)


def _flowers(stage: Stage, _x: float, _y: float) -> None:
    canvas, p = stage.canvas, stage.palette
    for fx in stage.rng.uniform(0, 1, 22):
        petal = (p.main, p.second, p.accent, p.light)[int(stage.rng.integers(4))]
        plants.flower(
            canvas,
            float(fx),
            1.02 + stage.pick(-0.03, 0.03),
            stage.pick(0.08, 0.16),
            petal,
            p.second,
            darker(p.near, 0.2),
            5 if stage.coin() else 3,
        )


_LANDMARKS: dict[str, Callable[[Stage, float, float], None]] = {
    "river": _river,
    "balloon": _balloon,
    "boat": _boat,
    "castle": _castle,
    "lighthouse": _lighthouse,
    "cabin": _cabin,
    "pines": _pines,
    "lone tree": _lone_tree,
    "fox": _fox,
    "flowers": _flowers,
}
