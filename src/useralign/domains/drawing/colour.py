"""Colours as three numbers in [0, 1], and the few operations that drawing needs."""

from __future__ import annotations

import colorsys

Colour = tuple[float, float, float]

WHITE: Colour = (1.0, 1.0, 1.0)
BLACK: Colour = (0.0, 0.0, 0.0)


def from_hex(code: str) -> Colour:
    """Read a colour from its six hexadecimal digits."""
    value = int(code, 16)
    return ((value >> 16) / 255, (value >> 8 & 255) / 255, (value & 255) / 255)


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return the colour at `share` of the way from the first to the second."""
    a, b = first, second
    return (
        a[0] + (b[0] - a[0]) * share,
        a[1] + (b[1] - a[1]) * share,
        a[2] + (b[2] - a[2]) * share,
    )


def darker(colour: Colour, share: float = 0.25) -> Colour:
    """Return the colour nearer to black."""
    return mix(colour, BLACK, share)


def lighter(colour: Colour, share: float = 0.25) -> Colour:
    """Return the colour nearer to white."""
    return mix(colour, WHITE, share)


def luminance(colour: Colour) -> float:
    """Return how light a colour looks, from 0 to 1."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def vivid(colour: Colour, saturation: float = 0.75, value: float = 1.0) -> Colour:
    """Return the same hue at no less than a saturation and a value."""
    hue, own, bright = colorsys.rgb_to_hsv(*colour)
    return colorsys.hsv_to_rgb(hue, max(own, saturation) if own > 0.04 else own, max(bright, value))


def to_bytes(colour: Colour) -> tuple[int, int, int]:
    """Return the colour as three whole numbers from 0 to 255."""
    r, g, b = (round(255 * min(max(part, 0.0), 1.0)) for part in colour)
    return (r, g, b)


def readable(first: Colour, second: Colour, ground: Colour) -> Colour:
    """Return that of two colours which stands out more from a ground."""
    tone = luminance(ground)
    if abs(luminance(first) - tone) >= abs(luminance(second) - tone):
        return first
    return second
