"""One key at a time from the terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ARROWS = {b"D": "left", b"C": "right"}  # the last byte of their sequences
LONGEST_TEXT = 300


def has_terminal() -> bool:
    """Return whether a person can see what is printed and press keys."""
    streams = (sys.stdin, sys.stdout)  # a closed one is None
    terminals = all(stream is not None and stream.isatty() for stream in streams)
    return terminals and os.environ.get("TERM") != "dumb"


@contextmanager
def keyboard() -> Iterator[None]:
    """Take keys one at a time, unechoed, for as long as this lasts.

    Keys that were pressed before a question was on the screen are kept, not thrown away: who
    types ahead is not asked twice.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows has its own way; see read_key
        yield
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def read_key(seconds: float | None = None) -> str | None:
    """Wait for a key and return its name: a character in lower case, `left`, `right`, `escape`.

    Within `keyboard()`, that is. None is returned when no key is pressed in so many seconds. Raises
    `KeyboardInterrupt` on Ctrl-C, and on Ctrl-D or when the terminal goes away.
    """
    if seconds is not None and not _is_pressed(seconds):
        return None
    return _pressed().lower()


def read_text(echo: Callable[[str], None]) -> str:
    """Read a line that is typed, and return it; Escape gives it up and returns nothing.

    Within `keyboard()`, which shows nothing by itself: `echo` shows what is typed. Raises as
    `read_key` does.
    """
    typed = ""
    while True:
        key = _pressed()
        if key in ("\r", "\n", "escape"):
            return "" if key == "escape" else typed.strip()
        if key in ("\x7f", "\b"):
            if typed:
                echo("\b \b" * max(1, cell_len(typed[-1])))
            typed = typed[:-1]
        elif len(key) == 1 and key.isprintable() and len(typed) < LONGEST_TEXT:
            echo(key)
            typed += key


def _pressed() -> str:
    """Wait for a key and return its name: a character, `left`, `right`, `escape`, or nothing."""
    if os.name == "nt":
        return _read_key_windows()
    return _named(_read_bytes(sys.stdin.fileno()))


def _is_pressed(seconds: float) -> bool:
    """Wait until a key is there to be read, so long at most; return whether one is."""
    if os.name != "nt":
        return bool(select.select([sys.stdin.fileno()], [], [], max(seconds, 0.0))[0])
    import msvcrt

    end = time.monotonic() + seconds
    while not (pressed := msvcrt.kbhit()) and time.monotonic() < end:  # type: ignore[attr-defined]
        time.sleep(0.02)
    return bool(pressed)


def _read_bytes(handle: int) -> bytes:
    """Read one key press: a byte, or the bytes of an escape sequence that follow at once."""
    pressed = os.read(handle, 1)
    while not _is_whole(pressed) and select.select([handle], [], [], 0.05)[0]:
        more = os.read(handle, 1)
        if not more:
            break
        pressed += more
    return pressed


def _is_whole(pressed: bytes) -> bool:
    """Return whether these bytes are all of one key press."""
    first = pressed[:1]
    if first == b"\x1b":
        if pressed[1:2] in b"_P]" and len(pressed) > 1:  # a terminal's late answer to a query
            return pressed.endswith((b"\x1b\\", b"\x07"))
        if pressed[1:2] == b"[":  # parameters, then a final letter or sign
            return len(pressed) > 2 and 0x40 <= pressed[-1] <= 0x7E
        return len(pressed) >= (3 if pressed[1:2] == b"O" else 2)
    if first >= b"\xc0":  # a character of several bytes
        return len(pressed) >= (2 if first < b"\xe0" else 3 if first < b"\xf0" else 4)
    return True


def _named(pressed: bytes) -> str:
    if pressed in (b"", b"\x03", b"\x04"):
        raise KeyboardInterrupt
    if pressed == b"\x1b":
        return "escape"
    if pressed[:1] == b"\x1b":  # with Shift or Ctrl an arrow has parameters before its letter
        return ARROWS.get(pressed[-1:], "") if pressed[1:2] in (b"[", b"O") else ""
    return pressed.decode(errors="replace")


def _read_key_windows() -> str:
    import msvcrt

    pressed = msvcrt.getwch()  # type: ignore[attr-defined]
    if pressed in "\x00\xe0":
        return {"K": "left", "M": "right"}.get(msvcrt.getwch(), "")  # type: ignore[attr-defined]
    return _named(pressed.encode())
