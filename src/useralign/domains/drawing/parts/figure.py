"""Parts of people: limbs, heads, headgear, clothes and what they carry.

A figure stands at the origin and is one unit tall, from its feet at y = 0 to its head at y = -1.
"""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from useralign.domains.drawing.colour import Colour, darker, lighter

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas, Point


@dataclass(frozen=True, slots=True)
class Build:
    """Proportions: the head's radius, half widths of shoulders and hips, lengths of the limbs."""

    head: float = 0.085
    shoulder: float = 0.13
    hip: float = 0.09
    leg: float = 0.46
    limb: float = 0.062


BUILDS = {
    "heroic": Build(),
    "slender": Build(head=0.075, shoulder=0.10, hip=0.07, leg=0.5, limb=0.045),
    "sturdy": Build(head=0.09, shoulder=0.19, hip=0.14, leg=0.38, limb=0.09),
    "small": Build(head=0.17, shoulder=0.13, hip=0.11, leg=0.27, limb=0.075),
}

# Where the hands are, and the feet: (left hand, right hand, left foot, right foot).
STANCES: dict[str, tuple[Point, Point, Point, Point]] = {
    "proud": ((-0.24, -0.46), (0.24, -0.46), (-0.13, 0), (0.13, 0)),
    "raised": ((-0.24, -0.5), (0.25, -0.98), (-0.15, 0), (0.12, 0)),
    "striding": ((-0.2, -0.56), (0.28, -0.62), (-0.2, 0), (0.2, -0.02)),
    "calm": ((-0.17, -0.42), (0.2, -0.42), (-0.08, 0), (0.08, 0)),
    "open": ((-0.36, -0.62), (0.36, -0.62), (-0.12, 0), (0.12, 0)),
}


def legs(canvas: Canvas, build: Build, stance: str, cloth: Colour, boot: Colour) -> None:
    """Draw both legs with boots."""
    for side, foot in zip((-1, 1), STANCES[stance][2:], strict=True):
        hip = (side * build.hip * 0.6, -build.leg)
        knee = ((hip[0] + foot[0]) / 2 + side * 0.012, (hip[1] + foot[1]) / 2)
        canvas.limb(hip, knee, (build.limb * 1.35, build.limb), cloth)
        canvas.limb(knee, (foot[0], foot[1] - 0.03), (build.limb * 1.15, build.limb), boot)
        canvas.blob(
            [
                (foot[0] - 0.035, foot[1] - 0.06),
                (foot[0] + 0.035, foot[1] - 0.06),
                (foot[0] + 0.045 + side * 0.025, foot[1] + 0.005),
                (foot[0] - 0.045 + side * 0.025, foot[1] + 0.005),
            ],
            darker(boot),
        )


def arm(
    canvas: Canvas, build: Build, stance: str, side: int, sleeve: Colour, hand: Colour
) -> Point:
    """Draw one arm, -1 for the left, and return where its hand is."""
    end = STANCES[stance][0 if side < 0 else 1]
    top = -build.leg - _trunk(build)
    end = (end[0] * (build.shoulder / 0.13), max(end[1] * _reach(build), -1.02))
    start = (side * build.shoulder * 0.92, top + 0.045)
    elbow = ((start[0] + end[0]) / 2 + side * 0.05, (start[1] + end[1]) / 2 + 0.03)
    canvas.limb(start, elbow, (build.limb * 1.2, build.limb), sleeve)
    canvas.limb(elbow, end, (build.limb, build.limb * 0.8), darker(sleeve, 0.1))
    canvas.oval(end[0], end[1], build.limb * 0.55, colour=hand)
    return end


def _trunk(build: Build) -> float:
    return 1 - build.leg - 2 * build.head - 0.02


def _reach(build: Build) -> float:
    return (build.leg + _trunk(build)) / 0.81


