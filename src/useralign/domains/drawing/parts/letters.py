"""Letters drawn as strokes on a grid of four by six, so that each style treats them as its own."""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.colour import Colour

# Each letter: polylines as pairs of digits "xy", x from 0 to 4 and y from 0 (top) to 6.
GLYPHS = {
    "A": "06 20 46|14 34",
    "B": "06 00 30 41 42 33 03|33 44 45 36 06",
    "C": "41 30 10 01 05 16 36 45",
    "D": "00 20 42 44 26 06 00",
    "E": "40 00 06 46|03 33",
    "F": "40 00 06|03 33",
    "G": "41 30 10 01 05 16 36 45 43 23",
    "H": "00 06|40 46|03 43",
    "I": "20 26",
    "J": "40 45 36 16 05",
    "K": "00 06|40 03 46",
    "L": "00 06 46",
    "M": "06 00 23 40 46",
    "N": "06 00 46 40",
    "O": "10 30 41 45 36 16 05 01 10",
    "P": "06 00 30 41 42 33 03",
    "Q": "10 30 41 45 36 16 05 01 10|34 46",
    "R": "06 00 30 41 42 33 03|23 46",
    "S": "41 30 10 01 02 13 33 44 45 36 16 05",
    "T": "00 40|20 26",
    "U": "00 05 16 36 45 40",
    "V": "00 26 40",
    "W": "00 16 22 36 40",
    "X": "00 46|40 06",
    "Y": "00 23 40|23 26",
    "Z": "00 40 06 46",
    "0": "10 30 41 45 36 16 05 01 10",
    "1": "11 20 26",
    "2": "01 10 30 41 42 06 46",
    "5": "40 00 02 32 43 45 36 06",
    "7": "00 40 16",
    "9": "43 13 02 01 10 30 41 44 26",
    "&": "46 02 01 10 20 31 04 05 16 26 43",
    "'": "20 21",
    "-": "13 33",
    " ": "",
}
_ADVANCE = {"I": 0.45, "'": 0.4, " ": 0.6, "M": 1.15, "W": 1.15}


def width_of(text: str, height: float) -> float:
    """Return how wide a text of this height is."""
    return sum(0.9 * _ADVANCE.get(letter, 1.0) for letter in text.upper()) * height * 0.92


def write(
    canvas: Canvas,
    text: str,
    x: float,
    y: float,
    height: float,
    colour: Colour,
    *,
    weight: float = 0.14,
    fit: float | None = None,
) -> None:
    """Write a text centred at x with its top at y.

    Parameters
    ----------
    canvas : Canvas
    text : str
        Letters, digits 0, 1, 2, 5, 7 and 9, space, and, hyphen, apostrophe.
    x, y, height : float
    colour : tuple of float
    weight : float
        Width of the strokes, as a share of the height.
    fit : float, optional
        The text becomes smaller where it would be wider than this.
    """
    if fit is not None and width_of(text, height) > fit:
        height *= fit / width_of(text, height)
    pen = x - width_of(text, height) / 2
    for letter in text.upper():
        advance = 0.9 * _ADVANCE.get(letter, 1.0) * height * 0.92
        _letter(
            canvas, letter, pen + 0.12 * height, y, advance - 0.24 * height, height, colour, weight
        )
        pen += advance


def _letter(
    canvas: Canvas,
    letter: str,
    x: float,
    y: float,
    width: float,
    height: float,
    colour: Colour,
    weight: float,
) -> None:
    if letter in ("I", "'"):
        x, width = x + width / 2 - 0.3 * height, 0.6 * height
    for stroke in GLYPHS[letter].split("|"):
        points = [(x + int(p[0]) / 4 * width, y + int(p[1]) / 6 * height) for p in stroke.split()]
        if len(points) > 1:
            canvas.line(points, colour, weight * height)


def bars(
    canvas: Canvas,
    left: float,
    top: float,
    width: float,
    lines: int,
    colour: Colour,
    height: float = 0.014,
) -> None:
    """Draw lines of small print as bars, the last one shorter."""
    for number in range(lines):
        share = 1.0 if number < lines - 1 else 0.6
        y = top + number * height * 2
        canvas.box(left, y, left + width * share, y + height, colour, edge=False)
