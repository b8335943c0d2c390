"""Logos for a bakery: a mark in a setting, with or without the name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import Colour, darker, lighter, luminance, mix, readable
from useralign.domains.drawing.parts import bakery, letters
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.scenes.stage import Stage

    Mark = Callable[[Canvas, Colour, Colour], None]

FRAMES = (
    "circle",
    "badge",
    "ribbon",
    "shield",
    "sunrise",
    "wreath",
    "diamond",
    "oval",
    "house",
    "no frame",
    "split",
    "arch",
)
ELEMENTS = (
    *FRAMES,
    "name",
    "initial",
    "dark ground",
    "since",
    "steam",
    "stars",
    "dots",
    "wallpaper",
    "repeated",
)
NAMES = ("CRUMB", "GOLDEN CRUST", "BREAD & CO", "LA MIE", "OVEN", "RISE", "MILL LANE", "SUNNY BUNS")


def _donut(canvas: Canvas, first: Colour, second: Colour) -> None:
    bakery.donut(canvas, first, second, lighter(second, 0.7))


MARKS: dict[str, Mark] = {
    "wheat": bakery.wheat,
    "croissant": bakery.croissant,
    "loaf": bakery.loaf,
    "cupcake": bakery.cupcake,
    "pretzel": bakery.pretzel,
    "rolling pin": bakery.rolling_pin,
    "windmill": bakery.mill,
    "oven": bakery.oven,
    "heart": bakery.heart_bread,
    "baker": bakery.baker,
    "bun bird": bakery.owl_bun,
    "sheaf": bakery.sheaf,
    "doughnut": _donut,
}


def _logo(stage: Stage, mark: Mark) -> None:
    p = stage.palette
    dark = stage.has("dark ground") or stage.dark
    paper = darker(mix(p.near, p.dark, 0.4), 0.1) if dark else mix(p.light, p.haze, 0.35)
    stage.canvas.box(-0.1, -0.1, 1.1, 1.1, paper, edge=False)
    _backdrop(stage, paper)
    first, second = _inks(stage, paper)
    x, low, scale, turn = stage.place
    scale = min(scale, 1.35)
    named = stage.has("name")
    with stage.canvas.placed(
        0.5 + (x - 0.5) * 0.3, (0.43 if named else 0.5) + low * 0.1, scale, turn
    ):
        ground = _frame(stage, paper, first, second)
        first, second = _inks(stage, ground)
        stage.canvas.sheet()
        with stage.canvas.placed(0, 0, 0.40 if not stage.has("no frame", "split") else 0.62):
            mark(stage.canvas, first, second)
            _steam(stage, second)
    _words(stage, paper)


def _inks(stage: Stage, ground: Colour) -> tuple[Colour, Colour]:
    """Return the two colours that stand out most from a ground."""
    p = stage.palette
    ranked = sorted((p.main, p.second, p.accent, p.light, p.dark), key=lambda c: -_apart(c, ground))
    first = p.main if _apart(p.main, ground) > 0.32 else ranked[0]
    second = p.second if _apart(p.second, ground) > 0.3 and first != p.second else ranked[1]
    return first, second


def _apart(a: Colour, b: Colour) -> float:
    return (
        abs(luminance(a) - luminance(b))
        + 0.35 * sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 3
    )


def _backdrop(stage: Stage, paper: Colour) -> None:
    c, p = stage.canvas, stage.palette
    if stage.has("dots"):
        for i in range(9):
            for j in range(9):
                c.oval(
                    0.06 + 0.11 * i + 0.055 * (j % 2),
                    0.06 + 0.11 * j,
                    0.018,
                    colour=mix(paper, p.main, 0.3),
                    edge=False,
                )
    if stage.has("wallpaper"):
        for k in range(10):
            c.box(0.1 * k, -0.1, 0.1 * k + 0.05, 1.1, mix(paper, p.second, 0.28), edge=False)
    if stage.has("repeated"):
        for i in range(5):
            for j in range(5):
                with c.placed(0.1 + 0.2 * i, 0.1 + 0.2 * j, 0.12, 20 * (i - j)):
                    bakery.wheat(c, mix(paper, p.second, 0.35), mix(paper, p.main, 0.2))
    c.sheet()


def _frame(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    """Draw the setting around the origin and return the colour inside it."""
    for name, draw in _FRAMES.items():
        if stage.has(name):
            return draw(stage, paper, first, second)
    return paper


def _circle(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    stage.canvas.oval(0, 0, 0.34, colour=first)
    stage.canvas.oval(0, 0, 0.315, colour=paper)
    stage.canvas.oval(0, 0, 0.295, colour=first)
    del second
    return first


def _badge(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    stage.canvas.area(ring(0, 0, (0.37, 0.335), 48), first)
    stage.canvas.oval(0, 0, 0.29, colour=paper)
    stage.canvas.curve(arc(0, 0, 0.27, 0.27, 0, 360, 40), second, 0.008)
    return paper


def _ribbon(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    c = stage.canvas
    c.oval(0, -0.02, 0.3, colour=second)
    c.oval(0, -0.02, 0.27, colour=paper)
    for side in (-1, 1):
        c.area(
            [
                (side * 0.26, 0.24),
                (side * 0.44, 0.26),
                (side * 0.38, 0.31),
                (side * 0.44, 0.37),
                (side * 0.26, 0.34),
            ],
            darker(first, 0.3),
        )
    c.blob(path("-0.34,0.2 0,0.26 0.34,0.2 0.34,0.31 0,0.37 -0.34,0.31"), first)
    return paper


def _shield(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    points = path("-0.3,-0.32 0,-0.36 0.3,-0.32 0.3,0.05 0,0.38 -0.3,0.05")
    stage.canvas.blob(points, second)
    stage.canvas.blob([(x * 0.88, y * 0.88) for x, y in points], first)
    del paper
    return first


def _sunrise(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    c = stage.canvas
    rays = arc(0, 0.18, 0.42, 0.42, 180, 360, 19)
    for a, b in zip(rays[0::2], rays[1::2], strict=False):
        c.area([(0, 0.18), (a[0], a[1]), (b[0], b[1])], second)
    c.area([*arc(0, 0.18, 0.27, 0.27, 180, 360, 24)], first)
    c.box(-0.42, 0.19, 0.42, 0.21, first)
    del paper
    return first


def _wreath(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    for side in (-1, 1):
        for angle in np.linspace(100, 245, 12):
            t = np.radians(angle)
            x, y = side * 0.34 * np.cos(t), 0.34 * np.sin(t)
            with stage.canvas.placed(x, -y, 1.0, side * (angle - 60)):
                stage.canvas.blob(
                    [(0, 0.05), (0.02, 0), (0, -0.06), (-0.02, 0)],
                    first if int(angle) % 2 else second,
                )
    return paper


def _diamond(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    for r, tint in ((0.43, second), (0.4, paper), (0.38, first)):
        stage.canvas.area(ring(0, 0, (r,), 4), tint)
    return first


def _oval(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    stage.canvas.oval(0, 0, 0.42, 0.3, first)
    stage.canvas.curve(arc(0, 0, 0.39, 0.27, 0, 360, 40), second, 0.008)
    del paper
    return first


def _house(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    c = stage.canvas
    c.box(0.14, -0.34, 0.22, -0.1, darker(first))
    c.area(
        path("-0.34,-0.06 0,-0.38 0.34,-0.06 0.28,-0.06 0.28,0.34 -0.28,0.34 -0.28,-0.06"),
        first,
    )
    c.line([(-0.36, -0.05), (0, -0.39), (0.36, -0.05)], second, 0.03)
    del paper
    return first


def _split(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    del second
    stage.canvas.box(-1, -1, 0, 1, mix(first, paper, 0.2))
    return paper


def _arch(stage: Stage, paper: Colour, first: Colour, second: Colour) -> Colour:
    stage.canvas.area([*arc(0, -0.05, 0.3, 0.32, 180, 360, 20), (0.3, 0.36), (-0.3, 0.36)], second)
    stage.canvas.area(
        [*arc(0, -0.05, 0.27, 0.29, 180, 360, 20), (0.27, 0.335), (-0.27, 0.335)], first
    )
    del paper
    return first


_FRAMES: dict[str, Callable[[Stage, Colour, Colour, Colour], Colour]] = {
    "circle": _circle,
    "badge": _badge,
    "ribbon": _ribbon,
    "shield": _shield,
    "sunrise": _sunrise,
    "wreath": _wreath,
    "diamond": _diamond,
    "oval": _oval,
    "house": _house,
    "split": _split,
    "arch": _arch,
}


def _steam(stage: Stage, colour: Colour) -> None:
    if stage.has("steam"):
        for dx in (-0.2, 0, 0.2):
            stage.canvas.curve(
                [(dx, -0.46), (dx + 0.06, -0.56), (dx - 0.04, -0.66), (dx + 0.04, -0.76)],
                colour,
                0.03,
            )


def _words(stage: Stage, paper: Colour) -> None:
    c, p = stage.canvas, stage.palette
    ink = readable(p.dark, p.light, paper)
    c.sheet()
    if stage.has("name"):
        name = NAMES[int(stage.rng.integers(len(NAMES)))]
        letters.write(c, name, 0.5, 0.84, 0.085, ink, weight=stage.pick(0.09, 0.2), fit=0.84)
    if stage.has("initial"):
        letters.write(c, "B", 0.12, 0.08, 0.13, ink, weight=0.16)
    if stage.has("since"):
        letters.write(c, "1927", 0.5, 0.955 if stage.has("name") else 0.91, 0.035, ink, weight=0.13)
        for side in (-1, 1):
            c.line(
                [
                    (0.5 + side * 0.12, 0.97 if stage.has("name") else 0.93),
                    (0.5 + side * 0.3, 0.97 if stage.has("name") else 0.93),
                ],
                ink,
                0.005,
            )
    if stage.has("stars"):
        for x in (0.3, 0.5, 0.7):
            c.area(ring(x, 0.07 if x != 0.5 else 0.05, (0.03, 0.012), 10), p.second)


SCENE = Scene({name: partial(_logo, mark=mark) for name, mark in MARKS.items()}, ELEMENTS)
