"""Pictures in a terminal: drawn there where it can, else on a page beside it.

kitty's graphics protocol and sixel are understood; which of them the terminal speaks is read off
the environment or asked of the terminal itself. A page in the cache folder always works: it shows
the current question and reloads itself.
"""

from __future__ import annotations

import base64
import html
import io
import os
import re
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.files import cache_dir, write_atomically

if TYPE_CHECKING:
    from rich.console import Console

    from useralign.answers import Comparison

_HEIGHT = 320  # pixels of a picture in the terminal
_CHUNK = 4096  # bytes of one kitty command
_COLOURS = 64

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src file: data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Which one?</title>
<style>
body {{ font: 18px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
        color-scheme: light dark; text-align: center }}
main {{ display: flex; flex-wrap: wrap; gap: 1.5rem; justify-content: center }}
figure {{ margin: 0; flex: 1 1 18rem }} img {{ width: 100%; border-radius: .5rem }}
figcaption {{ font-weight: 600; padding: .5rem }}
</style><h1>Which one?</h1><p>Answer in the terminal.</p>
<main>{figures}</main></html>
"""


class Gallery:
    """Shows the pictures of a question in the best way the terminal has.

    Parameters
    ----------
    console : Console
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._protocol = protocol()
        self._page = cache_dir("pages") / "pair.html"
        self._announced = False

    def show(self, comparison: Comparison) -> None:
        """Show the pictures of a comparison."""
        paths = [Path(c.image) for c in comparison.candidates if c.image]
        if self._protocol != "page" and (picture := _side_by_side(paths)) is not None:
            draw = _kitty if self._protocol == "kitty" else _sixel
            sys.stdout.write(draw(picture) + "\n")
            sys.stdout.flush()
            return
        write_page(self._page, paths)
        if not self._announced:
            self._console.print(f"See them at {self._page.as_uri()}", markup=False)
            self._announced = True


def protocol(environment: Any = os.environ) -> str:
    """Return how pictures reach this terminal: `kitty`, `sixel` or `page`."""
    program = environment.get("TERM_PROGRAM", "").lower()
    if environment.get("KITTY_WINDOW_ID") or program in ("wezterm", "ghostty"):
        return "kitty"
    if "kitty" in environment.get("TERM", ""):
        return "kitty"
    return "sixel" if sys.stdin.isatty() and _has_sixel() else "page"


def write_page(path: Path, pictures: list[Path]) -> Path:
    """Write the page that shows the pictures of a question."""
    figures = "".join(
        f'<figure><img src="{html.escape(picture.absolute().as_uri())}" alt="Picture {number}">'
        f"<figcaption>{number}</figcaption></figure>"
        for number, picture in enumerate(pictures, start=1)
    )
    return write_atomically(path, _PAGE.format(figures=figures))


def _has_sixel() -> bool:
    """Ask the terminal for its attributes; 4 among them means sixel."""
    try:
        import termios
        import tty
    except ImportError:
        return False
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        sys.stdout.write("\x1b[c")
        sys.stdout.flush()
        reply = _reply(handle, seconds=0.3)
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
    return "4" in re.sub(r".*\x1b\[\?([\d;]*)c.*", r"\1", reply, flags=re.DOTALL).split(";")


def _reply(handle: int, seconds: float) -> str:
    end, reply = time.monotonic() + seconds, b""
    while not reply.endswith(b"c") and (left := end - time.monotonic()) > 0:
        if select.select([handle], [], [], left)[0]:
            reply += os.read(handle, 64)
    return reply.decode(errors="replace")


def _side_by_side(paths: list[Path]) -> Any:
    """Return all pictures in one, or None without Pillow."""
    try:
        from PIL import Image
    except ImportError:
        return None
    from useralign.models.image_embedders import open_picture

    pictures = []
    for path in paths:
        picture = open_picture(path)
        width = max(1, round(picture.width * _HEIGHT / picture.height))
        pictures.append(picture.resize((width, _HEIGHT)))
    gap = 24
    width = sum(p.width for p in pictures) + gap * (len(pictures) - 1)
    sheet, left = Image.new("RGB", (width, _HEIGHT), "white"), 0
    for picture in pictures:
        sheet.paste(picture, (left, 0))
        left += picture.width + gap
    return sheet


def _kitty(picture: Any) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    chunks = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)]
    commands = []
    for number, chunk in enumerate(chunks):
        head = "a=T,f=100," if number == 0 else ""
        commands.append(f"\x1b_G{head}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(commands)


def _sixel(picture: Any) -> str:
    """Encode as sixel: per band of six rows and per colour, one character a column."""
    import numpy as np

    reduced = picture.quantize(_COLOURS)
    palette = np.array(reduced.getpalette()[: 3 * _COLOURS]).reshape(-1, 3) * 100 // 255
    pixels = np.asarray(reduced)
    out = ["\x1bPq", *(f"#{i};2;{r};{g};{b}" for i, (r, g, b) in enumerate(palette))]
    for top in range(0, len(pixels), 6):
        band = pixels[top : top + 6]
        weights = (1 << np.arange(len(band)))[:, None]
        for colour in np.unique(band):
            bits = ((band == colour) * weights).sum(axis=0) + 63
            out.append(f"#{colour}" + _runs(bytes(bits.astype(np.uint8)).decode()) + "$")
        out.append("-")
    return "".join(out) + "\x1b\\"


def _runs(line: str) -> str:
    """Shorten runs of the same character, as sixel writes them."""
    return re.sub(r"(.)\1{3,}", lambda run: f"!{len(run[0])}{run[1]}", line)
