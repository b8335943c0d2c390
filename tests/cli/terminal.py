"""A real pseudo-terminal with the command line in it, for tests that press keys."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from tests.processes import Command

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Run `useralign ARGS` in a terminal of a given width."""

    def __init__(self, *args: str, columns: int = 80, env: dict[str, str] | None = None) -> None:
        self.output = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        own = {"TERM": "xterm-256color", "COLUMNS": str(columns), **(env or {})}
        self.handle, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._command = Command(
            *args, environment={**os.environ, **own}, terminal=os.ttyname(inside)
        )
        self._command.output.read()  # it ends when the terminal has been opened there
        os.close(inside)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        os.close(self.handle)

    def wait_for(self, text: str, seconds: float = 20.0) -> str:
        """Read until a text appears after what was read before; return what was read."""
        start, end = len(self.output), time.monotonic() + seconds
        while text not in ESCAPES.sub("", self.output[start:]):
            if time.monotonic() > end or not self._read(end):
                raise AssertionError(f"{text!r} did not appear in:\n{self.output[start:]}")
        return ESCAPES.sub("", self.output[start:])

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self.handle, key.encode())
            time.sleep(0.02)

    def finish(self, seconds: float = 20.0) -> int:
        """Read to the end and return the exit code."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass
        if time.monotonic() > end:
            raise AssertionError(f"it did not end:\n{self.output}")
        return self._command.wait()

    def kill(self) -> None:
        self._command.kill()

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self.handle], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self.handle, 65536)
        except OSError:
            return False
        self.output += self._decoder.decode(data)
        return bool(data)
