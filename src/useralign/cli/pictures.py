"""Pictures in a terminal: drawn there where it can, else on a page beside it.

kitty's graphics protocol, iTerm2's inline images and sixel are understood; which of them the
terminal speaks is read off the environment or asked of the terminal itself. A page in the cache
folder always works: it shows the current screen and reloads itself.
"""

from __future__ import annotations

import base64
import html
import io
import os
import re
import select
import shutil
import sys
import time
import webbrowser
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.cli.keys import keyboard
from useralign.extras import absent_modules
from useralign.files import cache_dir, write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from useralign.pool import Candidate

PAGE = "page"
_ANSWER = 0.5  # seconds that a terminal has to say what it can
_LINES = 5  # of a screen that are not pictures: the heading, the keys, what was chosen
_LARGEST = 384  # pixels of a picture; more would only be more to send
_GAP = 8  # pixels between pictures
_CHUNK = 4096  # characters of one kitty command
_COLOURS = 64
_QUERY = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"  # kitty's, then one that all answer
_TEMPLATE = Path(__file__).with_suffix(".html")  # shows a screen, and reloads itself


class Window(NamedTuple):
    """The size of a terminal, in character cells, and of a cell in pixels."""

    columns: int
    rows: int
    cell: tuple[int, int]


class Gallery:
    """Shows the pictures of a screen in the best way the terminal has."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._protocol = PAGE if absent_modules(["PIL"]) else protocol()
        self._page = cache_dir("pages") / "pair.html"
        self._announced = False

    @property
    def draws(self) -> bool:
        """Whether the terminal itself shows the pictures."""
        return self._protocol != PAGE

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Show the pictures of candidates, numbered from 1."""
        paths = [Path(candidate.image) for candidate in candidates if candidate.image]
        if self.draws:
            window = _window(self._console.width)
            picture = sheet(paths, window)
            self._console.file.write(encode(picture, self._protocol, window) + "\n")
            self._console.file.flush()
            return
        write_page(self._page, paths)
        if not self._announced:
            self._announced = True
            opened = "Open beside this" if _open(self._page.as_uri()) else "See them at"
            self._console.print(f"{opened}: {self._page.as_uri()}", soft_wrap=True)


def protocol(environment: Mapping[str, str] = os.environ) -> str:
    """Return how pictures reach this terminal: `kitty`, `iterm2`, `sixel` or `page`.

    Within tmux and screen the environment tells of the terminal around them, so there only what
    they answer themselves counts.
    """
    program = environment.get("TERM_PROGRAM", "").lower()
    term = environment.get("TERM", "")
    if not (environment.get("TMUX") or environment.get("STY") or term.startswith("screen")):
        if environment.get("KITTY_WINDOW_ID") or "kitty" in term or program == "ghostty":
            return "kitty"
        if program == "iterm.app" or environment.get("LC_TERMINAL") == "iTerm2":
            return "iterm2"
    if term in ("linux", "dumb") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return PAGE
    return _spoken(_ask_terminal())


