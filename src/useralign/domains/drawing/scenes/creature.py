"""Monsters for children: bodies, eyes, mouths, horns and patterns, friendly or not quite."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring, smooth
from useralign.domains.drawing.colour import Colour, darker, lighter, luminance, mix
from useralign.domains.drawing.parts import habitats, plants
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.domains.drawing.scenes.stage import Stage

EYES = ("one eye", "two eyes", "three eyes", "many eyes", "stalk eyes", "sleepy eyes")
MOUTHS = ("smile", "fangs", "grin", "tiny mouth", "tongue", "roar")
TOPS = ("horns", "antennae", "tuft", "party hat", "crown", "bow tie")
SKINS = ("spots", "stripes", "scales", "fur", "belly")
GROUNDS = ("bedroom", "woods", "hills", "underwater", "space", "plain", "cave")
ELEMENTS = (
    *EYES,
    *MOUTHS,
    *TOPS,
    *SKINS,
    *GROUNDS,
    "wings",
    "tail",
    "many legs",
    "balloon",
    "friend",
    "flowers",
)

# Outlines around the origin, about one unit large.
_BODIES: dict[str, list[tuple[float, float]]] = {
    "blob": path("-0.4,0.4 -0.42,0 -0.28,-0.36 0,-0.46 0.28,-0.36 0.42,0 0.4,0.4 0,0.44"),
    "tall": path("-0.24,0.45 -0.26,0 -0.22,-0.45 0,-0.6 0.22,-0.45 0.26,0 0.24,0.45 0,0.48"),
    "egg": path("-0.3,0.38 -0.38,0.1 -0.28,-0.25 0,-0.46 0.28,-0.25 0.38,0.1 0.3,0.38 0,0.46"),
    "square": path("-0.38,0.4 -0.4,-0.36 -0.34,-0.42 0.34,-0.42 0.4,-0.36 0.38,0.4"),
    "pear": path(
        "-0.42,0.36 -0.36,0.05 -0.18,-0.22 -0.16,-0.45 0,-0.52 0.16,-0.45 0.18,-0.22 "
        "0.36,0.05 0.42,0.36 0,0.46"
    ),
    "drop": path(
        "-0.34,0.3 -0.36,0.05 -0.12,-0.35 0.05,-0.62 0.14,-0.34 0.36,0.05 0.34,0.3 0,0.44"
    ),
    "cloud": path(
        "-0.4,0.3 -0.5,0.05 -0.36,-0.16 -0.3,-0.4 -0.02,-0.36 0.2,-0.5 0.36,-0.22 "
        "0.52,-0.02 0.4,0.3 0.16,0.42 -0.16,0.4"
    ),
}


def _monster(stage: Stage, body: str) -> None:
    habitats.ground(stage)
    x, low, scale, turn = stage.place
    skin = _skin(stage)
    with stage.canvas.placed(x, 0.58 + 0.5 * low, 0.66 * min(scale, 1.35), turn):
        stage.canvas.sheet()
        _behind(stage, skin)
        _body(stage, body, skin)
        _pattern(stage, body, skin)
        stage.canvas.sheet()
        _eyes(stage, skin, -0.36 if body == "tall" else -0.14)
        _mouth(stage, skin)
        _top(stage, skin, body)
    _extras(stage, skin, x)


def _skin(stage: Stage) -> Colour:
    """Return a colour that stands out from the ground."""
    p = stage.palette
    ground = p.haze if not stage.has("cave", "space", "underwater") else p.near
    colours = [p.main, p.second, p.accent]
    stage.rng.shuffle(colours)
    return max(colours, key=lambda c: min(abs(luminance(c) - luminance(ground)), 0.22))


def _behind(stage: Stage, skin: Colour) -> None:
    c = stage.canvas
    c.oval(0, 0.5, 0.42, 0.05, darker(stage.palette.near, 0.35), edge=False)
    if stage.has("wings"):
        for side in (-1, 1):
            c.blob(
                [
                    (side * 0.2, -0.05),
                    (side * 0.5, -0.5),
                    (side * 0.8, -0.42),
                    (side * 0.68, -0.2),
                    (side * 0.7, 0.02),
                    (side * 0.45, 0.02),
                ],
                lighter(skin, 0.3),
            )
    if stage.has("tail"):
        c.curve([(0.2, 0.36), (0.55, 0.42), (0.68, 0.2), (0.6, 0.02)], darker(skin, 0.1), 0.09)
        c.area(ring(0.6, -0.04, (0.11, 0.09), 3), stage.palette.second)


def _body(stage: Stage, body: str, skin: Colour) -> None:
    c = stage.canvas
    for k in range(6 if stage.has("many legs") else 2):
        x = (-0.16, 0.16)[k % 2] if not stage.has("many legs") else -0.32 + 0.128 * k
        c.limb((x, 0.3), (x, 0.47), (0.1, 0.09), darker(skin, 0.15))
        c.oval(x + 0.02, 0.48, 0.085, 0.04, darker(skin, 0.25))
    lift = stage.pick(-0.3, 0.25)
    for side in (-1, 1):
        hand = (side * 0.6, 0.05 + side * lift)
        c.limb((side * 0.3, 0.05), hand, (0.11, 0.08), darker(skin, 0.1))
        c.oval(hand[0], hand[1], 0.06, colour=darker(skin, 0.1))
    outline = np.array(_BODIES[body])
    if stage.has("fur"):
        curve = smooth(outline, steps=6)
        spread = np.where(np.arange(len(curve)) % 2 == 0, 1.1, 0.94)[:, None]
        c.area(curve * spread, skin, darker(skin, 0.2))
    else:
        c.blob(outline, skin, darker(skin, 0.2))


def _pattern(stage: Stage, body: str, skin: Colour) -> None:
    c, p = stage.canvas, stage.palette
    tint = mix(skin, p.light, 0.4)
    if stage.has("belly"):
        c.oval(0, 0.22, 0.22, 0.2, tint)
    if stage.has("spots"):
        for x, y, r in stage.rng.uniform(-1, 1, (11, 3)):
            if _inside(body, 0.3 * x, 0.36 * y):
                c.oval(0.3 * x, 0.36 * y, 0.035 + 0.018 * r, colour=mix(skin, p.second, 0.55))
    if stage.has("stripes"):
        for y in (0.12, 0.22, 0.32):
            half = 0.24 if body == "tall" else 0.34
            c.curve(
                [(-half, y), (-half / 2, y + 0.03), (0, y), (half / 2, y + 0.03), (half, y)],
                mix(skin, p.dark, 0.4),
                0.035,
            )
    if stage.has("scales"):
        for row in range(3):
            for k in range(5):
                sx = -0.22 + 0.11 * k + 0.055 * (row % 2)
                c.curve(
                    arc(sx, 0.14 + 0.09 * row, 0.05, 0.06, 0, 180, 7), darker(skin, 0.35), 0.014
                )


def _inside(body: str, x: float, y: float) -> bool:
    outline: NDArray[np.float64] = np.array(_BODIES[body])
    return bool(np.hypot(x, y) < 0.8 * np.hypot(*outline.T).min() + 0.08)


def _eyes(stage: Stage, skin: Colour, y: float) -> None:
    c, p = stage.canvas, stage.palette
    places = [(-0.13, y, 0.1), (0.13, y, 0.1)]
    if stage.has("one eye"):
        places = [(0.0, y, 0.17)]
    elif stage.has("three eyes"):
        places = [(-0.18, y + 0.02, 0.085), (0, y - 0.06, 0.095), (0.18, y + 0.02, 0.085)]
    elif stage.has("many eyes"):
        places = [
            (-0.2, y, 0.07),
            (-0.07, y - 0.1, 0.08),
            (0.1, y - 0.07, 0.06),
            (0.2, y + 0.03, 0.075),
            (0.02, y + 0.05, 0.07),
            (-0.12, y + 0.13, 0.05),
        ]
    elif stage.has("stalk eyes"):
        places = [(-0.2, -0.68, 0.1), (0.2, -0.72, 0.1)]
        for ex, ey, _ in places:
            c.curve([(ex * 0.5, -0.35), (ex * 0.8, -0.52), (ex, ey)], darker(skin, 0.1), 0.055)
    gaze = stage.pick(-0.3, 0.3)
    for ex, ey, r in places:
        c.oval(ex, ey, r, colour=(1.0, 1.0, 0.97))
        c.oval(
            ex + gaze * r,
            ey + 0.1 * r,
            r * 0.55,
            colour=mix(p.accent, p.dark, 0.45) if skin != p.accent else p.dark,
        )
        c.oval(ex + gaze * r - 0.2 * r, ey - 0.15 * r, r * 0.16, colour=(1.0, 1.0, 1.0), edge=False)
        if stage.has("sleepy eyes"):
            c.area([*arc(ex, ey, r * 1.04, r * 1.04, 180, 360, 12)], darker(skin, 0.12))


def _mouth(stage: Stage, skin: Colour) -> None:
    c, p = stage.canvas, stage.palette
    dark, y = darker(skin, 0.75), 0.1
    white = (1.0, 1.0, 0.96)
    if stage.has("tiny mouth"):
        c.oval(0, y + 0.02, 0.035, 0.03, dark)
    elif stage.has("roar"):
        c.blob(
            [(-0.2, y), (0, y - 0.06), (0.2, y), (0.17, y + 0.2), (0, y + 0.26), (-0.17, y + 0.2)],
            dark,
        )
        for k in range(5):
            x = -0.15 + 0.075 * k
            c.area([(x - 0.03, y - 0.02), (x + 0.03, y - 0.02), (x, y + 0.06)], white)
        c.oval(0, y + 0.19, 0.1, 0.045, mix(p.main, (0.9, 0.3, 0.35), 0.6))
    elif stage.has("grin"):
        c.blob(
            [
                (-0.24, y - 0.02),
                (0, y + 0.06),
                (0.24, y - 0.02),
                (0.16, y + 0.15),
                (0, y + 0.2),
                (-0.16, y + 0.15),
            ],
            white,
        )
        for x in (-0.12, -0.04, 0.04, 0.12):
            c.line([(x, y + 0.03), (x, y + 0.17)], dark, 0.012)
    else:
        c.area([*arc(0, y, 0.2, 0.16, 0, 180, 16)], dark)
        if stage.has("fangs"):
            for side in (-1, 1):
                c.area([(side * 0.06, y), (side * 0.14, y), (side * 0.1, y + 0.09)], white)
        if stage.has("tongue"):
            c.blob(
                [
                    (-0.06, y + 0.1),
                    (0.08, y + 0.1),
                    (0.09, y + 0.24),
                    (0, y + 0.28),
                    (-0.06, y + 0.22),
                ],
                (0.93, 0.42, 0.5),
            )


def _top(stage: Stage, skin: Colour, body: str) -> None:
    y = min(point[1] for point in _BODIES[body]) + 0.04
    for name, draw in _TOPS.items():
        if stage.has(name):
            draw(stage, skin, y)


def _extras(stage: Stage, skin: Colour, x: float) -> None:
    c, p = stage.canvas, stage.palette
    c.sheet()
    side = 1 if x < 0.55 else -1
    if stage.has("balloon"):
        bx = x + side * 0.36
        c.line([(x + side * 0.3, 0.62), (bx, 0.24)], p.dark, 0.004)
        c.blob(
            [(bx, 0.08), (bx + 0.08, 0.14), (bx, 0.26), (bx - 0.08, 0.14)],
            p.main if skin != p.main else p.second,
        )
    if stage.has("friend"):
        fx = x - side * 0.33
        tint = p.accent if skin != p.accent else p.second
        c.oval(fx, 0.86, 0.075, 0.07, tint)
        for dx in (-0.025, 0.025):
            c.oval(fx + dx, 0.845, 0.02, colour=(1.0, 1.0, 1.0))
            c.oval(fx + dx, 0.848, 0.009, colour=p.dark)
        c.curve(arc(fx, 0.875, 0.025, 0.015, 10, 170, 7), p.dark, 0.007)
    if stage.has("flowers"):
        for fx in stage.rng.uniform(0.02, 0.98, 12):
            petal = (p.main, p.second, p.accent)[int(stage.rng.integers(3))]
            plants.flower(c, float(fx), 1.02, stage.pick(0.1, 0.17), petal, p.light, p.near, 5)


def _horns(stage: Stage, _skin: Colour, y: float) -> None:
    c, p = stage.canvas, stage.palette
    for side in (-1, 1):
        c.blob(
            [
                (side * 0.08, y + 0.05),
                (side * 0.2, y - 0.02),
                (side * 0.34, y - 0.24),
                (side * 0.26, y + 0.06),
                (side * 0.18, y + 0.1),
            ],
            lighter(p.second, 0.3),
        )


def _antennae(stage: Stage, skin: Colour, y: float) -> None:
    c, p = stage.canvas, stage.palette
    for side in (-1, 1):
        c.curve(
            [(side * 0.06, y + 0.02), (side * 0.12, y - 0.16), (side * 0.24, y - 0.22)],
            darker(skin, 0.3),
            0.022,
        )
        c.oval(side * 0.25, y - 0.23, 0.045, colour=p.second)


def _tuft(stage: Stage, _skin: Colour, y: float) -> None:
    c, p = stage.canvas, stage.palette
    for dx in (-0.1, -0.04, 0.03, 0.1):
        c.blob(
            [
                (dx * 0.5, y + 0.06),
                (dx * 1.3 - 0.02, y - 0.08),
                (dx * 2, y - 0.2),
                (dx * 0.9 + 0.03, y - 0.02),
            ],
            p.second,
        )


def _party_hat(stage: Stage, _skin: Colour, y: float) -> None:
    c, p = stage.canvas, stage.palette
    c.area([(-0.14, y + 0.05), (0.14, y + 0.05), (0.03, y - 0.32)], p.second, p.main)
    c.oval(0.03, y - 0.33, 0.045, colour=p.light)


def _crown(stage: Stage, _skin: Colour, y: float) -> None:
    c, p = stage.canvas, stage.palette
    c.area(
        [
            (-0.16, y + 0.05),
            (-0.2, y - 0.15),
            (-0.08, y - 0.05),
            (0, y - 0.2),
            (0.08, y - 0.05),
            (0.2, y - 0.15),
            (0.16, y + 0.05),
        ],
        mix(p.second, (0.98, 0.8, 0.25), 0.5),
    )


def _bow_tie(stage: Stage, skin: Colour, _y: float) -> None:
    c, p = stage.canvas, stage.palette
    for side in (-1, 1):
        c.area(
            [(0, 0.34), (side * 0.14, 0.27), (side * 0.14, 0.41)],
            p.light if skin != p.light else p.dark,
        )
    c.oval(0, 0.34, 0.03, colour=p.dark)


_TOPS: dict[str, Callable[[Stage, Colour, float], None]] = {
    "horns": _horns,
    "antennae": _antennae,
    "tuft": _tuft,
    "party hat": _party_hat,
    "crown": _crown,
    "bow tie": _bow_tie,
}


SCENE = Scene({f"{name} monster": partial(_monster, body=name) for name in _BODIES}, ELEMENTS)
