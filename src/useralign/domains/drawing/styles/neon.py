"""Neon: tubes of light along every edge, in the dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import luminance, mix, vivid
from useralign.domains.drawing.raster import Paint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as glowing outlines on a dark wall."""
    dark = mix(palette.dark, (0.01, 0.01, 0.05), 0.6)
    tubes = [vivid(c, 0.8) for c in (palette.main, palette.second, palette.accent)]

    def tube(shape: Shape) -> Paint:
        if shape.kind == "glow":
            return Paint(None)
        own = vivid(shape.colour, 0.75)
        drab = luminance(shape.colour) < 0.28 or max(shape.colour) - min(shape.colour) < 0.15
        colour = tubes[shape.layer % 3] if drab else own
        if shape.kind == "stroke":
            return Paint(None, line=colour, width=max(min(shape.width, 0.008), 0.004))
        return Paint(mix((0, 0, 0), shape.colour, 0.10), line=colour, width=0.0052)

    light = raster.pixels(raster.paint(canvas, tube, ground=(0, 0, 0)))
    wall = np.array(dark, dtype=np.float32) * (1 + 0.18 * raster.noise(rng, 60))[:, :, None]
    core = np.clip(light * 1.35, 0, 1)
    halo = raster.blurred(core, 3) * 0.95 + raster.blurred(core, 11) * 0.95
    hot = raster.blurred(core, 0.6) ** 3 * 0.35
    return raster.bounded(wall + light * 0.9 + halo + hot)
