"""Pictures as bytes: which format they are of, and whether they are whole."""

from __future__ import annotations

import importlib
import io

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"})
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF87a", ".gif"),
    (b"GIF89a", ".gif"),
    (b"BM", ".bmp"),
)


def picture_suffix(data: bytes) -> str | None:
    """Return the suffix that fits a file's first bytes; None when it is no known picture."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for magic, suffix in _MAGIC if data.startswith(magic)), None)


def picture_problem(data: bytes) -> str | None:
    """Say what is wrong with the bytes of a picture; None when nothing is.

    Without Pillow only the first bytes are looked at.
    """
    if not data:
        return "empty"
    if picture_suffix(data) is None:
        return "no picture (PNG, JPEG, WebP, GIF or BMP)"
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        return None
    try:
        with image.open(io.BytesIO(data)) as opened:
            opened.load()
    except Exception as error:  # noqa: BLE001 - Pillow raises many kinds on damaged data
        return f"damaged picture ({error})"
    return None
