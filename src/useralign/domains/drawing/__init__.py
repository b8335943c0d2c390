"""Pictures drawn by our own code, from recipes in plain words.

A `Recipe` names a scene, a subject, a style, a palette, a light, a mood and so on; `picture` draws
it once and keeps it as a PNG file in the cache. Reading recipes needs nothing but NumPy; drawing
needs Pillow, from the extra `vision`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.domains.drawing.recipe import Recipe
from useralign.files import cache_dir, write_atomically
from useralign.models.embedders.checks import need

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

__all__ = ["VERSION", "Recipe", "picture"]

# Part of each file's name: raise it when the same recipe comes out differently.
VERSION = 1


def picture(recipe: Recipe | Mapping[str, Any]) -> Path:
    """Return the file of a recipe's picture, drawn now unless it was drawn before.

    Parameters
    ----------
    recipe : Recipe or mapping

    Raises
    ------
    OptionError
        If the recipe is not one.
    MissingExtraError
        If Pillow is not installed.
    """
    wanted = recipe if isinstance(recipe, Recipe) else Recipe.from_dict(recipe)
    path = cache_dir("pictures") / f"{wanted.scene}-{wanted.fingerprint(VERSION)}.png"
    if not path.is_file():
        need("PIL.Image", "drawing pictures", "vision")
        from useralign.domains.drawing.render import png  # noqa: PLC0415 - needs the extra

        write_atomically(path, png(wanted))
    return path
