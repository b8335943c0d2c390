"""Characters: heroes put together from a build, a head, clothes, a stance and a tool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import Colour, darker, from_hex, lighter, luminance, mix
from useralign.domains.drawing.parts import (
    animals,
    buildings,
    figure,
    headgear,
    plants,
    sky,
    terrain,
)
from useralign.domains.drawing.parts.tools import TOOLS
from useralign.domains.drawing.scenes.stage import Scene

if TYPE_CHECKING:
    from useralign.domains.drawing.scenes.stage import Stage

SKINS = ("f1c9a5", "d9a066", "a86b3c", "6b3f24", "e8b58a", "8a5530")
GROUNDS = ("ruins", "woods", "peaks", "skyline", "sunburst", "rings", "plain")
COMPANIONS = ("owl", "fox", "cat", "dragon")
BUILDS = tuple(f"{name} build" for name in figure.BUILDS)
ELEMENTS = (
    *TOOLS,
    *COMPANIONS,
    *GROUNDS,
    *BUILDS,
    *sky.WEATHER,
    "cape",
    "scarf",
    "wings",
    "halo",
    "sparks",
)


@dataclass(frozen=True, slots=True)
class Outfit:
    """What a subject wears and how it stands; a recipe's elements overrule it."""

    head: str = "human"
    gear: str = "hair"
    torso: str = "tunic"
    tool: str = "sword"
    build: str = "heroic"
    stance: str = "proud"
    eyes: str = "calm"
    cape: bool = False


OUTFITS = {
    "knight": Outfit(gear="helmet", torso="armour", tool="sword", cape=True, eyes="fierce"),
    "mage": Outfit(gear="wizard hat", torso="robe", tool="staff", build="slender", stance="raised"),
    "ranger": Outfit(
        gear="hood", torso="tunic", tool="bow", build="slender", stance="striding", cape=True
    ),
    "robot": Outfit(
        head="robot", gear="", torso="armour", tool="wrench", build="sturdy", stance="open"
    ),
    "astronaut": Outfit(
        gear="bowl", torso="suit", tool="flower", build="sturdy", stance="calm", eyes="bright"
    ),
    "pirate": Outfit(gear="tricorn", torso="coat", tool="sword", stance="raised", eyes="fierce"),
    "child explorer": Outfit(
        gear="goggles", torso="coat", tool="lantern", build="small", eyes="bright"
    ),
    "fox warrior": Outfit(
        head="point", gear="", torso="tunic", tool="spear", stance="striding", cape=True
    ),
    "bear smith": Outfit(head="round", gear="", torso="armour", tool="hammer", build="sturdy"),
    "rabbit scholar": Outfit(
        head="long", gear="", torso="coat", tool="book", build="small", stance="calm"
    ),
    "masked vigilante": Outfit(
        gear="long hair", torso="suit", tool="", eyes="masked", cape=True, stance="proud"
    ),
    "healer": Outfit(
        gear="bun", torso="robe", tool="flower", build="slender", stance="open", eyes="bright"
    ),
    "desert nomad": Outfit(gear="turban", torso="robe", tool="spear", stance="calm", cape=True),
    "young queen": Outfit(gear="crown", torso="armour", tool="shield", stance="proud", cape=True),
    "mechanic": Outfit(
        gear="goggles", torso="tunic", tool="wrench", stance="raised", eyes="bright"
    ),
}


def _draw(stage: Stage, outfit: Outfit) -> None:
    _ground(stage)
    x, low, scale, turn = stage.place
    foot = 0.93 + low if stage.composition != "close" else 1.32
    with stage.canvas.placed(x, foot, 0.78 * scale, turn, flip=stage.coin()):
        _figure(stage, outfit)
    _companion(stage, x, min(foot, 0.97), scale)
    if stage.has("sparks"):
        for sx, sy, size in stage.rng.uniform(0, 1, (26, 3)):
            stage.canvas.area(
                ring(sx, sy, (0.006 + 0.012 * size, 0.003), 8),
                lighter(stage.palette.second, 0.4),
                edge=False,
            )
    sky.weather(stage)


