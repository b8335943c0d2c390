"""What figures have on their heads: helmets, hats, hair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.canvas import arc, path, ring
from useralign.domains.drawing.colour import darker, lighter, mix

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.parts.figure import Build


def put_on(canvas: Canvas, build: Build, kind: str, main: Colour, trim: Colour) -> None:
    """Draw what is on the head: see `HEADGEAR`."""
    with canvas.placed(0, -1 + build.head, build.head):
        HEADGEAR[kind](canvas, main, trim)


def _helmet(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.blob([(0, -1.7), (0.5, -2.0), (1.1, -1.2), (0.4, -1.1)], trim)
    canvas.area(
        [
            *arc(0, -0.1, 1.08, 1.1, 180, 360, 16),
            (1.0, 0.6),
            (0.55, 1.0),
            (0.45, 0.1),
            (-0.45, 0.1),
            (-0.55, 1.0),
            (-1.0, 0.6),
        ],
        main,
        darker(main),
    )
    canvas.box(-1.1, -0.28, 1.1, -0.05, darker(main, 0.2))
    canvas.area([(-0.09, -1.2), (0.09, -1.2), (0.12, 0.45), (-0.12, 0.45)], lighter(main, 0.25))


def _hood(canvas: Canvas, main: Colour, trim: Colour) -> None:
    outer = arc(0, -0.05, 1.25, 1.35, 150, 390, 20)
    inner = arc(0, 0.1, 0.82, 1.0, 390, 150, 20)
    canvas.area([*outer, *inner], main, darker(main, 0.3))
    canvas.blob(
        path("-1.1,0.6 0,1.25 1.1,0.6 1.3,1.25 0,1.8 -1.3,1.25"),
        darker(main, 0.15),
    )
    canvas.oval(0, 1.35, 0.16, colour=trim)


def _wizard(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.blob(
        path("-0.8,-0.5 -0.35,-1.6 0.1,-2.5 0.75,-2.75 0.45,-2.2 0.55,-1.4 0.8,-0.5"),
        main,
        darker(main),
    )
    canvas.oval(0, -0.5, 1.7, 0.32, darker(main, 0.15))
    canvas.area([(-0.78, -0.62), (0.78, -0.62), (0.72, -0.92), (-0.7, -0.92)], trim)
    canvas.area(ring(0.05, -1.45, (0.28, 0.11), 10), trim)


def _tricorn(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.blob(
        path("-1.6,-0.75 -0.8,-1.35 0,-1.75 0.8,-1.35 1.6,-0.75 0.7,-0.45 -0.7,-0.45"),
        main,
        darker(main),
    )
    canvas.curve([(-1.55, -0.75), (-0.6, -0.48), (0.6, -0.48), (1.55, -0.75)], trim, 0.12)
    canvas.oval(0, -1.05, 0.24, colour=trim)


def _crown(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.area(
        path("-0.85,-0.5 -1,-1.4 -0.45,-0.95 0,-1.6 0.45,-0.95 1,-1.4 0.85,-0.5"),
        trim,
        darker(trim, 0.2),
    )
    for x in (-0.45, 0, 0.45):
        canvas.oval(x, -0.68, 0.11, colour=main)


def _goggles(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.area([*arc(0, -0.2, 1.0, 1.0, 180, 360, 14), (0.95, 0), (-0.95, 0)], main, darker(main))
    canvas.box(-1.0, -0.5, 1.0, -0.3, darker(main, 0.5))
    for side in (-1, 1):
        canvas.oval(side * 0.42, -0.4, 0.36, colour=darker(trim, 0.3))
        canvas.oval(side * 0.42, -0.4, 0.24, colour=lighter(trim, 0.45))


def _bowl(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.oval(0, 0, 1.45, 1.45, mix(main, (1, 1, 1), 0.4))
    canvas.oval(0, 0.02, 1.12, 1.05, mix(trim, (0.1, 0.15, 0.25), 0.6), trim)
    canvas.curve([(-0.75, -0.4), (-0.5, -0.72), (-0.1, -0.85)], (1, 1, 1), 0.12)


def _hair(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.area(
        path(
            "-1,0.35 -1.15,-0.5 -0.9,-1.2 -0.5,-1.05 -0.25,-1.6 0.2,-1.15 0.7,-1.45 "
            "0.9,-0.9 1.2,-0.6 1,0.35 0.75,-0.4 0.25,-0.55 -0.1,-0.3 -0.4,-0.6 -0.75,-0.35"
        ),
        main,
        darker(main),
    )
    del trim


def _bun(canvas: Canvas, main: Colour, trim: Colour) -> None:
    canvas.oval(0, -1.3, 0.45, colour=main)
    canvas.blob(
        path("-1.05,0.5 -1.1,-0.4 -0.6,-1.1 0.6,-1.1 1.1,-0.4 1.05,0.5 0.8,-0.2 0,-0.55 -0.8,-0.2"),
        main,
        darker(main),
    )
    canvas.line([(-0.4, -1.15), (0.4, -1.15)], trim, 0.14)


def _long(canvas: Canvas, main: Colour, trim: Colour) -> None:
    for side in (-1, 1):
        canvas.blob(
            [
                (side * 0.3, -1.0),
                (side * 1.15, -0.6),
                (side * 1.35, 0.6),
                (side * 1.2, 2.0),
                (side * 0.75, 1.3),
                (side * 0.85, 0.1),
            ],
            main,
            darker(main),
        )
    canvas.blob(
        path("-0.95,0 -0.8,-1 0,-1.3 0.8,-1 0.95,0 0.4,-0.6 -0.3,-0.65"),
        main,
    )
    canvas.line([(-0.85, -0.55), (0.85, -0.55)], trim, 0.12)


def _turban(canvas: Canvas, main: Colour, trim: Colour) -> None:
    for number in range(3):
        canvas.blob(
            [
                (-1.15 + 0.1 * number, -0.4 - 0.35 * number),
                (0, -0.95 - 0.35 * number),
                (1.15 - 0.1 * number, -0.4 - 0.35 * number),
                (0, -0.25 - 0.3 * number),
            ],
            darker(main, 0.12 * (number % 2)),
        )
    canvas.oval(0, -0.75, 0.2, colour=trim)


HEADGEAR = {
    "helmet": _helmet,
    "hood": _hood,
    "wizard hat": _wizard,
    "tricorn": _tricorn,
    "crown": _crown,
    "goggles": _goggles,
    "bowl": _bowl,
    "hair": _hair,
    "bun": _bun,
    "long hair": _long,
    "turban": _turban,
}
