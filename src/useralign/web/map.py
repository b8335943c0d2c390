"""A small map of the candidates, and the direction that a person's answers point in.

Near is alike: the map shows the two directions in which the features spread most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.geometry.features import principal_plane
from useralign.web.rendering import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.session import Session

WIDTH, HEIGHT, EDGE = 320.0, 240.0, 22.0
MOST = 300  # dots that a small map can hold
SMALLEST, LARGEST = 3.0, 6.5  # radii of dots
LONGEST_ARROW = 90.0
TELLING = 0.5  # share of the differences between scores that the plane must show for an arrow
MOST_NAMED = 60  # dots up to which each can be reached with the keyboard
LONGEST_NAME = 46  # characters
LEGEND = {
    "best": "your answer",
    "met": "compared",
    "in": "still possible",
    "out": "ruled out unseen",
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A candidate on the map."""

    x: float
    y: float
    size: float  # the radius: the closer to the person's taste, the larger
    role: str  # a key of `LEGEND`
    name: str  # the beginning of its text


Line = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Map:
    """What is drawn."""

    dots: list[Dot]  # the best one last, so that it lies on top
    # from the middle to where the taste points; None where that explains too little
    arrow: Line | None
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def legend(self) -> list[tuple[str, str]]:
        """What the colours mean: those that occur."""
        present = {dot.role for dot in self.dots}
        return [(role, label) for role, label in LEGEND.items() if role in present]

    @property
    def named(self) -> bool:
        """Whether there are few enough dots for each to be reached with the keyboard."""
        return len(self.dots) <= MOST_NAMED


def draw(session: Session) -> Map:
    """Draw the map of a session."""
    flat, _ = principal_plane(session.pool.features)
    points, middle = _fitted(flat)
    met = {k for answer in session.answers for k in answer.candidates}
    viable = {candidate.index for candidate in session.viable}
    best = session.best.index
    sizes = _sizes(session.scores)

    def dot(k: int) -> Dot:
        role = "best" if k == best else "met" if k in met else "in" if k in viable else "out"
        name = brief(session.pool[k].text or session.pool[k].label, LONGEST_NAME)
        return Dot(*_rounded(points[k]), round(float(sizes[k]), 1), role, name)

    others = [k for k in _sample(len(points), met) if k != best]
    arrow = _arrow(flat, session.scores, middle) if session.cost else None
    return Map([dot(k) for k in (*others, best)], arrow)


def _fitted(flat: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the places on the page, shape (K, 2), and the mean's; one scale for both axes."""
    low, high = flat.min(axis=0), flat.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * EDGE
    scale = float((room / np.maximum(high - low, 1e-12)).min())
    if not np.isfinite(scale) or scale > 1e9:
        scale = 0.0
    middle = np.array([WIDTH, HEIGHT]) / 2.0
    turned = np.array([1.0, -1.0]) * scale
    return middle + (flat - (low + high) / 2.0) * turned, middle - (low + high) / 2.0 * turned


def _sizes(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    span = float(scores.max() - scores.min())
    share = (scores - scores.min()) / span if span > 0 else np.full(len(scores), 0.5)
    return SMALLEST + (LARGEST - SMALLEST) * share


def _sample(count: int, met: set[int]) -> list[int]:
    """Return which candidates to draw: all, or those compared and an even sample of the rest."""
    if count <= MOST:
        return list(range(count))
    sample = set(np.linspace(0, count - 1, MOST).astype(int).tolist())
    return sorted(sample | met)


def _arrow(
    flat: NDArray[np.float64], scores: NDArray[np.float64], middle: NDArray[np.float64]
) -> Line | None:
    """Return the arrow from the mean to where scores grow, as long as there is room.

    None where the map, shape (K, 2), shows too little of what scores differ by.
    """
    centred = scores - scores.mean()
    taste = np.linalg.lstsq(flat, centred, rcond=1e-9)[0]
    share = np.square(flat @ taste).sum() / max(float(centred @ centred), 1e-300)
    length = float(np.linalg.norm(taste))
    if len(scores) <= 3 or share < TELLING or not 1e-9 <= length < np.inf:  # three lie in a plane
        return None
    way = taste * (1.0, -1.0) / length
    room = np.where(way > 0, np.array([WIDTH, HEIGHT]) - EDGE - middle, middle - EDGE)
    reach = float((np.maximum(room, 0.0) / np.maximum(np.abs(way), 1e-9)).min())
    return (*_rounded(middle), *_rounded(middle + way * min(reach, LONGEST_ARROW)))


def _rounded(point: NDArray[np.float64]) -> tuple[float, float]:
    return round(float(point[0]), 1), round(float(point[1]), 1)
