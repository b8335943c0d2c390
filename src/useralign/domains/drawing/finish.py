"""The last touch: what the mood does to a finished picture, and the surface it is on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pixels = NDArray[np.float32]

TEXTURES = ("none", "grain", "canvas", "scanlines", "creases", "worn")


@dataclass(frozen=True, slots=True)
class Mood:
    """How a mood grades a picture: 1 and 0 leave it as it is."""

    saturation: float = 1.0
    contrast: float = 1.0
    lift: float = 0.0
    warmth: float = 0.0
    vignette: float = 0.0


MOODS = {
    "calm": Mood(saturation=0.92, contrast=0.95, lift=0.02),
    "cheerful": Mood(saturation=1.18, contrast=1.04, lift=0.03, warmth=0.02),
    "dramatic": Mood(saturation=1.05, contrast=1.22, lift=-0.03, vignette=0.45),
    "gloomy": Mood(saturation=0.62, contrast=0.98, lift=-0.08, warmth=-0.03, vignette=0.35),
    "dreamy": Mood(saturation=0.88, contrast=0.82, lift=0.08, warmth=0.01),
    "cosy": Mood(saturation=1.05, contrast=1.0, lift=0.0, warmth=0.06, vignette=0.22),
    "crisp": Mood(saturation=1.08, contrast=1.12),
    "eerie": Mood(saturation=0.78, contrast=1.08, lift=-0.05, warmth=-0.07, vignette=0.3),
}


def graded(values: Pixels, mood: str) -> Pixels:
    """Return the picture in a mood.

    Parameters
    ----------
    values : ndarray, shape (h, w, 3)
    mood : str
        One of `MOODS`.
    """
    how = MOODS[mood]
    weights = np.array([0.299, 0.587, 0.114], dtype=np.float32)
    grey = (values @ weights)[:, :, None]
    result = grey + (values - grey) * how.saturation
    result = (result - 0.5) * how.contrast + 0.5 + how.lift
    result += np.array([how.warmth, how.warmth * 0.25, -how.warmth], dtype=np.float32)
    if how.vignette:
        result *= _vignette(values.shape[0], how.vignette)[:, :, None]
    return np.clip(result, 0, 1).astype(np.float32)


def textured(values: Pixels, texture: str, rng: np.random.Generator) -> Pixels:
    """Return the picture on a surface, one of `TEXTURES`."""
    side = values.shape[0]
    if texture == "none":
        return values
    down, across = np.mgrid[0:side, 0:side].astype(np.float32)
    if texture == "grain":
        change = rng.standard_normal((side, side)) * 0.035
    elif texture == "canvas":
        change = 0.03 * (np.sin(across * 1.9) + np.sin(down * 1.9)) + rng.normal(
            0, 0.01, down.shape
        )
    elif texture == "scanlines":
        change = np.where(down % 4 < 2, 0.03, -0.09)
    elif texture == "creases":
        change = _creases(across, down, rng)
    else:
        return _worn(values, rng)
    return np.clip(values + change[:, :, None], 0, 1).astype(np.float32)


def _vignette(side: int, strength: float) -> Pixels:
    axis = np.linspace(-1, 1, side, dtype=np.float32)
    distance = axis[:, None] ** 2 + axis[None, :] ** 2
    shade: Pixels = (1 - strength * np.clip(distance - 0.35, 0, 2) / 1.65).astype(np.float32)
    return shade


def _creases(across: Pixels, down: Pixels, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the folds of a map: two across and two down, a light and a dark side each."""
    side = down.shape[0]
    change = rng.normal(0, 0.012, down.shape)
    for axis in (across, down):
        for place in (0.33, 0.67):
            offset = axis - side * place
            change += 0.07 * np.exp(-((offset - 1.5) ** 2) / 4) - 0.09 * np.exp(
                -((offset + 1.5) ** 2) / 6
            )
    return change


def _worn(values: Pixels, rng: np.random.Generator) -> Pixels:
    """Return the print rubbed off here and there, mostly towards the edges."""
    side = values.shape[0]
    axis = np.abs(np.linspace(-1, 1, side))
    edge = np.maximum(axis[:, None], axis[None, :]) ** 6
    rough = rng.random((side, side))
    gone = rough < 0.015 + 0.22 * edge
    paper = np.array([0.95, 0.92, 0.85], dtype=np.float32)
    return np.where(gone[:, :, None], values * 0.3 + paper * 0.7, values).astype(np.float32)
