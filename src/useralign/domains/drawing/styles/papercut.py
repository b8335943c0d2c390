"""Paper cut: sheets of coloured paper, one above the other, with their shadows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFilter

from useralign.domains.drawing import raster
from useralign.domains.drawing.colour import to_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from useralign.domains.drawing.canvas import Canvas, Shape
    from useralign.domains.drawing.palettes import Palette


_OFFSET = 0.012


def render(canvas: Canvas, palette: Palette, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the picture as a stack of sheets lit from the top left."""
    side = raster.SIDE * raster.OVER
    picture = Image.new("RGB", (side, side), to_bytes(palette.haze))
    sheet: list[Shape] = []
    for shape in canvas.shapes:
        if sheet and (shape.layer != sheet[-1].layer or len(sheet) >= 24):
            picture = _laid(picture, sheet)
            sheet = []
        if shape.kind != "glow":
            sheet.append(shape)
    picture = _laid(picture, sheet)
    tooth = 1 + 0.022 * raster.grain(rng) + 0.012 * raster.noise(rng, 60)
    return raster.bounded(raster.pixels(picture) * tooth[:, :, None])


def _laid(picture: Image.Image, sheet: list[Shape]) -> Image.Image:
    """Return the picture with one more sheet on it."""
    side = picture.size[0]
    mask = Image.new("L", picture.size)
    draw, front = ImageDraw.Draw(mask), ImageDraw.Draw(top := picture.copy())
    for shape in sheet:
        corners = [(float(x) * side, float(y) * side) for x, y in shape.points]
        colour = to_bytes(shape.colour)
        if shape.kind == "stroke":
            wide = max(2, round(shape.width * side))
            draw.line(corners, fill=255, width=wide, joint="curve")
            front.line(corners, fill=colour, width=wide, joint="curve")
        else:
            draw.polygon(corners, fill=255)
            front.polygon(corners, fill=colour)
            front.line([*corners, corners[0]], fill=_rim(colour), width=2)
    shift = round(_OFFSET * side)
    small = mask.resize((side // 4, side // 4)).filter(ImageFilter.GaussianBlur(2.2))
    shadow = Image.new("L", mask.size)
    shadow.paste(small.resize(mask.size).point(lambda v: v * 0.5), (shift, shift))
    under = Image.composite(Image.new("RGB", picture.size), picture, shadow)
    return Image.composite(top, under, mask)


def _rim(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the cut edge of a sheet, which catches the light."""
    r, g, b = (part + (255 - part) // 3 for part in colour)
    return (r, g, b)
