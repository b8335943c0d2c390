"""Skies: colour from top to horizon, sun, moon, stars, clouds and weather."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import lighter, mix

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.scenes.stage import Stage

WEATHER = ("clouds", "rain", "snow", "stars", "sun", "moon", "birds", "aurora", "planet")


def sky(stage: Stage, horizon: float = 0.7) -> None:
    """Draw the sky that the light and the elements ask for."""
    canvas, colours = stage.canvas, stage.palette
    canvas.box(-0.1, -0.1, 1.1, horizon + 0.02, colours.sky, colours.haze, edge=False)
    canvas.box(-0.1, horizon, 1.1, 1.1, colours.haze, edge=False)
    canvas.sheet()
    if stage.has("aurora"):
        aurora(stage)
    if stage.dark or stage.has("stars"):
        stars(stage, horizon, 70 if stage.has("stars") else 35)
    if stage.has("planet"):
        planet(stage)
    if stage.has("moon") or (stage.light == "night" and not stage.has("sun")):
        moon(stage, stage.pick(0.15, 0.85), stage.pick(0.12, 0.28), stage.pick(0.05, 0.09))
    elif stage.has("sun") or stage.light in ("dawn", "dusk", "golden"):
        low = horizon - stage.pick(0.04, 0.16) if stage.light != "day" else stage.pick(0.14, 0.24)
        sun(stage, stage.pick(0.15, 0.85), low, stage.pick(0.07, 0.13))
    if stage.has("clouds") or stage.light in ("storm", "mist"):
        for _ in range(5):
            tint = mix(
                colours.haze, colours.dark if stage.light == "storm" else colours.light, 0.45
            )
            cloud(
                canvas,
                stage.pick(0, 1),
                stage.pick(0.06, horizon * 0.6),
                stage.pick(0.10, 0.22),
                tint,
            )
    if stage.has("birds"):
        birds(stage, horizon)
    canvas.sheet()


def weather(stage: Stage) -> None:
    """Draw what falls in front of everything: rain or snow."""
    canvas, colours, rng = stage.canvas, stage.palette, stage.rng
    if stage.has("rain"):
        for x, y in rng.uniform(-0.05, 1.05, (90, 2)):
            canvas.line([(x, y), (x - 0.018, y + 0.055)], lighter(colours.haze, 0.3), 0.0028)
    if stage.has("snow"):
        for x, y, r in rng.uniform(0, 1, (110, 3)):
            canvas.oval(x, y, 0.003 + 0.006 * r, colour=colours.light, edge=False)


def sun(stage: Stage, x: float, y: float, radius: float) -> None:
    """Draw a sun with its glow."""
    colours = stage.palette
    stage.canvas.glow(x, y, radius * 4.5, mix(colours.second, colours.light, 0.5))
    stage.canvas.oval(x, y, radius, colour=mix(colours.second, colours.light, 0.35))


def moon(stage: Stage, x: float, y: float, radius: float) -> None:
    """Draw a moon, full or new, with its glow."""
    colours = stage.palette
    stage.canvas.glow(x, y, radius * 4, mix(colours.haze, colours.light, 0.5))
    if stage.coin():
        outer = arc(x, y, radius, radius, 40, 290, 24)
        inner = arc(x + 0.38 * radius, y - 0.12 * radius, 0.78 * radius, 0.78 * radius, 275, 62, 24)
        stage.canvas.area(np.vstack([outer, inner]), colours.light)
    else:
        stage.canvas.oval(x, y, radius, colour=colours.light)
        shade = mix(colours.light, colours.far, 0.3)
        for dx, dy, r in ((-0.3, -0.2, 0.2), (0.25, 0.3, 0.26), (0.3, -0.35, 0.12)):
            stage.canvas.oval(
                x + dx * radius, y + dy * radius, r * radius, colour=shade, edge=False
            )


def stars(stage: Stage, horizon: float, count: int) -> None:
    """Scatter stars; a few are large, with four points."""
    colour = stage.palette.light
    for number, (x, y, size) in enumerate(stage.rng.uniform(0, 1, (count, 3))):
        if number < 5:
            points = ring(x, y * horizon * 0.9, (0.012 + 0.012 * size, 0.004), 8)
            stage.canvas.area(points, colour, edge=False)
        else:
            stage.canvas.oval(x, y * horizon, 0.0018 + 0.003 * size, colour=colour, edge=False)


def planet(stage: Stage) -> None:
    """Draw a planet with a ring, large and low in contrast."""
    colours, canvas = stage.palette, stage.canvas
    x, y, r = stage.pick(0.2, 0.8), stage.pick(0.15, 0.3), stage.pick(0.10, 0.17)
    canvas.oval(
        x,
        y,
        r,
        colour=mix(colours.main, colours.haze, 0.35),
        to=mix(colours.main, colours.sky, 0.55),
    )
    turn = np.linspace(np.pi * 0.96, np.pi * 2.04, 24) + np.pi
    band = np.column_stack([x + 1.7 * r * np.cos(turn), y + 0.35 * r * np.sin(turn) - 0.1 * r])
    canvas.curve(band, mix(colours.second, colours.haze, 0.2), r * 0.12)


def aurora(stage: Stage) -> None:
    """Hang curtains of light."""
    for tint, base in (
        (stage.palette.accent, 0.16),
        (stage.palette.second, 0.27),
        (stage.palette.main, 0.36),
    ):
        x = np.linspace(-0.1, 1.1, 14)
        phase = stage.pick(0, 6)
        low = base + 0.06 * np.sin(x * 5 + phase) + 0.03 * np.sin(x * 13 + phase)
        high = low - 0.16 - 0.05 * np.sin(x * 7 + phase)
        outline = np.vstack([np.column_stack([x, high]), np.column_stack([x, low])[::-1]])
        stage.canvas.blob(
            outline,
            mix(tint, stage.palette.sky, 0.75),
            mix(tint, stage.palette.light, 0.2),
            edge=False,
        )


def cloud(canvas: Canvas, x: float, y: float, width: float, colour: Colour) -> None:
    """Draw a cloud: a flat foot and three humps."""
    w = width
    points = path(
        "-1,0 -0.8,-0.22 -0.45,-0.26 -0.2,-0.55 0.2,-0.52 0.42,-0.28 0.8,-0.24 1,0 0,0.04", x, y, w
    )
    canvas.blob(points, colour, lighter(colour, 0.15))


def birds(stage: Stage, horizon: float) -> None:
    """Draw a flock, each bird two strokes."""
    x, y = stage.pick(0.25, 0.75), stage.pick(0.15, 0.5) * horizon
    for dx, dy, size in stage.rng.uniform(-1, 1, (7, 3)):
        cx, cy, s = x + 0.16 * dx, y + 0.08 * dy, 0.018 + 0.007 * size
        wing = [
            (cx - s, cy - 0.5 * s),
            (cx - 0.4 * s, cy - 0.6 * s),
            (cx, cy),
            (cx + 0.4 * s, cy - 0.6 * s),
            (cx + s, cy - 0.5 * s),
        ]
        stage.canvas.curve(wing, stage.palette.dark, 0.0042)
