"""Covers for a mystery: a motif, a title, an author."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix, readable
from useralign.domains.drawing.parts import animals, letters, scenes_of_crime, sky
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.scenes.stage import Stage

ELEMENTS = (
    "title top",
    "title bottom",
    "title large",
    "title small",
    "author",
    "border",
    "rain",
    "snow",
    "stars",
    "moon",
    "clouds",
    "birds",
    "blood",
    "spine",
    "crow",
    "cat",
    "footprints",
    "stamp",
)
TITLES = (
    "THE LAST KEY",
    "MIDNIGHT HOUSE",
    "WHO CAME IN",
    "THE EMPTY TRAIN",
    "A QUIET POISON",
    "SEVEN DOORS",
    "THE RED HOUR",
    "BLACK WATER",
    "NOBODY HOME",
    "ASH & IVY",
)
AUTHORS = ("M VALE", "E L GRAVES", "ANNA QUILL", "J R STONE")


def _cover(stage: Stage, motif: Callable[[Stage], None]) -> None:
    motif(stage)
    c, p = stage.canvas, stage.palette
    c.sheet()
    if stage.has("blood"):
        for x, y, r in stage.rng.uniform(0, 1, (9, 3)):
            c.oval(
                0.1 + 0.8 * x,
                0.55 + 0.4 * y,
                0.01 + 0.022 * r,
                colour=mix((0.7, 0.02, 0.05), p.main, 0.2),
            )
    if stage.has("footprints"):
        for k in range(6):
            with c.placed(0.36 + 0.07 * (k % 2) + 0.03 * k, 0.98 - 0.06 * k, 0.055 - 0.005 * k, 12):
                c.blob([(-0.25, -0.6), (0.25, -0.6), (0.22, 0.1), (-0.2, 0.1)], p.dark)
                c.oval(0, 0.45, 0.2, 0.22, p.dark)
    if stage.has("crow"):
        animals.bird(c, 0.82, 0.9, 0.2, darker(p.dark, 0.2), p.second)
    if stage.has("cat"):
        animals.cat(c, 0.2, 0.97, 0.2, darker(p.dark, 0.2), p.second)
    sky.weather(stage)
    _title(stage)


def _title(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.sheet()
    title = TITLES[int(stage.rng.integers(len(TITLES)))]
    low = stage.has("title bottom")
    ink = readable(p.light, p.dark, mix(p.haze, p.near, 0.8) if low else p.sky)
    words = title.rsplit(" ", 1)
    if stage.has("title large"):
        top = 0.64 if low else 0.06
        for k, word in enumerate(words):
            letters.write(
                c, word, 0.5, top + 0.16 * k, 0.125, p.second if k else ink, weight=0.17, fit=0.88
            )
    elif stage.has("title small"):
        letters.write(c, title, 0.5, 0.82 if low else 0.09, 0.05, ink, weight=0.12, fit=0.8)
    else:
        letters.write(c, title, 0.5, 0.79 if low else 0.07, 0.1, ink, weight=0.13, fit=0.88)
    if stage.has("author"):
        author = AUTHORS[int(stage.rng.integers(len(AUTHORS)))]
        letters.write(
            c,
            author,
            0.5,
            0.05 if low else 0.92,
            0.042,
            readable(p.light, p.dark, p.sky if low else p.near),
            weight=0.13,
        )
    if stage.has("spine"):
        c.box(-0.1, -0.1, 0.06, 1.1, darker(p.main, 0.2), edge=False)
        c.line([(0.065, -0.1), (0.065, 1.1)], darker(p.main, 0.5), 0.006)
    if stage.has("border"):
        for inset, width in ((0.025, 0.012), (0.045, 0.004)):
            c.line(
                [
                    (inset, inset),
                    (1 - inset, inset),
                    (1 - inset, 1 - inset),
                    (inset, 1 - inset),
                    (inset, inset),
                ],
                p.second,
                width,
            )
    if stage.has("stamp"):
        c.oval(0.86, 0.84, 0.08, colour=p.main)
        letters.write(c, "NO1", 0.86, 0.82, 0.04, p.light, weight=0.15)


def _key(stage: Stage) -> None:
    scenes_of_crime.backdrop(stage)
    c, p = stage.canvas, stage.palette
    x, _, scale, turn = stage.place
    metal = mix(p.second, (0.9, 0.75, 0.4), 0.3)
    with c.placed(x, 0.52, scale * 0.95, turn + 28):
        for px, py in ring(0, -0.2, (0.075,), 3, 90):
            c.oval(px, py, 0.085, colour=metal)
            c.oval(px, py, 0.045, colour=mix(p.sky, p.near, 0.4))
        c.line([(0, -0.08), (0, 0.28)], metal, 0.036)
        for y, w in ((0.18, 0.1), (0.26, 0.13)):
            c.box(0, y, w, y + 0.04, metal)
        c.box(-0.04, -0.09, 0.04, -0.06, darker(metal, 0.2))


def _candle(stage: Stage) -> None:
    scenes_of_crime.backdrop(stage, glow=False)
    c, p, x = stage.canvas, stage.palette, stage.place[0]
    c.box(-0.1, 0.82, 1.1, 1.1, darker(p.ground, 0.3))
    c.sheet()
    c.glow(x, 0.42, 0.55, (1.0, 0.75, 0.35))
    c.blob(
        path("-0.06,0.52 0.06,0.52 0.062,0.82 0.085,0.86 -0.085,0.86 -0.062,0.8", x),
        p.light,
        mix(p.light, p.second, 0.4),
    )
    c.blob(
        [(x - 0.05, 0.52), (x - 0.03, 0.6), (x - 0.055, 0.66), (x - 0.064, 0.54)],
        lighter(p.light, 0.5),
    )
    c.line([(x, 0.52), (x, 0.48)], p.dark, 0.008)
    for s, tint in ((1.0, (0.98, 0.6, 0.15)), (0.55, (1.0, 0.92, 0.6))):
        c.blob(
            [(x, 0.49), (x + 0.035 * s, 0.45), (x + 0.004, 0.45 - 0.12 * s), (x - 0.035 * s, 0.45)],
            tint,
        )
    c.oval(x, 0.87, 0.17, 0.03, mix(p.second, p.dark, 0.4))


def _clock(stage: Stage) -> None:
    scenes_of_crime.backdrop(stage)
    c, p = stage.canvas, stage.palette
    x, _, scale, turn = stage.place
    with c.placed(x, 0.53, 0.62 * min(scale, 1.35), turn):
        c.oval(0, 0, 0.47, colour=darker(p.main, 0.3))
        c.oval(0, 0, 0.42, colour=p.light, to=mix(p.light, p.ground, 0.4))
        for k, (px, py) in enumerate(ring(0, 0, (0.36,), 12)):
            c.oval(px, py, 0.03 if k % 3 == 0 else 0.014, colour=p.dark)
        c.line([(0, 0), (-0.05, -0.3)], p.dark, 0.026)
        c.line([(0, 0), (0.03, -0.2)], p.dark, 0.04)
        c.line([(0, 0), (0.22, 0.16)], p.main, 0.014)
        c.oval(0, 0, 0.035, colour=p.dark)


def _poison(stage: Stage) -> None:
    scenes_of_crime.backdrop(stage)
    c, p = stage.canvas, stage.palette
    x, _, scale, turn = stage.place
    c.box(-0.1, 0.84, 1.1, 1.1, darker(p.ground, 0.35))
    c.sheet()
    with c.placed(x, 0.86, 0.72 * min(scale, 1.2), turn):
        glass = mix(p.accent, p.light, 0.3)
        c.blob(
            path(
                "-0.06,-0.55 0.06,-0.55 0.07,-0.42 0.24,-0.25 0.24,-0.03 0,0 -0.24,-0.03 "
                "-0.24,-0.25 -0.07,-0.42"
            ),
            lighter(glass, 0.3),
            glass,
        )
        c.blob(
            path("-0.23,-0.2 0,-0.17 0.23,-0.2 0.22,-0.04 0,-0.01 -0.22,-0.04"),
            p.main,
        )
        c.box(-0.05, -0.64, 0.05, -0.54, (0.55, 0.38, 0.24))
        c.box(-0.13, -0.25, 0.13, -0.05, p.light)
        c.oval(0, -0.17, 0.055, 0.05, p.dark)
        c.box(-0.03, -0.13, 0.03, -0.095, p.dark)
        for side in (-1, 1):
            c.oval(side * 0.022, -0.17, 0.015, colour=p.light)
        c.curve(
            [(0.02, -0.66), (0.08, -0.76), (-0.02, -0.84), (0.05, -0.94)],
            mix(p.accent, p.haze, 0.4),
            0.025,
        )


def _eye(stage: Stage) -> None:
    scenes_of_crime.backdrop(stage, glow=False)
    c, p = stage.canvas, stage.palette
    x, _, scale, turn = stage.place
    with c.placed(x, 0.53, 0.8 * min(scale, 1.25), turn):
        c.blob(
            path("-0.5,0 -0.25,-0.2 0,-0.26 0.25,-0.2 0.5,0 0.25,0.17 0,0.22 -0.25,0.17"),
            p.light,
        )
        c.oval(0, -0.02, 0.2, colour=p.accent, to=darker(p.accent, 0.4))
        for a in np.linspace(0, 330, 12):
            t = np.radians(a)
            c.line(
                [
                    (0.09 * np.cos(t), -0.02 + 0.09 * np.sin(t)),
                    (0.18 * np.cos(t), -0.02 + 0.18 * np.sin(t)),
                ],
                lighter(p.accent, 0.3),
                0.008,
            )
        c.oval(0, -0.02, 0.09, colour=p.dark)
        c.area(
            [
                *arc(0, -0.05, 0.035, 0.045, 180, 360, 10),
                (0.02, 0.02),
                (0.045, 0.05),
                (-0.045, 0.05),
                (-0.02, 0.02),
            ],
            p.second,
        )
        c.curve(
            path("-0.52,-0.02 -0.25,-0.24 0,-0.3 0.25,-0.24 0.52,-0.02"),
            darker(p.dark, 0.2),
            0.035,
        )


def _letter(stage: Stage) -> None:
    """Draw an envelope with a broken seal."""
    scenes_of_crime.backdrop(stage)
    c, p = stage.canvas, stage.palette
    x, _, scale, turn = stage.place
    with c.placed(x, 0.55, 0.75 * min(scale, 1.25), turn - 8):
        paper = mix(p.light, p.ground, 0.25)
        c.box(-0.34, -0.4, 0.34, 0.1, lighter(paper, 0.4))
        letters.bars(c, -0.27, -0.34, 0.5, 5, mix(p.dark, paper, 0.4), 0.014)
        c.box(-0.42, -0.12, 0.42, 0.32, paper)
        c.area(
            path("-0.42,-0.12 0,0.14 0.42,-0.12 0.42,0.32 -0.42,0.32"),
            darker(paper, 0.1),
        )
        c.line([(-0.42, 0.32), (0, 0.04), (0.42, 0.32)], darker(paper, 0.35), 0.008)
        c.area(ring(0, 0.1, (0.09, 0.078), 22), mix((0.65, 0.05, 0.08), p.main, 0.3))
        c.line([(-0.06, 0.03), (0.0, 0.1), (-0.02, 0.17)], darker(p.main, 0.6), 0.012)


_MOTIFS = {
    "old house": scenes_of_crime.mansion,
    "key": _key,
    "candle": _candle,
    "lit window": scenes_of_crime.window,
    "detective": scenes_of_crime.detective,
    "clock": _clock,
    "poison bottle": _poison,
    "night train": scenes_of_crime.train,
    "corridor": scenes_of_crime.doors,
    "eye": _eye,
    "raven": scenes_of_crime.raven,
    "letter": _letter,
    "bridge": scenes_of_crime.bridge,
}

SCENE = Scene({name: partial(_cover, motif=motif) for name, motif in _MOTIFS.items()}, ELEMENTS)
