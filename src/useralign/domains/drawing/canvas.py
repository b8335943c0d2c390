"""What a scene draws on: it records shapes, which a style then turns into a picture.

Coordinates run from (0, 0) at the top left to (1, 1) at the bottom right. Later shapes cover
earlier ones. A scene therefore says what is where and in which colour; whether that becomes ink,
glass or paper is for the style.
"""

# ruff: noqa: PLR0917 - coordinates and colours come in a fixed order

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from useralign.domains.drawing.colour import Colour

    Points = Sequence[tuple[float, float]] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """One thing drawn.

    Parameters
    ----------
    kind : {"fill", "stroke", "glow"}
        An area, a line, or soft light around the first point.
    points : ndarray, shape (n, 2)
    colour : tuple of float
    to : tuple of float, optional
        The colour at the lower end, for an area that changes from top to bottom.
    width : float
        Of a line; the radius of a glow.
    layer : int
        Sheets of a paper cut, from the back to the front.
    edge : bool
        Whether styles with outlines draw one.
    """

    kind: str
    points: NDArray[np.float64]
    colour: Colour
    to: Colour | None = None
    width: float = 0.0
    layer: int = 0
    edge: bool = True


class Canvas:
    """A record of shapes, with a frame that scenes can move, scale and turn.

    Attributes
    ----------
    shapes : list of Shape
        From the back to the front.
    """

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self._frame = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        self._layer = 0

    def sheet(self) -> None:
        """Begin a new layer in front of what is there."""
        self._layer += 1

    @contextmanager
    def placed(
        self, x: float, y: float, scale: float = 1.0, turn: float = 0.0, *, flip: bool = False
    ) -> Iterator[None]:
        """Draw for a while with the origin at (x, y), scaled, turned by degrees, mirrored."""
        angle = math.radians(turn)
        cos, sin = math.cos(angle) * scale, math.sin(angle) * scale
        own = np.array([[-cos if flip else cos, -sin, x], [-sin if flip else sin, cos, y]])
        before = self._frame
        linear = before[:, :2] @ own[:, :2]
        shift = before[:, :2] @ own[:, 2] + before[:, 2]
        self._frame = np.column_stack([linear, shift])
        try:
            yield
        finally:
            self._frame = before

    def area(
        self, points: Points, colour: Colour, to: Colour | None = None, *, edge: bool = True
    ) -> None:
        """Fill a polygon."""
        self._add("fill", points, colour, to=to, edge=edge)

    def blob(
        self, points: Points, colour: Colour, to: Colour | None = None, *, edge: bool = True
    ) -> None:
        """Fill a smooth closed curve through points."""
        self._add("fill", smooth(points), colour, to=to, edge=edge)

    def oval(
        self,
        x: float,
        y: float,
        across: float,
        down: float | None = None,
        colour: Colour = (0, 0, 0),
        to: Colour | None = None,
        *,
        edge: bool = True,
    ) -> None:
        """Fill an ellipse around (x, y) with these radii."""
        self._add("fill", ellipse(x, y, across, down or across), colour, to=to, edge=edge)

    def box(
        self,
        left: float,
        top: float,
        right: float,
        bottom: float,
        colour: Colour,
        to: Colour | None = None,
        *,
        edge: bool = True,
    ) -> None:
        """Fill a rectangle."""
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        self._add("fill", corners, colour, to=to, edge=edge)

    def line(self, points: Points, colour: Colour, width: float = 0.008) -> None:
        """Draw a line through points."""
        self._add("stroke", points, colour, width=width)

    def curve(self, points: Points, colour: Colour, width: float = 0.008) -> None:
        """Draw a smooth line through points."""
        self._add("stroke", smooth(points, closed=False), colour, width=width)

    def glow(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Let light shine softly around a point."""
        self._add("glow", [(x, y)], colour, width=radius, edge=False)

    def limb(self, start: Point, end: Point, widths: tuple[float, float], colour: Colour) -> None:
        """Fill a limb that goes from one width to another, round at both ends."""
        self._add("fill", capsule(start, end, widths), colour)

    def _add(
        self,
        kind: str,
        points: Points,
        colour: Colour,
        *,
        to: Colour | None = None,
        width: float = 0.0,
        edge: bool = True,
    ) -> None:
        own = np.asarray(points, dtype=np.float64)
        placed = own @ self._frame[:, :2].T + self._frame[:, 2]
        scale = math.sqrt(abs(float(np.linalg.det(self._frame[:, :2]))))
        self.shapes.append(Shape(kind, placed, colour, to, width * scale, self._layer, edge))


Point = tuple[float, float]


def path(text: str, x: float = 0.0, y: float = 0.0, scale: float = 1.0) -> list[Point]:
    """Read points from "x,y x,y ...", scaled and then moved by (x, y)."""
    pairs = [pair.split(",") for pair in text.split()]
    return [(x + scale * float(a), y + scale * float(b)) for a, b in pairs]


def smooth(points: Points, *, closed: bool = True, steps: int = 7) -> NDArray[np.float64]:
    """Return a Catmull-Rom curve through points, shape (n, 2)."""
    given = np.asarray(points, dtype=np.float64)
    if closed:
        around = np.vstack([given[-1], given, given[:2]])
    else:
        around = np.vstack([given[0], given, given[-1]])
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    pieces = []
    for p0, p1, p2, p3 in zip(around, around[1:], around[2:], around[3:], strict=False):
        a, b, c = 2 * p0 - 5 * p1 + 4 * p2 - p3, 3 * (p1 - p2) + p3 - p0, p2 - p0
        pieces.append(p1 + 0.5 * (c * t + a * t**2 + b * t**3))
    if not closed:
        pieces.append(given[-1:])
    return np.vstack(pieces)


def ellipse(
    x: float, y: float, across: float, down: float, corners: int = 36
) -> NDArray[np.float64]:
    """Return points on an ellipse, shape (corners, 2)."""
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return np.column_stack([x + across * np.cos(angle), y + down * np.sin(angle)])


def ring(
    x: float, y: float, radii: Sequence[float], count: int, start: float = -90.0
) -> NDArray[np.float64]:
    """Return `count` points around a centre whose distances go through `radii`: stars, gears.

    The first is at `start` degrees, where -90 is up.
    """
    angle = np.radians(start + 360 * np.arange(count) / count)
    radius = np.resize(np.asarray(radii, dtype=np.float64), count)
    return np.column_stack([x + radius * np.cos(angle), y + radius * np.sin(angle)])


def arc(
    x: float, y: float, across: float, down: float, start: float, end: float, corners: int = 20
) -> NDArray[np.float64]:
    """Return points on part of an ellipse, from one angle to another in degrees."""
    angle = np.radians(np.linspace(start, end, corners))
    return np.column_stack([x + across * np.cos(angle), y + down * np.sin(angle)])


def capsule(start: Point, end: Point, widths: tuple[float, float]) -> NDArray[np.float64]:
    """Return the outline of a limb, shape (n, 2)."""
    direction = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    first, last = widths[0] / 2, widths[1] / 2
    back = arc(*start, first, first, direction + 90, direction + 270, 9)
    front = arc(*end, last, last, direction - 90, direction + 90, 9)
    return np.vstack([back, front])
