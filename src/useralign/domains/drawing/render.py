"""From a recipe to a picture. This module and the styles need Pillow."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.drawing import finish, raster, scenes, styles
from useralign.domains.drawing.canvas import Canvas
from useralign.domains.drawing.palettes import palettes

if TYPE_CHECKING:
    from PIL.Image import Image

    from useralign.domains.drawing.recipe import Recipe


def render(recipe: Recipe) -> Image:
    """Draw a recipe: the same recipe gives the same pixels.

    Returns
    -------
    PIL.Image.Image
        Square, in mode "RGB".
    """
    palette = palettes()[recipe.palette].under(recipe.light)
    stage = scenes.Stage(
        canvas=Canvas(),
        palette=palette,
        rng=_generator(recipe, "scene"),
        subject=recipe.subject,
        light=recipe.light,
        composition=recipe.composition,
        elements=recipe.elements,
    )
    scenes.SCENES[recipe.scene].compose(stage)
    values = styles.style(recipe.style)(stage.canvas, palette, _generator(recipe, "style"))
    values = finish.graded(values, recipe.mood)
    return raster.image(finish.textured(values, recipe.texture, _generator(recipe, "texture")))


def png(recipe: Recipe) -> bytes:
    """Draw a recipe and return it as the content of a PNG file."""
    content = io.BytesIO()
    render(recipe).save(content, "PNG", compress_level=4)
    return content.getvalue()


def _generator(recipe: Recipe, use: str) -> np.random.Generator:
    """Return chance for one use, so that a change of style leaves the scene as it is."""
    return np.random.default_rng([recipe.seed, zlib.crc32(f"{recipe.scene}/{use}".encode())])
