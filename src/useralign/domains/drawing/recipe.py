"""What a picture is made from: a recipe in plain words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from useralign.domains.drawing import finish, palettes, scenes, styles
from useralign.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPOSITIONS = ("centred", "close", "wide", "left", "right", "tilted")
KEYS = (
    "scene",
    "subject",
    "style",
    "palette",
    "light",
    "mood",
    "composition",
    "elements",
    "texture",
    "seed",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One picture, in words.

    Parameters
    ----------
    scene : str
        The kind of picture: character, room, landscape, ...
    subject : str
        What it shows, out of the scene's own list.
    style : str
        How it is made: watercolour, woodcut, neon, ...
    palette, light, mood, texture : str
    composition : str
        Where the subject stands and how large it is.
    elements : tuple of str
        What is added, out of the scene's own list.
    seed : int
        Decides everything that the words leave open.
    """

    scene: str
    subject: str
    style: str
    palette: str
    light: str = "day"
    mood: str = "calm"
    composition: str = "centred"
    elements: tuple[str, ...] = ()
    texture: str = "none"
    seed: int = 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """Check and build a recipe.

        Raises
        ------
        OptionError
            If a key is missing or unknown, or a word is not one of those expected.
        """
        if not isinstance(data, Mapping):
            raise OptionError(f"a recipe is a mapping of words; got {data!r}")
        for key in data:
            _one_of("recipe", "key", key, KEYS)
        if absent := [key for key in KEYS[:4] if key not in data]:
            raise OptionError(f"the recipe has no {', '.join(absent)}; got {', '.join(data)}")
        recipe = cls(**{**data, "elements": _listed(data.get("elements", ()))})
        recipe.check()
        return recipe

    def check(self) -> None:
        """Raise `OptionError` if a word is not one of those expected."""
        _one_of("recipe", "scene", self.scene, scenes.SCENES)
        scene = scenes.SCENES[self.scene]
        _one_of(self.scene, "subject", self.subject, scene.subjects)
        for element in self.elements:
            _one_of(self.scene, "element", element, scene.elements)
        _one_of("recipe", "style", self.style, styles.NAMES)
        _one_of("recipe", "palette", self.palette, palettes.palettes())
        _one_of("recipe", "light", self.light, palettes.LIGHTS)
        _one_of("recipe", "mood", self.mood, finish.MOODS)
        _one_of("recipe", "composition", self.composition, COMPOSITIONS)
        _one_of("recipe", "texture", self.texture, finish.TEXTURES)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise OptionError(f"recipe: seed={self.seed!r}; expected a whole number from 0")

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain data."""
        return {**asdict(self), "elements": list(self.elements)}

    def fingerprint(self, version: int) -> str:
        """Return a short hash of the recipe and of the renderer's version."""
        text = json.dumps([version, self.to_dict()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def _one_of(where: str, what: str, got: object, known: Iterable[str]) -> None:
    expected = list(known)
    if got not in expected:
        raise OptionError(f"{where}: unknown {what} {got!r}; expected one of {', '.join(expected)}")


def _listed(elements: object) -> tuple[str, ...]:
    if isinstance(elements, str) or not isinstance(elements, list | tuple):
        raise OptionError(f"recipe: elements={elements!r}; expected a list of words")
    return tuple(elements)
