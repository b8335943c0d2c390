"""Rooms: a wall, a floor and a window in perspective, with furniture."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path
from useralign.domains.drawing.colour import Colour, darker, lighter, mix
from useralign.domains.drawing.parts import animals, furniture, plants
from useralign.domains.drawing.scenes import isometric
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from useralign.domains.drawing.scenes.stage import Stage

ELEMENTS = (
    "armchair",
    "sofa",
    "bed",
    "hammock",
    "bookshelf",
    "lamp",
    "pendant lamps",
    "fireplace",
    "rug",
    "plants",
    "cat",
    "dog-eared books",
    "paintings",
    "tea",
    "candles",
    "piano",
    "desk",
    "rain",
    "snow",
    "moon",
    "globe",
    "ladder",
    "string lights",
)


def _shell(
    stage: Stage, wall: Colour, floor: Colour, vanish: tuple[float, float] = (0.5, 0.45)
) -> None:
    """Draw the back wall, side walls, ceiling and floorboards."""
    c = stage.canvas
    vx, vy = vanish
    left, right, top, low = vx - 0.34, vx + 0.34, vy - 0.33, vy + 0.24
    c.area([(-0.1, -0.15), (1.1, -0.15), (right, top), (left, top)], lighter(wall, 0.25))
    c.area([(-0.1, -0.15), (left, top), (left, low), (-0.1, 1.1)], darker(wall, 0.16))
    c.area([(1.1, -0.15), (right, top), (right, low), (1.1, 1.1)], darker(wall, 0.10))
    c.area([(-0.1, 1.1), (left, low), (right, low), (1.1, 1.1)], floor, darker(floor, 0.2))
    for share in np.linspace(0, 1, 9):
        c.line(
            [(left + (right - left) * share, low), (-0.5 + 2.0 * share, 1.1)],
            darker(floor, 0.28),
            0.004,
        )
    c.box(left, top, right, low, wall, darker(wall, 0.06))
    c.box(left, low - 0.025, right, low, lighter(wall, 0.4))
    c.sheet()


def _window(stage: Stage, x: float, y: float, w: float, h: float, shape: str = "square") -> None:
    """Draw a window with what is outside: day, night, rain or snow."""
    c, p = stage.canvas, stage.palette
    frame = mix(p.light, p.near, 0.2)
    if shape == "round":
        c.oval(x, y, w * 0.62, colour=frame)
        c.oval(x, y, w * 0.53, colour=p.sky, to=p.haze)
    elif shape == "arch":
        c.area(
            [
                *arc(x, y - h * 0.2, w * 0.56, h * 0.42, 180, 360, 16),
                (x + w * 0.56, y + h * 0.55),
                (x - w * 0.56, y + h * 0.55),
            ],
            frame,
        )
        c.area(
            [
                *arc(x, y - h * 0.2, w * 0.48, h * 0.34, 180, 360, 16),
                (x + w * 0.48, y + h * 0.49),
                (x - w * 0.48, y + h * 0.49),
            ],
            p.sky,
            p.haze,
        )
    else:
        c.box(x - w * 0.56, y - h * 0.56, x + w * 0.56, y + h * 0.56, frame)
        c.box(x - w * 0.5, y - h * 0.5, x + w * 0.5, y + h * 0.5, p.sky, p.haze)
    if stage.dark or stage.has("moon"):
        c.oval(x + w * 0.15, y - h * 0.15, w * 0.11, colour=p.light)
        for sx, sy in stage.rng.uniform(-0.4, 0.4, (8, 2)):
            c.oval(x + sx * w, y + sy * h * 0.8, 0.004, colour=p.light, edge=False)
    elif stage.light in ("golden", "dawn", "dusk"):
        c.oval(x - w * 0.1, y + h * 0.12, w * 0.16, colour=p.second)
    if shape != "round":
        c.area(
            [
                (x - w * 0.48, y + h * 0.49),
                (x - w * 0.2, y + h * 0.22),
                (x + 0.1 * w, y + h * 0.36),
                (x + w * 0.3, y + h * 0.16),
                (x + w * 0.48, y + h * 0.3),
                (x + w * 0.48, y + h * 0.49),
            ],
            p.mid,
        )
    if stage.has("rain", "snow"):
        for sx, sy in stage.rng.uniform(-0.42, 0.42, (22, 2)):
            if stage.has("rain"):
                c.line(
                    [(x + sx * w, y + sy * h), (x + sx * w - 0.006, y + sy * h + 0.03)],
                    p.light,
                    0.003,
                )
            else:
                c.oval(x + sx * w, y + sy * h, 0.006, colour=p.light, edge=False)
    c.line([(x, y - h * 0.5), (x, y + h * 0.5)], frame, 0.012)
    c.line([(x - w * 0.5, y), (x + w * 0.5, y)], frame, 0.012)


def _room(stage: Stage, window: str, shelf: bool) -> None:
    p = stage.palette
    wall = mix(p.haze, p.far, 0.55) if not stage.dark else mix(p.far, p.mid, 0.4)
    _shell(stage, wall, mix(p.ground, (0.55, 0.36, 0.2), 0.35), (stage.pick(0.44, 0.56), 0.45))
    x = {"left": 0.3, "right": 0.7, "wide": 0.4}.get(
        stage.composition, 0.36 if stage.coin() else 0.64
    )
    if window:
        size = 0.5 if stage.composition == "close" else 0.3
        _window(stage, 0.5 if not shelf else 1 - x, 0.34, size, size * 0.9, window)
    if shelf or stage.has("bookshelf"):
        left = x - 0.19
        furniture.bookshelf(stage, left, 0.16, left + 0.36, 0.69, 5)
    furniture.overhead(stage)
    stage.canvas.sheet()
    with stage.canvas.placed(*_closer(stage)):
        furniture.things(stage, x)
        furniture.seat(stage, x)


def _closer(stage: Stage) -> tuple[float, float, float]:
    """Return the frame of the furniture: nearer in a close composition."""
    if stage.composition == "close":
        return (-0.14, -0.2, 1.28)
    return (0.1, 0.16, 0.8) if stage.composition == "wide" else (0.0, 0.0, 1.0)


def _study(stage: Stage) -> None:
    _room(stage, "square", shelf=True)


def _nook(stage: Stage) -> None:
    """Draw a seat in a window."""
    c, p = stage.canvas, stage.palette
    wall = mix(p.haze, p.far, 0.5)
    c.box(-0.1, -0.1, 1.1, 1.1, wall, darker(wall, 0.15))
    furniture.bookshelf(stage, 0.0, 0.04, 0.18, 0.98, 7)
    furniture.bookshelf(stage, 0.82, 0.04, 1.0, 0.98, 7)
    c.sheet()
    _window(stage, 0.5, 0.36, 0.52, 0.56, "arch" if stage.coin() else "square")
    c.sheet()
    c.box(0.2, 0.72, 0.8, 1.1, lighter(wall, 0.3), wall)
    c.blob([(0.2, 0.68), (0.8, 0.68), (0.81, 0.78), (0.19, 0.78)], p.main, darker(p.main, 0.2))
    for x, tint in ((0.27, p.second), (0.35, p.accent), (0.73, p.light)):
        with c.placed(x, 0.63, 0.36, 40 * (x - 0.5)):
            c.blob(
                [(-0.17, -0.16), (0.17, -0.16), (0.19, 0.16), (-0.19, 0.16)],
                tint,
                darker(tint, 0.15),
            )
    if stage.has("cat"):
        animals.cat(c, 0.58, 0.7, 0.2, mix(p.dark, p.accent, 0.25), p.second)
    if stage.has("plants"):
        plants.potted(c, 0.66, 0.69, 0.2, p.mid, p.accent)
    with c.placed(0.0, 0.06, 1.0):
        furniture.overhead(stage)


def _attic(stage: Stage) -> None:
    """Draw a room under the roof."""
    c, p = stage.canvas, stage.palette
    wall = mix(p.haze, p.ground, 0.5)
    c.box(-0.1, -0.1, 1.1, 1.1, darker(wall, 0.3))
    c.area(
        path("-0.1,1.1 -0.1,0.75 0.28,0.12 0.72,0.12 1.1,0.75 1.1,1.1"),
        wall,
        darker(wall, 0.1),
    )
    c.area(
        [(-0.1, 1.1), (0.12, 0.74), (0.88, 0.74), (1.1, 1.1)],
        mix(p.ground, p.near, 0.4),
        darker(p.ground, 0.3),
    )
    for share in (0.25, 0.5, 0.75):
        for side in (-1, 1):
            c.line(
                [
                    (
                        0.5 + side * 0.6 * share + side * 0.22 * (1 - share),
                        0.75 * share + 0.12 * (1 - share) - 0.03,
                    ),
                    (0.5 + side * 0.66, 0.9 * share),
                ],
                darker(wall, 0.5),
                0.016,
            )
    _window(stage, 0.5, 0.34, 0.24, 0.26, "round")
    furniture.bookshelf(stage, 0.16, 0.56, 0.4, 0.75, 2)
    furniture.bookshelf(stage, 0.62, 0.56, 0.84, 0.75, 2)
    furniture.overhead(stage)
    furniture.things(stage, 0.62)
    furniture.seat(stage, 0.4 if stage.composition == "left" else 0.58)


def _library(stage: Stage) -> None:
    """Draw a hall of books with an arch."""
    c, p = stage.canvas, stage.palette
    wall = mix(p.far, p.near, 0.3)
    _shell(stage, wall, mix(p.ground, p.near, 0.3))
    _window(stage, 0.5, 0.36, 0.2, 0.34, "arch")
    furniture.bookshelf(stage, 0.18, 0.12, 0.36, 0.68, 6)
    furniture.bookshelf(stage, 0.64, 0.12, 0.82, 0.68, 6)
    for side in (-1, 1):
        c.sheet()
        with c.placed(0.5 + side * 0.46, 0.0, 1.0):
            furniture.bookshelf(stage, -0.12, -0.02, 0.12, 1.02, 8)
    furniture.overhead(stage)
    furniture.things(stage, 0.5)
    furniture.seat(stage, 0.5)


def _greenhouse(stage: Stage) -> None:
    """Draw glass walls and plants."""
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 0.75, p.sky, p.haze)
    for x in stage.rng.uniform(0, 1, 8):
        plants.tree(
            c,
            float(x),
            0.72,
            stage.pick(0.25, 0.45),
            mix(p.far, p.mid, stage.pick(0, 1)),
            darker(p.mid, 0.4),
            stage.rng,
        )
    frame = lighter(p.haze, 0.55)
    c.sheet()
    for x in np.linspace(0.0, 1.0, 6):
        c.line([(x, 0.72), (x, 0.3), (0.5 + (x - 0.5) * 0.5, -0.02)], frame, 0.012)
    for y in (0.3, 0.51, 0.72):
        c.line([(-0.1, y), (1.1, y)], frame, 0.012)
    c.area([(-0.1, 0.72), (1.1, 0.72), (1.1, 1.1), (-0.1, 1.1)], p.ground, darker(p.ground, 0.25))
    for x, size in ((0.06, 0.42), (0.2, 0.26), (0.82, 0.28), (0.95, 0.45)):
        plants.potted(c, x, 0.86, size, mix(p.mid, p.near, stage.pick(0, 0.6)), p.main)
    furniture.overhead(stage)
    furniture.seat(stage, 0.5)


def _parlour(stage: Stage) -> None:
    _room(stage, "arch", shelf=False)


def _cabin(stage: Stage) -> None:
    """Draw walls of logs."""
    c, p = stage.canvas, stage.palette
    wood = mix(p.ground, (0.55, 0.34, 0.18), 0.5)
    for number in range(9):
        c.box(
            -0.1,
            0.09 * number - 0.06,
            1.1,
            0.09 * (number + 1) - 0.06,
            lighter(wood, 0.08),
            darker(wood, 0.22),
        )
    c.area(
        [(-0.1, 0.74), (1.1, 0.74), (1.1, 1.1), (-0.1, 1.1)], darker(wood, 0.25), darker(wood, 0.45)
    )
    c.sheet()
    x = 0.32 if stage.composition != "right" else 0.68
    _window(stage, x, 0.33, 0.28, 0.26)
    furniture.fireplace(stage, 1 - x, 0.76, 0.38)
    furniture.overhead(stage)
    furniture.seat(stage, x)


SCENE = Scene(
    {
        "study": _study,
        "window nook": _nook,
        "attic": _attic,
        "library": _library,
        "greenhouse": _greenhouse,
        "parlour": _parlour,
        "log cabin": _cabin,
        "isometric room": isometric.room,
    },
    ELEMENTS,
)