def sheet(paths: Sequence[Path], window: Window) -> Any:
    """Return all pictures in one `PIL.Image.Image`, each with its number, as large as fits."""
    from PIL import Image, ImageDraw, ImageFont, ImageOps

    from useralign.models.image_embedders import open_picture

    width = window.columns * window.cell[0]
    height = max(window.rows - _LINES, 4) * window.cell[1]
    columns, side = _grid(len(paths), width, height)
    rows = -(-len(paths) // columns)
    size = [count * (side + _GAP) - _GAP for count in (columns, rows)]
    whole = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(whole)
    font = ImageFont.load_default(max(side // 9, 12))
    for index, path in enumerate(paths):
        picture = ImageOps.contain(open_picture(path), (side, side))
        left, top = (side + _GAP) * (index % columns), (side + _GAP) * (index // columns)
        whole.paste(picture, (left, top))
        box = pen.textbbox((left + 6, top + 4), str(index + 1), font=font)
        pen.rectangle((left, top, box[2] + 6, box[3] + 6), fill="white")
        pen.text((left + 6, top + 4), str(index + 1), fill="black", font=font)
    return whole


def encode(picture: Any, kind: str, window: Window) -> str:
    """Return the escape sequences that draw a `PIL.Image.Image` of mode RGB, at its own size."""
    if kind == "sixel":
        return _sixel(picture)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    columns = min(max(round(picture.width / window.cell[0]), 1), window.columns)
    return (_kitty if kind == "kitty" else _iterm2)(data, columns)


def write_page(path: Path, pictures: Sequence[Path]) -> Path:
    """Write the page that shows the pictures of a screen."""
    figures = "".join(
        f'<figure><img src="{html.escape(picture.absolute().as_uri())}" alt="Picture {number}">'
        f"<figcaption>{number}</figcaption></figure>"
        for number, picture in enumerate(pictures, start=1)
    )
    page = Template(_TEMPLATE.read_text(encoding="utf-8"))
    return write_atomically(path, page.substitute(figures=figures))


def _open(address: str) -> bool:
    """Open an address in the person's browser; only where there is a screen for one.

    A browser that runs in the terminal would take the keys away, and one on another machine
    cannot be seen.
    """
    here = not os.environ.get("SSH_CONNECTION")
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, names))
    try:
        return here and screen and webbrowser.open(address)
    except webbrowser.Error:
        return False


def _window(columns: int) -> Window:
    """Return the size of the terminal; a cell that it does not know is 10 by 20 pixels."""
    rows, width, height = shutil.get_terminal_size().lines, 0, 0
    try:
        import fcntl
        import struct
        import termios

        reply = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8))
        rows, across, width, height = struct.unpack("HHHH", reply)
    except (ImportError, OSError):
        across = 0
    says_all = rows and across and width and height
    cell = (width // across, height // rows) if says_all else (0, 0)
    return Window(columns, rows or 24, cell if all(cell) else (10, 20))


def _ask_terminal() -> str:
    """Ask the terminal for kitty's protocol and for its attributes, and return its reply."""
    if os.name == "nt":  # has no such queries, and cannot wait for standard input
        return ""
    handle, reply = sys.stdin.fileno(), b""
    with keyboard():
        sys.stdout.write(_QUERY)
        sys.stdout.flush()
        end = time.monotonic() + _ANSWER
        while not re.search(rb"\x1b\[\?[\d;]*c", reply) and (left := end - time.monotonic()) > 0:
            if select.select([handle], [], [], left)[0]:
                reply += os.read(handle, 64)
    return reply.decode(errors="replace")


def _spoken(reply: str) -> str:
    """Return the protocol that a terminal's reply tells of; attribute 4 means sixel."""
    if "\x1b_Gi=31;OK" in reply:
        return "kitty"
    attributes = re.search(r"\x1b\[\?([\d;]*)c", reply)
    return "sixel" if attributes and "4" in attributes[1].split(";") else PAGE


def _grid(count: int, width: int, height: int) -> tuple[int, int]:
    """Return in how many columns so many squares are largest, and how large they are.

    Of equals, it is the one with the fewest empty places, then the flattest.
    """

    def side(columns: int) -> int:
        rows = -(-count // columns)
        across = (width - _GAP * (columns - 1)) // columns
        return max(min(across, (height - _GAP * (rows - 1)) // rows, _LARGEST), 32)

    best = max(range(1, count + 1), key=lambda n: (side(n), -(-count % n), n))
    return best, side(best)


def _kitty(data: str, columns: int) -> str:
    """Send a PNG in chunks; `q=2` asks for no reply, which would be read as keys."""
    chunks = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)]
    commands = []
    for number, chunk in enumerate(chunks):
        head = f"a=T,f=100,q=2,c={columns}," if number == 0 else ""
        commands.append(f"\x1b_G{head}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(commands)


def _iterm2(data: str, columns: int) -> str:
    size = len(base64.b64decode(data))
    return f"\x1b]1337;File=inline=1;size={size};width={columns};preserveAspectRatio=1:{data}\x07"


def _sixel(picture: Any) -> str:
    """Encode as sixel: per band of six rows and per colour, one character a column."""
    import numpy as np

    reduced = picture.quantize(_COLOURS)
    palette = np.array(reduced.getpalette()[: 3 * _COLOURS]).reshape(-1, 3) * 100 // 255
    pixels = np.asarray(reduced)
    size = f'"1;1;{picture.width};{picture.height}'
    out = [f"\x1bPq{size}", *(f"#{i};2;{r};{g};{b}" for i, (r, g, b) in enumerate(palette))]
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