def _figure(stage: Stage, outfit: Outfit) -> None:
    canvas, p = stage.canvas, stage.palette
    chosen = next((b[:-6] for b in BUILDS if stage.has(b)), outfit.build)
    build = figure.BUILDS[chosen]
    cloth, trim, tail = _cloth(stage)
    skin = from_hex(SKINS[int(stage.rng.integers(len(SKINS)))])
    canvas.sheet()
    canvas.oval(0, 0.01, 0.3, 0.03, mix(p.near, p.dark, 0.5), edge=False)
    if stage.has("halo"):
        canvas.glow(0, -1 + build.head, 0.42, p.light)
        canvas.curve(arc(0, -1 + build.head, 0.2, 0.2, 0, 360, 30), p.second, 0.018)
    if stage.has("wings"):
        figure.wings(canvas, build, lighter(trim, 0.35))
    if outfit.cape or stage.has("cape"):
        figure.cape(canvas, build, tail, stage.pick(-0.1, 0.2))
    canvas.sheet()
    if outfit.torso != "robe":
        figure.legs(canvas, build, outfit.stance, darker(cloth, 0.45), darker(tail, 0.5))
    figure.arm(canvas, build, outfit.stance, -1, cloth, skin)
    figure.torso(canvas, build, outfit.torso, cloth, trim)
    if stage.has("scarf"):
        top = -1 + 2 * build.head + 0.02
        canvas.blob([(-0.09, top), (0.09, top), (0.1, top + 0.06), (-0.1, top + 0.06)], tail)
        canvas.blob(
            [
                (0.06, top + 0.03),
                (0.2, top + 0.02),
                (0.36, top - 0.05),
                (0.34, top + 0.05),
                (0.18, top + 0.10),
                (0.05, top + 0.08),
            ],
            tail,
            darker(tail),
        )
    _head(stage, outfit, build, skin)
    canvas.sheet()
    _right_hand(stage, outfit, build, cloth, skin if outfit.head == "human" else darker(cloth))


def _cloth(stage: Stage) -> tuple[Colour, Colour, Colour]:
    """Return the colours of clothes, trim and cape: those that stand out from the ground first."""
    p = stage.palette
    colours = [p.main, p.second, p.accent]
    stage.rng.shuffle(colours)
    colours.sort(key=lambda c: -abs(luminance(c) - luminance(p.haze)) > -0.12)
    return colours[0], colours[1], colours[2]


def _head(stage: Stage, outfit: Outfit, build: figure.Build, skin: Colour) -> None:
    canvas, p = stage.canvas, stage.palette
    if outfit.head == "robot":
        figure.robot(canvas, build, mix(p.light, p.far, 0.45), p.second)
        return
    if outfit.head != "human":
        coat = (
            mix((0.80, 0.42, 0.14), p.main, 0.3)
            if outfit.head == "point"
            else mix((0.5, 0.33, 0.2), p.far, 0.35)
        )
        figure.beast(canvas, build, coat, p.light, outfit.head)
        return
    figure.face(canvas, build, skin, darker(p.dark, 0.2), outfit.eyes)
    hair = outfit.gear in ("hair", "bun", "long hair")
    gear = mix(p.dark, p.main, stage.pick(0, 0.7)) if hair else mix(p.far, p.light, 0.3)
    if outfit.gear in ("wizard hat", "hood", "tricorn", "turban"):
        gear = p.accent if outfit.gear != "tricorn" else darker(p.main, 0.45)
    headgear.put_on(canvas, build, outfit.gear, gear, p.second)


def _right_hand(
    stage: Stage, outfit: Outfit, build: figure.Build, cloth: Colour, hand: Colour
) -> None:
    canvas, p = stage.canvas, stage.palette
    tools = [tool for tool in stage.elements if tool in TOOLS] or (
        [outfit.tool] if outfit.tool else []
    )
    end = figure.STANCES[outfit.stance][1]
    end = (end[0] * (build.shoulder / 0.13), end[1] * (0.98 - 2 * build.head) / 0.81)
    for number, tool in enumerate(tools[:2]):
        at = (
            end
            if number == 0
            else (-end[0], figure.STANCES[outfit.stance][0][1] * (0.98 - 2 * build.head) / 0.81)
        )
        with canvas.placed(at[0], max(at[1], -1.02), 1.0, 12 if number == 0 else -6):
            TOOLS[tool](canvas, mix(p.second, p.main, 0.25 * number), p.light)
    figure.arm(canvas, build, outfit.stance, 1, cloth, hand)


