"""Posters for a festival of jazz: an instrument, a ground, and lettering."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import ring
from useralign.domains.drawing.colour import Colour, darker, from_hex, lighter, mix, readable
from useralign.domains.drawing.parts import letters, music, sky
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.drawing.scenes.stage import Stage

GROUNDS = (
    "rays",
    "circles",
    "stripes",
    "blocks",
    "waves",
    "night sky",
    "city",
    "plain",
    "spotlight",
    "confetti",
)
LETTERING = ("top title", "bottom title", "side title", "huge title", "framed")
ELEMENTS = (*GROUNDS, *LETTERING, "notes", "small print", "date")
TITLES = ("JAZZ", "JAZZ FEST", "BLUE NOTE", "ALL NIGHT JAZZ", "SWING", "HOT JAZZ")


def _poster(stage: Stage, motif: Callable[[Stage], None]) -> None:
    p = stage.palette
    _ground(stage)
    stage.canvas.sheet()
    x, low, scale, turn = stage.place
    y = 0.52 if not stage.has("bottom title") else 0.42
    y = 0.62 if stage.has("top title", "huge title") else y
    with stage.canvas.placed(x, y + low * 0.4, 0.62 * scale, turn + stage.pick(-6, 6)):
        motif(stage)
    if stage.has("notes"):
        stage.canvas.sheet()
        for nx, ny, size in stage.rng.uniform(0.1, 0.9, (8, 3)):
            music.note(
                stage.canvas, nx, ny, 0.05 + 0.05 * size, readable(p.second, p.accent, p.haze)
            )
    _lettering(stage)


def _ground(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    base = p.sky if not stage.has("blocks") else p.light
    c.box(
        -0.1,
        -0.1,
        1.1,
        1.1,
        base,
        mix(base, p.haze, 0.6) if not stage.has("plain") else None,
        edge=False,
    )
    for name, draw in _GROUNDS.items():
        if stage.has(name):
            draw(stage)


def _rays(stage: Stage) -> None:
    p, x = stage.palette, stage.place[0]
    points = ring(x, 0.6, (1.3,), 32)
    for k, (a, b) in enumerate(zip(points[0::2], points[1::2], strict=True)):
        stage.canvas.area(
            [(x, 0.6), (a[0], a[1]), (b[0], b[1])], p.second if k % 2 else p.main, edge=False
        )


def _circles(stage: Stage) -> None:
    p = stage.palette
    for k in range(7):
        x, y, r = stage.pick(0.1, 0.9), stage.pick(0.1, 0.9), stage.pick(0.08, 0.26)
        tint = (p.main, p.second, p.accent, p.far)[k % 4]
        stage.canvas.oval(x, y, r, colour=tint)
        if k % 2:
            stage.canvas.oval(x, y, r * 0.6, colour=p.haze)


def _stripes(stage: Stage) -> None:
    p = stage.palette
    slope = stage.pick(-0.5, 0.5)
    for k in range(9):
        x = -0.3 + 0.2 * k
        tint = (p.main, p.haze, p.second, p.far, p.accent)[k % 5]
        stage.canvas.area(
            [(x, -0.1), (x + 0.12, -0.1), (x + 0.12 + slope, 1.1), (x + slope, 1.1)],
            tint,
            edge=False,
        )


def _blocks(stage: Stage) -> None:
    p = stage.palette
    for i in range(4):
        for j in range(4):
            if stage.rng.random() < 0.72:
                x, y = 0.25 * i, 0.25 * j
                tint = (p.main, p.second, p.accent, p.far, p.haze)[int(stage.rng.integers(5))]
                if stage.coin():
                    stage.canvas.box(x, y, x + 0.25, y + 0.25, tint)
                else:
                    corner = (
                        [(x, y), (x + 0.25, y), (x, y + 0.25)]
                        if stage.coin()
                        else [(x + 0.25, y), (x + 0.25, y + 0.25), (x, y + 0.25)]
                    )
                    stage.canvas.area(corner, tint)


def _waves(stage: Stage) -> None:
    p = stage.palette
    x = np.linspace(-0.1, 1.1, 30)
    for k in range(7):
        y = 0.2 + 0.13 * k + 0.05 * np.sin(x * 7 + k)
        tint = (p.far, p.main, p.haze, p.second, p.mid, p.accent, p.near)[k]
        stage.canvas.area(np.vstack([np.column_stack([x, y]), [(1.1, 1.2), (-0.1, 1.2)]]), tint)


def _night(stage: Stage) -> None:
    sky.stars(stage, 1.0, 60)
    sky.moon(stage, 0.75, 0.2, 0.10)


def _city(stage: Stage) -> None:
    p = stage.palette
    for x in np.linspace(0.0, 1.0, 10):
        w, h = stage.pick(0.05, 0.08), stage.pick(0.2, 0.55)
        stage.canvas.box(x - w, 1 - h, x + w, 1.1, mix(p.far, p.near, stage.pick(0, 1)))
        for wx, wy in stage.rng.uniform(0.1, 0.9, (6, 2)):
            stage.canvas.box(
                x - w + 2 * w * wx,
                1 - h * wy,
                x - w + 2 * w * wx + 0.012,
                1 - h * wy + 0.018,
                p.second,
                edge=False,
            )


def _spotlight(stage: Stage) -> None:
    p, x = stage.palette, stage.place[0]
    c = stage.canvas
    c.box(-0.1, -0.1, 1.1, 1.1, darker(p.sky, 0.45), darker(p.near, 0.4))
    c.area(
        [(x - 0.03, -0.1), (x + 0.03, -0.1), (x + 0.36, 0.9), (x - 0.36, 0.9)],
        mix(p.second, p.near, 0.35),
        lighter(p.second, 0.3),
        edge=False,
    )
    c.oval(x, 0.9, 0.38, 0.08, lighter(p.second, 0.35))


def _confetti(stage: Stage) -> None:
    p = stage.palette
    for k, (x, y, turn) in enumerate(stage.rng.uniform(0, 1, (46, 3))):
        tint = (p.main, p.second, p.accent, p.light)[k % 4]
        with stage.canvas.placed(x, y, 1.0, 360 * turn):
            if k % 3:
                stage.canvas.box(-0.02, -0.008, 0.02, 0.008, tint, edge=False)
            else:
                stage.canvas.area(ring(0, 0, (0.022,), 3), tint, edge=False)


_GROUNDS: dict[str, Callable[[Stage], None]] = {
    "rays": _rays,
    "circles": _circles,
    "stripes": _stripes,
    "blocks": _blocks,
    "waves": _waves,
    "night sky": _night,
    "city": _city,
    "spotlight": _spotlight,
    "confetti": _confetti,
}


def _lettering(stage: Stage) -> None:
    c, p = stage.canvas, stage.palette
    c.sheet()
    title = TITLES[int(stage.rng.integers(len(TITLES)))]
    ink = readable(p.light, p.dark, mix(p.sky, p.haze, 0.4))
    if stage.has("huge title"):
        letters.write(c, "JAZZ", 0.5, 0.07, 0.3, ink, weight=0.2, fit=0.94)
    elif stage.has("top title"):
        _band(stage, 0.0, 0.23)
        letters.write(c, title, 0.5, 0.06, 0.13, p.light, weight=0.17, fit=0.86)
    elif stage.has("bottom title"):
        _band(stage, 0.78, 1.0)
        letters.write(c, title, 0.5, 0.83, 0.12, p.light, weight=0.17, fit=0.86)
    elif stage.has("side title"):
        c.box(0.0, -0.1, 0.2, 1.1, p.near)
        for k, letter in enumerate("JAZZ"):
            letters.write(c, letter, 0.1, 0.08 + 0.22 * k, 0.15, p.light, weight=0.18)
    if stage.has("date"):
        c.oval(0.84, 0.7 if stage.has("bottom title") else 0.84, 0.1, colour=p.accent)
        letters.write(
            c,
            "27",
            0.84,
            (0.7 if stage.has("bottom title") else 0.84) - 0.04,
            0.08,
            readable(p.light, p.dark, p.accent),
            weight=0.18,
        )
    if stage.has("small print"):
        top = 0.9 if not stage.has("bottom title") else 0.95
        letters.bars(
            c, 0.28 if stage.has("side title") else 0.06, top, 0.36, 2 if top > 0.92 else 3, ink
        )
    if stage.has("framed"):
        for inset, tint in ((0.025, p.dark), (0.04, p.second)):
            c.line(
                [
                    (inset, inset),
                    (1 - inset, inset),
                    (1 - inset, 1 - inset),
                    (inset, 1 - inset),
                    (inset, inset),
                ],
                tint,
                0.012,
            )


def _band(stage: Stage, top: float, bottom: float) -> None:
    p = stage.palette
    stage.canvas.box(
        -0.1,
        top - 0.05 if top < 0.1 else top,
        1.1,
        bottom if top < 0.1 else 1.1,
        darker(mix(p.near, p.dark, 0.5), 0.1),
    )


def _metal(stage: Stage) -> tuple[Colour, Colour]:
    p = stage.palette
    return mix(p.second, (0.93, 0.72, 0.28), 0.35), darker(p.dark, 0.1)


def _sax(stage: Stage) -> None:
    music.saxophone(stage.canvas, *_metal(stage))


def _trumpet(stage: Stage) -> None:
    music.trumpet(stage.canvas, *_metal(stage))


def _bass(stage: Stage) -> None:
    p = stage.palette
    with stage.canvas.placed(0, 0, 1.1):
        music.bass(stage.canvas, mix(p.main, (0.6, 0.3, 0.12), 0.3), p.dark)


def _keys(stage: Stage) -> None:
    music.keys(stage.canvas, stage.palette.light, stage.palette.dark)


def _record(stage: Stage) -> None:
    music.record(
        stage.canvas, darker(stage.palette.dark, 0.1), stage.palette.main, stage.palette.light
    )


def _mic(stage: Stage) -> None:
    p = stage.palette
    music.microphone(stage.canvas, mix(p.light, p.far, 0.35), p.dark)


def _drums(stage: Stage) -> None:
    music.drums(stage.canvas, stage.palette.main, stage.palette.light, stage.palette.second)


def _player(stage: Stage) -> None:
    p = stage.palette
    skin = from_hex(("8a5530", "6b3f24", "d9a066")[int(stage.rng.integers(3))])
    with stage.canvas.placed(0, 0, 1.1):
        music.player(stage.canvas, p.accent, skin, mix(p.second, (0.95, 0.8, 0.3), 0.3))


def _trio(stage: Stage) -> None:
    """Draw three players in a row, one instrument each."""
    p = stage.palette
    with stage.canvas.placed(-0.42, 0.02, 0.75):
        music.player(stage.canvas, p.main, from_hex("6b3f24"), p.second)
    with stage.canvas.placed(0.42, 0.0, 0.8):
        music.bass(stage.canvas, mix(p.main, (0.5, 0.25, 0.1), 0.4), p.dark)
    with stage.canvas.placed(0.02, 0.14, 0.7):
        music.drums(stage.canvas, p.accent, p.light, p.second)


def _face(stage: Stage) -> None:
    p = stage.palette
    music.faces(stage.canvas, p.main, p.accent, p.dark)
    with stage.canvas.placed(0.3, 0.42, 0.6, 18):
        music.trumpet(stage.canvas, p.second, p.dark)


_MOTIFS = {
    "saxophone": _sax,
    "trumpet": _trumpet,
    "double bass": _bass,
    "piano keys": _keys,
    "record": _record,
    "microphone": _mic,
    "drums": _drums,
    "player": _player,
    "trio": _trio,
    "cubist face": _face,
}

SCENE = Scene({name: partial(_poster, motif=motif) for name, motif in _MOTIFS.items()}, ELEMENTS)
