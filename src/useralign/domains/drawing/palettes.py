"""Palettes: eleven colours each, by the role they play, and what the light does to them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from useralign.domains.drawing.colour import Colour, from_hex, mix

_FILE = Path(__file__).with_name("palettes.json")

# What the light mixes into every colour, how much of it, and into the sky, and how much.
_LIGHTS: dict[str, tuple[str, float, str, float]] = {
    "day": ("ffffff", 0.0, "ffffff", 0.0),
    "dawn": ("ffc9b5", 0.14, "ffd9c0", 0.32),
    "dusk": ("5a2a52", 0.16, "7a2f5d", 0.34),
    "night": ("0c1236", 0.34, "0a1030", 0.66),
    "mist": ("dfe4e6", 0.26, "e6eaeb", 0.50),
    "storm": ("2d343c", 0.26, "343c46", 0.55),
    "golden": ("ffb13d", 0.14, "ffcf73", 0.36),
}
LIGHTS = tuple(_LIGHTS)


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by role.

    Parameters
    ----------
    sky, haze : tuple of float
        The top of the background and its horizon.
    far, mid, near, ground : tuple of float
        The layers of a scene, from the distance to the foot of the picture.
    main, second, accent : tuple of float
        What is to be noticed, in that order.
    light, dark : tuple of float
        Paper and ink.
    """

    sky: Colour
    haze: Colour
    far: Colour
    mid: Colour
    near: Colour
    ground: Colour
    main: Colour
    second: Colour
    accent: Colour
    light: Colour
    dark: Colour

    def under(self, light: str) -> Palette:
        """Return the palette as one light shows it; paper and ink stay as they are."""
        all_code, all_share, sky_code, sky_share = _LIGHTS[light]
        tint, sky_tint = from_hex(all_code), from_hex(sky_code)
        scenery = {
            name: mix(getattr(self, name), tint, all_share)
            for name in ("far", "mid", "near", "ground")
        }
        figures = {
            name: mix(getattr(self, name), tint, all_share / 2)
            for name in ("main", "second", "accent")
        }
        sky = mix(self.sky, sky_tint, sky_share)
        haze = mix(self.haze, sky_tint, sky_share * 0.7)
        return replace(self, sky=sky, haze=haze, **scenery, **figures)


@cache
def palettes() -> dict[str, Palette]:
    """Return every palette by name."""
    data = json.loads(_FILE.read_text(encoding="utf-8"))
    roles = data["roles"]
    return {
        name: Palette(**dict(zip(roles, map(from_hex, codes), strict=True)))
        for name, codes in data["palettes"].items()
    }