def _ground(stage: Stage) -> None:
    """Draw what is behind the figure."""
    canvas, p = stage.canvas, stage.palette
    if stage.has("plain", "rings", "sunburst"):
        _pattern(stage)
        return
    sky.sky(stage, 0.8)
    if stage.has("peaks"):
        terrain.land(stage, terrain.ridge(stage, 0.72, 0.4), p.far, mix(p.far, p.haze, 0.6))
    if stage.has("skyline"):
        for x in stage.rng.uniform(0, 1, 11):
            buildings.tower(
                canvas,
                float(x),
                0.85,
                stage.pick(0.07, 0.13),
                stage.pick(0.2, 0.6),
                mix(p.far, p.mid, stage.pick(0, 1)),
                mix(p.second, p.far, 0.2),
                stage.rng,
                0.4,
            )
    if stage.has("woods"):
        for x in stage.rng.uniform(0, 1, 9):
            kind = "pine" if stage.coin() else "round"
            plants.tree(
                canvas,
                float(x),
                0.87,
                stage.pick(0.35, 0.65),
                mix(p.far, p.mid, stage.pick(0, 1)),
                darker(p.mid, 0.4),
                stage.rng,
                kind,
            )
    if stage.has("ruins"):
        for x in (0.08, 0.26, 0.74, 0.92):
            top = stage.pick(0.25, 0.6)
            canvas.box(x - 0.05, top, x + 0.05, 0.88, p.far, mix(p.far, p.haze, 0.4))
            canvas.box(x - 0.065, top - 0.03, x + 0.065, top + 0.01, lighter(p.far, 0.15))
        canvas.area(
            [*arc(0.5, 0.42, 0.25, 0.25, 180, 360, 16), *arc(0.5, 0.42, 0.17, 0.17, 360, 180, 16)],
            p.far,
        )
    terrain.land(stage, terrain.swell(stage, 0.87, 0.015, 0.6), mix(p.mid, p.near, 0.5), p.near)
    plants.grass(canvas, 1.0, darker(p.near, 0.2), stage.rng, 25)


def _pattern(stage: Stage) -> None:
    canvas, p = stage.canvas, stage.palette
    canvas.box(-0.1, -0.1, 1.1, 1.1, p.sky, p.haze, edge=False)
    x = stage.place[0]
    if stage.has("sunburst"):
        rays = ring(x, 0.5, (1.2,), 36)
        for a, b in zip(rays[0::2], rays[1::2], strict=True):
            canvas.area(
                [(x, 0.5), (a[0], a[1]), (b[0], b[1])], mix(p.sky, p.second, 0.35), edge=False
            )
    if stage.has("rings"):
        for number, r in enumerate((0.46, 0.36, 0.26)):
            canvas.oval(x, 0.45, r, colour=mix(p.haze, (p.far, p.second, p.light)[number], 0.6))
    if stage.has("stars"):
        sky.stars(stage, 1.0, 60)
    canvas.sheet()
    canvas.blob(path("-0.1,0.92 0.5,0.86 1.1,0.92 1.1,1.2 -0.1,1.2"), mix(p.mid, p.near, 0.4))


def _companion(stage: Stage, x: float, foot: float, scale: float) -> None:
    canvas, p = stage.canvas, stage.palette
    side = -1 if x > 0.55 else 1
    at, size = x + side * 0.27 * max(scale, 0.8), 0.2 * min(scale, 1.1)
    canvas.sheet()
    if stage.has("owl"):
        animals.owl(canvas, at, foot - 0.02, size, mix(p.far, p.dark, 0.3), p.second)
    if stage.has("fox"):
        animals.fox(canvas, at, foot, size, mix((0.85, 0.42, 0.12), p.main, 0.25), p.light)
    if stage.has("cat"):
        animals.cat(canvas, at, foot, size, mix(p.dark, p.near, 0.3), p.second)
    if stage.has("dragon"):
        animals.dragonling(canvas, at, foot, size * 1.2, p.accent, lighter(p.accent, 0.3))


SCENE = Scene({name: partial(_draw, outfit=outfit) for name, outfit in OUTFITS.items()}, ELEMENTS)
