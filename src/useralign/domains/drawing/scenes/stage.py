"""What a scene is given, and what it must offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette

# Where the subject stands: (x, y, scale, turn) for each composition.
_PLACES = {
    "centred": (0.5, 0.0, 1.0, 0.0),
    "close": (0.5, 0.22, 1.55, 0.0),
    "wide": (0.5, -0.07, 0.62, 0.0),
    "left": (0.33, -0.02, 0.88, 0.0),
    "right": (0.67, -0.02, 0.88, 0.0),
    "tilted": (0.5, 0.02, 1.08, -9.0),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Draw a canvas with the words of a recipe.

    Parameters
    ----------
    canvas : Canvas
    palette : Palette
        Already under the recipe's light.
    rng : numpy.random.Generator
    subject, light, composition : str
    elements : tuple of str
    """

    canvas: Canvas
    palette: Palette
    rng: np.random.Generator
    subject: str
    light: str
    composition: str
    elements: tuple[str, ...]

    def has(self, *elements: str) -> bool:
        """Tell whether one of these elements was asked for."""
        return any(element in self.elements for element in elements)

    @property
    def place(self) -> tuple[float, float, float, float]:
        """Where the subject stands: x, lowering, scale, and turn in degrees."""
        return _PLACES[self.composition]

    @property
    def dark(self) -> bool:
        """Whether the light is that of the night."""
        return self.light in ("night", "storm")

    def pick(self, low: float, high: float) -> float:
        """Return a number between two, by chance."""
        return float(self.rng.uniform(low, high))

    def coin(self) -> bool:
        """Return yes or no, by chance."""
        return bool(self.rng.random() < 0.5)


@dataclass(frozen=True, slots=True)
class Scene:
    """Draw a kind of picture.

    Parameters
    ----------
    subjects : mapping
        From each subject's name to the function that draws it.
    elements : tuple of str
        What can be added.
    """

    subjects: Mapping[str, Callable[[Stage], None]]
    elements: tuple[str, ...]

    def compose(self, stage: Stage) -> None:
        """Draw the stage's subject."""
        self.subjects[stage.subject](stage)
