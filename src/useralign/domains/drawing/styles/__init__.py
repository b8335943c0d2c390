"""Styles: each turns the shapes of a scene into pixels in a manner of its own.

A style is a module with a function `render(canvas, palette, rng)` that returns the picture as an
array of shape (side, side, 3), with numbers in [0, 1]. Modules are imported when used: they need
Pillow, and what only reads recipes does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas
    from useralign.domains.drawing.palettes import Palette

NAMES = (
    "flat",
    "watercolour",
    "ink",
    "pixel",
    "neon",
    "lowpoly",
    "stained",
    "mosaic",
    "woodcut",
    "papercut",
    "gouache",
    "riso",
    "blueprint",
    "chalk",
    "airbrush",
    "popart",
    "crossstitch",
)


class Style(Protocol):
    """What a style's `render` looks like."""

    def __call__(
        self, canvas: Canvas, palette: Palette, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return the picture, shape (side, side, 3)."""
        ...


def style(name: str) -> Style:
    """Return the renderer of a style, one of `NAMES`."""
    module = import_module(f"useralign.domains.drawing.styles.{name}")
    chosen: Style = module.render
    return chosen
