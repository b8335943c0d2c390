"""One key at a time from the terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ARROWS = {b"\x1b[D": "left", b"\x1b[C": "right", b"\x1bOD": "left", b"\x1bOC": "right"}


def has_terminal() -> bool:
    """Tell whether a person can see what is printed and press keys."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


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
    while pressed[:1] == b"\x1b" and len(pressed) < 3:
        ready, _, _ = select.select([handle], [], [], 0.05)
        if not ready:
            break
        pressed += os.read(handle, 1)
    return pressed


def _named(pressed: bytes) -> str:
    if pressed in (b"", b"\x03", b"\x04"):
        raise KeyboardInterrupt
    return ARROWS.get(pressed) or pressed.decode(errors="replace").lower()


def _read_key_windows() -> str:
    import msvcrt

    pressed = msvcrt.getwch()  # type: ignore[attr-defined]
    if pressed in "\x00\xe0":
        return {"K": "left", "M": "right"}.get(msvcrt.getwch(), "")  # type: ignore[attr-defined]
    return _named(pressed.encode())
