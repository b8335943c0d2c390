"""One key at a time from the terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ARROWS = {b"D": "left", b"C": "right"}  # the last byte of their sequences


def has_terminal() -> bool:
    """Tell whether a person can see what is printed and press keys."""
    streams = (sys.stdin, sys.stdout)  # a closed one is None
    shown = all(stream is not None and stream.isatty() for stream in streams)
    return shown and os.environ.get("TERM") != "dumb"


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


def read_key() -> str:
    """Wait for a key and return its name: a character in lower case, `left` or `right`.

    Within `keyboard()`, that is.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, and on Ctrl-D or when the terminal goes away.
    """
    if os.name == "nt":
        return _read_key_windows()
    return _named(_read_bytes(sys.stdin.fileno()))


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
    """Tell whether these bytes are all of one key press."""
    first = pressed[:1]
    if first == b"\x1b":
        if pressed[1:2] == b"[":  # parameters, then a final letter or sign
            return len(pressed) > 2 and 0x40 <= pressed[-1] <= 0x7E
        return len(pressed) >= (3 if pressed[1:2] == b"O" else 2)
    if first >= b"\xc0":  # a character of several bytes
        return len(pressed) >= (2 if first < b"\xe0" else 3 if first < b"\xf0" else 4)
    return True


def _named(pressed: bytes) -> str:
    if pressed in (b"", b"\x03", b"\x04"):
        raise KeyboardInterrupt
    if pressed[:1] == b"\x1b":  # with Shift or Ctrl an arrow has parameters before its letter
        return ARROWS.get(pressed[-1:], "") if pressed[1:2] in (b"[", b"O") else ""
    return pressed.decode(errors="replace").lower()


def _read_key_windows() -> str:
    import msvcrt

    pressed = msvcrt.getwch()  # type: ignore[attr-defined]
    if pressed in "\x00\xe0":
        return {"K": "left", "M": "right"}.get(msvcrt.getwch(), "")  # type: ignore[attr-defined]
    return _named(pressed.encode())
