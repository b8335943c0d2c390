"""The lie of the land: ridges, hills and dunes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.colour import Colour
    from useralign.domains.drawing.scenes.stage import Stage


def ridge(stage: Stage, base: float, height: float, peaks: int = 5) -> NDArray[np.float64]:
    """Return the line of a range: the highest of several peaks at each place, shape (n, 2)."""
    x = np.linspace(-0.08, 1.08, 90)
    centres = np.linspace(-0.05, 1.05, peaks) + stage.rng.normal(0, 0.06, peaks)
    heights = stage.rng.uniform(0.45, 1.15, peaks)
    slopes = stage.rng.uniform(2.4, 4.2, peaks)
    tents = heights[:, None] - slopes[:, None] * np.abs(x - centres[:, None])
    line = np.maximum(tents.max(axis=0), 0.02)
    line = line + stage.rng.normal(0, 0.02, len(x)) + 0.03 * np.sin(x * 60 + stage.pick(0, 6))
    return np.column_stack([x, base - height * line])


def land(stage: Stage, line: NDArray[np.float64], colour: Colour, to: Colour | None = None) -> None:
    """Fill everything below a line, as a sheet of its own."""
    stage.canvas.sheet()
    foot = np.array([(1.08, 1.1), (-0.08, 1.1)])
    stage.canvas.area(np.vstack([line, foot]), colour, to)


def swell(stage: Stage, base: float, height: float, waves: float) -> NDArray[np.float64]:
    """Return the line of gentle hills or dunes, shape (40, 2)."""
    x = np.linspace(-0.08, 1.08, 40)
    phase, second = stage.pick(0, 6.3), stage.pick(0, 6.3)
    y = base - height * (np.sin(x * waves * 6.3 + phase) + 0.4 * np.sin(x * waves * 14 + second))
    return np.column_stack([x, y])