def torso(canvas: Canvas, build: Build, kind: str, main: Colour, trim: Colour) -> None:
    """Draw the trunk: armour, robe, coat, suit or tunic."""
    top, hip, s, h = -build.leg - _trunk(build), -build.leg, build.shoulder, build.hip
    if kind == "robe":
        canvas.blob(
            [
                (-s * 0.8, top),
                (0, top - 0.02),
                (s * 0.8, top),
                (h * 1.2, hip),
                (h * 2.3, -0.03),
                (0, 0.0),
                (-h * 2.3, -0.03),
                (-h * 1.2, hip),
            ],
            main,
            darker(main, 0.3),
        )
        canvas.area([(-0.02, top), (0.02, top), (0.05, -0.02), (-0.05, -0.02)], trim)
        canvas.area(
            [
                (-h * 1.15, hip - 0.03),
                (h * 1.15, hip - 0.03),
                (h * 1.2, hip + 0.015),
                (-h * 1.2, hip + 0.015),
            ],
            darker(trim),
        )
        return
    low = hip + (0.2 if kind == "coat" else 0.06)
    wide = h * (1.9 if kind == "coat" else 1.25)
    canvas.blob(
        [
            (-s, top + 0.03),
            (-s * 0.5, top - 0.01),
            (s * 0.5, top - 0.01),
            (s, top + 0.03),
            (h, hip - 0.05),
            (wide, low),
            (0, low + 0.01),
            (-wide, low),
            (-h, hip - 0.05),
        ],
        main,
        darker(main, 0.25),
    )
    if kind == "armour":
        _plates(canvas, build, top, trim)
    elif kind == "coat":
        canvas.line([(0, top), (0, low)], darker(main, 0.5), 0.01)
        for level in (0.06, 0.12, 0.18):
            canvas.oval(0.025, top + level, 0.01, colour=trim)
    elif kind == "suit":
        canvas.box(-s * 0.45, top + 0.06, s * 0.45, top + 0.16, trim)
        for dx, tint in ((-0.3, (0.9, 0.3, 0.25)), (0.0, (0.3, 0.8, 0.5)), (0.3, (0.95, 0.8, 0.3))):
            canvas.oval(dx * s, top + 0.11, 0.014, colour=tint)
    else:
        canvas.area([(-s * 0.35, top), (s * 0.35, top), (0, top + 0.10)], lighter(trim, 0.3))
    canvas.box(-h * 1.12, hip - 0.045, h * 1.12, hip - 0.01, darker(trim, 0.35))
    canvas.box(-0.025, hip - 0.05, 0.025, hip - 0.005, lighter(trim, 0.3))


def _plates(canvas: Canvas, build: Build, top: float, trim: Colour) -> None:
    s = build.shoulder
    canvas.area(
        [
            (-s * 0.6, top + 0.03),
            (s * 0.6, top + 0.03),
            (s * 0.35, top + 0.2),
            (0, top + 0.25),
            (-s * 0.35, top + 0.2),
        ],
        trim,
    )
    canvas.line([(0, top + 0.03), (0, top + 0.25)], darker(trim), 0.008)
    for side in (-1, 1):
        canvas.blob(
            [
                (side * s * 0.55, top + 0.01),
                (side * s * 1.0, top - 0.03),
                (side * s * 1.35, top + 0.05),
                (side * s * 1.1, top + 0.10),
                (side * s * 0.7, top + 0.08),
            ],
            trim,
            darker(trim),
        )


def cape(canvas: Canvas, build: Build, colour: Colour, sway: float) -> None:
    """Draw a cape behind the figure; `sway` blows it to one side."""
    top, s = -build.leg - _trunk(build), build.shoulder
    canvas.blob(
        [
            (-s * 0.9, top + 0.01),
            (s * 0.9, top + 0.01),
            (s * 1.5 + sway * 0.6, -0.42),
            (s * 1.9 + sway, -0.06),
            (s * 0.6 + sway, -0.11),
            (sway * 0.5, -0.04),
            (-s * 0.7 + sway, -0.11),
            (-s * 1.8 + sway * 0.6, -0.04),
            (-s * 1.4, -0.42),
        ],
        colour,
        darker(colour, 0.35),
    )


def wings(canvas: Canvas, build: Build, colour: Colour) -> None:
    """Draw a pair of feathered wings behind the figure."""
    top = -build.leg - _trunk(build) + 0.06
    for side in (-1, 1):
        for number, (reach, rise) in enumerate(
            ((0.55, -0.26), (0.52, -0.08), (0.44, 0.10), (0.32, 0.22))
        ):
            tint = darker(colour, 0.07 * number)
            canvas.blob(
                [
                    (side * 0.05, top),
                    (side * reach * 0.6, top + rise - 0.1),
                    (side * reach, top + rise),
                    (side * reach * 0.6, top + rise * 0.6 + 0.08),
                ],
                tint,
            )


