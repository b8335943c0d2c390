"""Tarot cards: an emblem in a frame, a number and a name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix, readable
from useralign.domains.drawing.parts import emblems, letters, plants, sky
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.scenes.stage import Stage

FRAMES = ("thin frame", "ornate frame", "arch frame", "leaf frame", "no frame", "round frame")
ELEMENTS = (
    *FRAMES,
    "name",
    "number",
    "stars",
    "rays",
    "moon phases",
    "clouds",
    "flowers",
    "eyes",
    "halo",
    "snake",
)


def _card(stage: Stage, motif: Callable[[Stage], None], name: str, number: str) -> None:
    c, p = stage.canvas, stage.palette
    c.box(-0.1, -0.1, 1.1, 1.1, p.sky, p.haze, edge=False)
    x, low, scale, turn = stage.place
    if stage.has("rays"):
        points = ring(x, 0.46, (1.2,), 48)
        for a, b in zip(points[0::2], points[1::2], strict=True):
            c.area([(x, 0.46), (a[0], a[1]), (b[0], b[1])], mix(p.sky, p.second, 0.3), edge=False)
    if stage.has("stars") or stage.dark:
        sky.stars(stage, 0.95, 45)
    if stage.has("clouds"):
        for cx in (0.15, 0.5, 0.88):
            sky.cloud(c, cx, stage.pick(0.75, 0.9), 0.22, mix(p.haze, p.light, 0.5))
    c.sheet()
    with c.placed(
        0.5 + (x - 0.5) * 0.6, 0.47 + 0.25 * low, 0.72 * min(max(scale, 0.72), 1.3), turn
    ):
        if stage.has("halo"):
            c.glow(0, 0, 0.7, lighter(p.second, 0.4))
        motif(stage)
    _small(stage)
    _frame(stage)
    _words(stage, name, number)


def _small(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.sheet()
    if stage.has("moon phases"):
        for k, share in enumerate((-0.8, -0.4, 0.0, 0.4, 0.8)):
            x = 0.5 + 0.3 * share
            c.oval(x, 0.13, 0.034, colour=p.light)
            if share:
                c.oval(
                    x + 0.045 * (1 if share < 0 else -1) * (1 - 0.3 * (k % 2)),
                    0.13,
                    0.034,
                    colour=mix(p.sky, p.dark, 0.15),
                )
    if stage.has("eyes"):
        for x in (0.2, 0.8):
            c.blob([(x - 0.07, 0.72), (x, 0.68), (x + 0.07, 0.72), (x, 0.76)], p.light)
            c.oval(x, 0.72, 0.026, colour=p.accent)
            c.oval(x, 0.72, 0.012, colour=p.dark)
    if stage.has("flowers"):
        for x in (0.12, 0.22, 0.32, 0.68, 0.78, 0.88):
            plants.flower(
                c,
                x,
                0.86,
                stage.pick(0.12, 0.2),
                p.main if stage.coin() else p.accent,
                p.second,
                p.near,
                5 if stage.coin() else 3,
            )
    if stage.has("snake"):
        t = np.linspace(0, 1, 16)
        body = np.column_stack([0.16 + 0.68 * t, 0.78 + 0.035 * np.sin(t * 15)])
        c.curve(body, mix(p.accent, p.mid, 0.4), 0.032)
        c.oval(body[-1, 0], body[-1, 1], 0.03, 0.022, mix(p.accent, p.mid, 0.4))
        c.oval(body[-1, 0] + 0.01, body[-1, 1] - 0.008, 0.006, colour=p.light)


def _frame(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.sheet()
    gold = mix(p.second, p.light, 0.15)
    if stage.has("arch frame", "round frame"):
        panel = darker(mix(p.near, p.main, 0.2), 0.15)
        opening = (
            arc(0.5, 0.46, 0.4, 0.4, 180, 360, 24)
            if stage.has("arch frame")
            else arc(0.5, 0.47, 0.4, 0.4, 180, 540, 48)
        )
        foot = [(0.9, 0.84), (0.1, 0.84), (0.1, 0.46)] if stage.has("arch frame") else []
        hole = [*(map(tuple, opening)), *foot]
        c.area(
            [
                (-0.1, 0.46),
                *hole,
                (-0.1, 0.4601),
                (-0.1, 1.1),
                (1.1, 1.1),
                (1.1, -0.1),
                (-0.1, -0.1),
            ],
            panel,
            edge=False,
        )
        c.line([*hole, hole[0]], gold, 0.014)
    if stage.has("thin frame", "ornate frame"):
        for inset, width in ((0.03, 0.014), (0.055, 0.005)):
            c.line(
                [
                    (inset, inset),
                    (1 - inset, inset),
                    (1 - inset, 1 - inset),
                    (inset, 1 - inset),
                    (inset, inset),
                ],
                gold,
                width,
            )
    if stage.has("ornate frame"):
        for x, y in ((0.07, 0.07), (0.93, 0.07), (0.07, 0.93), (0.93, 0.93)):
            c.area(ring(x, y, (0.06, 0.03), 8), gold)
            c.oval(x, y, 0.018, colour=p.main)
        for x, y in ((0.5, 0.03), (0.03, 0.5), (0.97, 0.5)):
            c.area(ring(x, y, (0.035,), 4), p.main)
    if stage.has("leaf frame"):
        for share in np.linspace(0.03, 0.97, 15):
            for x, y, turn in (
                (share, 0.03, 60),
                (share, 0.97, -120),
                (0.03, share, -30),
                (0.97, share, 150),
            ):
                with c.placed(float(x), float(y), 1.0, turn):
                    c.blob(
                        [(0, 0.04), (0.016, 0), (0, -0.045), (-0.016, 0)],
                        p.near if stage.coin() else p.mid,
                    )


def _words(stage: Stage, name: str, number: str) -> None:
    c, p = stage.canvas, stage.palette
    if stage.has("name"):
        c.sheet()
        band = mix(p.light, p.ground, 0.2)
        c.blob(
            path("0.14,0.865 0.5,0.855 0.86,0.865 0.86,0.955 0.5,0.945 0.14,0.955"),
            band,
        )
        letters.write(
            c, name, 0.5, 0.88, 0.05, readable(p.dark, p.light, band), weight=0.14, fit=0.62
        )
    if stage.has("number"):
        letters.write(c, number, 0.5, 0.07, 0.06, readable(p.light, p.dark, p.sky), weight=0.12)


_MOTIFS: dict[str, tuple[Callable[[Stage], None], str, str]] = {
    "sun": (emblems.sun, "THE SUN", "XIX"),
    "moon": (emblems.moon, "THE MOON", "XVIII"),
    "star": (emblems.star, "THE STAR", "XVII"),
    "tower": (emblems.tower, "THE TOWER", "XVI"),
    "hermit": (emblems.hermit, "THE HERMIT", "IX"),
    "fool": (emblems.fool, "THE FOOL", "0"),
    "wheel": (emblems.wheel, "FORTUNE", "X"),
    "lovers": (emblems.lovers, "THE LOVERS", "VI"),
    "strength": (emblems.strength, "STRENGTH", "XI"),
    "world": (emblems.world, "THE WORLD", "XXI"),
    "sprout": (emblems.seed, "NEW LIFE", "I"),
    "ship": (emblems.chariot, "THE VOYAGE", "VII"),
    "skull": (emblems.death, "CHANGE", "XIII"),
}

SCENE = Scene(
    {
        name: partial(_card, motif=m, name=title, number=n)
        for name, (m, title, n) in _MOTIFS.items()
    },
    ELEMENTS,
)
