"""Opening image files from anywhere: nothing is trusted before it is decoded and small."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from useralign.errors import InputError
from useralign.models.embedders.checks import need

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

EXTRA = "vision"
# A 50-megapixel camera passes; a bomb that unpacks to gigabytes does not.
MOST_PIXELS = 64_000_000
# A picture as a product shows it: no metafiles, documents or formats that run an interpreter.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")


def open_picture(path: str | Path) -> Image:
    """Decode an image file: upright, RGB, without transparency.

    The size is read from the header and checked before any pixel is decoded. Of an animation the
    first frame is taken. What is transparent becomes white.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    PIL.Image.Image
        In mode "RGB".

    Raises
    ------
    InputError
        If there is no such file, or it is not an image, cut short, or too large.
    """
    pillow = need("PIL.Image", "reading pictures", EXTRA)
    try:
        with warnings.catch_warnings():
            # Pillow only warns of large pictures; ours is the limit that counts.
            warnings.simplefilter("ignore")
            with pillow.open(path, formats=FORMATS) as opened:
                _check_size(path, *opened.size)
                opened.load()
                return _flattened(opened)
    except pillow.UnidentifiedImageError as error:
        raise InputError(
            f"{path}: is not an image that can be read; expected {', '.join(FORMATS)}"
        ) from error
    except pillow.DecompressionBombError as error:
        raise InputError(f"{path}: {_TOO_LARGE}") from error
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    # Decoders meet hostile bytes: what they raise for them is not documented.
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, OverflowError) as error:
        raise InputError(f"{path}: is damaged or cut short ({error}); make it again") from error


_TOO_LARGE = f"is too large; expected at most {MOST_PIXELS // 10**6} megapixels, scale it down"


def _check_size(path: str | Path, width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise InputError(f"{path}: at {width} x {height} it {_TOO_LARGE}")


def _flattened(picture: Image) -> Image:
    ops = need("PIL.ImageOps", "reading pictures", EXTRA)
    pillow = need("PIL.Image", "reading pictures", EXTRA)
    upright: Image = ops.exif_transpose(picture)
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        ground: Image = pillow.new("RGBA", layer.size, "white")
        ground.alpha_composite(layer)
        upright = ground
    elif upright.mode.startswith("I;16"):
        # Sixteen bits would be cut off at 255, not scaled down.
        upright = upright.point(lambda value: value / 257).convert("L")
    return upright.convert("RGB")