def face(canvas: Canvas, build: Build, skin: Colour, ink: Colour, eyes: str) -> None:
    """Draw a human head with its features: eyes are "bright", "calm", "fierce" or "masked"."""
    r, y = build.head, -1 + build.head
    canvas.limb((0, y + r), (0, y + r * 1.3), (r * 0.75, r * 0.8), darker(skin, 0.15))
    canvas.blob(
        [
            (0, y - r),
            (r * 0.85, y - r * 0.45),
            (r * 0.78, y + r * 0.4),
            (0, y + r * 1.03),
            (-r * 0.78, y + r * 0.4),
            (-r * 0.85, y - r * 0.45),
        ],
        skin,
    )
    if eyes == "masked":
        canvas.area(
            [
                (-r * 0.85, y - r * 0.25),
                (r * 0.85, y - r * 0.25),
                (r * 0.7, y + r * 0.25),
                (-r * 0.7, y + r * 0.25),
            ],
            ink,
        )
    for side in (-1, 1):
        x = side * r * 0.36
        white = (1.0, 1.0, 1.0)
        tall = r * {"bright": 0.22, "calm": 0.10, "fierce": 0.13, "masked": 0.12}[eyes]
        canvas.oval(x, y, r * 0.18, tall, white)
        canvas.oval(x, y, r * 0.10, min(tall, r * 0.15), ink)
        slope = r * (0.14 if eyes == "fierce" else -0.04)
        if eyes != "masked":
            canvas.line(
                [(x - side * r * 0.2, y - r * 0.26 + slope), (x + side * r * 0.22, y - r * 0.34)],
                ink,
                r * 0.09,
            )
    canvas.curve(
        [
            (-r * 0.22, y + r * 0.5),
            (0, y + r * (0.6 if eyes in ("bright", "calm") else 0.5)),
            (r * 0.22, y + r * 0.5),
        ],
        darker(skin, 0.55),
        r * 0.08,
    )


def beast(canvas: Canvas, build: Build, coat: Colour, muzzle: Colour, ears: str) -> None:
    """Draw the head of an animal that walks upright, with "point", "round" or "long" ears."""
    r, y = build.head * 1.15, -1 + build.head
    for side in (-1, 1):
        if ears == "point":
            canvas.area(
                [
                    (side * r * 0.95, y - r * 0.2),
                    (side * r * 0.95, y - r * 1.5),
                    (side * r * 0.15, y - r * 0.8),
                ],
                coat,
            )
            canvas.area(
                [
                    (side * r * 0.8, y - r * 0.5),
                    (side * r * 0.85, y - r * 1.2),
                    (side * r * 0.35, y - r * 0.8),
                ],
                darker(coat, 0.4),
            )
        elif ears == "round":
            canvas.oval(side * r * 0.75, y - r * 0.75, r * 0.38, colour=coat)
            canvas.oval(side * r * 0.75, y - r * 0.75, r * 0.2, colour=muzzle)
        else:
            canvas.blob(
                [
                    (side * r * 0.3, y - r * 0.6),
                    (side * r * 0.25, y - r * 1.7),
                    (side * r * 0.6, y - r * 1.9),
                    (side * r * 0.7, y - r * 0.7),
                ],
                coat,
            )
    canvas.blob(
        [
            (0, y - r),
            (r, y - r * 0.2),
            (r * 0.75, y + r * 0.6),
            (0, y + r),
            (-r * 0.75, y + r * 0.6),
            (-r, y - r * 0.2),
        ],
        coat,
    )
    canvas.blob([(0, y), (r * 0.5, y + r * 0.35), (0, y + r), (-r * 0.5, y + r * 0.35)], muzzle)
    for side in (-1, 1):
        canvas.oval(side * r * 0.42, y - r * 0.1, r * 0.14, r * 0.17, darker(coat, 0.85))
        canvas.oval(side * r * 0.42 + r * 0.05, y - r * 0.16, r * 0.05, colour=(1, 1, 1))
    canvas.oval(0, y + r * 0.32, r * 0.15, r * 0.11, darker(coat, 0.85))


def robot(canvas: Canvas, build: Build, metal: Colour, eye: Colour) -> None:
    """Draw the head of a robot, with an aerial and glowing eyes."""
    r, y = build.head * 1.1, -1 + build.head
    canvas.line([(0, y - r), (0, y - r * 1.6)], darker(metal), r * 0.12)
    canvas.oval(0, y - r * 1.65, r * 0.18, colour=eye)
    canvas.box(-r * 0.4, y + r * 0.8, r * 0.4, y + r * 1.3, darker(metal, 0.4))
    canvas.blob(
        [
            (-r, y - r * 0.8),
            (0, y - r * 1.0),
            (r, y - r * 0.8),
            (r, y + r * 0.75),
            (0, y + r * 0.95),
            (-r, y + r * 0.75),
        ],
        metal,
        darker(metal, 0.2),
    )
    canvas.box(-r * 0.8, y - r * 0.35, r * 0.8, y + r * 0.25, darker(metal, 0.75))
    for side in (-1, 1):
        canvas.glow(side * r * 0.4, y - r * 0.05, r * 0.9, eye)
        canvas.oval(side * r * 0.4, y - r * 0.05, r * 0.2, colour=eye)
    for dx in (-0.3, 0, 0.3):
        canvas.line([(dx * r, y + r * 0.45), (dx * r, y + r * 0.65)], darker(metal, 0.6), r * 0.1)
