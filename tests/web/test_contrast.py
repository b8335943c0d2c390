"""The colours can be read: WCAG 2.2, level AA, in light and in dark."""

from __future__ import annotations

import re

import pytest

from useralign.web.rendering import STATIC

CSS = (STATIC / "app.css").read_text(encoding="utf-8")
TEXT = 4.5
GRAPHICS = 3.0
PAIRS = [
    *((ink, ground, TEXT) for ground in ("paper", "surface") for ink in
      ("ink", "soft", "accent", "one", "two", "three", "four", "bad")),
    ("soft", "sunken", TEXT),
    ("ink", "sunken", TEXT),
    ("on-accent", "accent", TEXT),
    ("on-accent", "accent-deep", TEXT),
    ("warn", "warn-soft", TEXT),
    ("warn", "paper", TEXT),
    ("ink", "glow", TEXT),
    *(("surface", tone, TEXT) for tone in ("one", "two", "three", "four", "bad")),
    ("edge", "paper", GRAPHICS),
    ("edge", "surface", GRAPHICS),
]  # fmt: skip


def palette(dark: bool) -> dict[str, str]:
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[0]))
    if dark:
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[1]))
    return colours


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground", "least"), PAIRS)
def test_contrast(ink: str, ground: str, least: float, dark: bool) -> None:
    colours = palette(dark)
    low, high = sorted((luminance(colours[ink]), luminance(colours[ground])))
    assert (high + 0.05) / (low + 0.05) >= least
