"""A real pseudo-terminal with the command line in it, for tests that press keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from types import TracebackType

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Run `useralign ARGS` in a terminal of a given width."""

    def __init__(self, *args: str, columns: int = 80, env: dict[str, str] | None = None) -> None:
        self.output = ""
        self._over = False
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm-256color", "COLUMNS": str(columns), **(env or {})})
            os.execv(sys.executable, [sys.executable, "-m", "useralign.cli", *args])  # noqa: S606
        size = struct.pack("HHHH", 40, columns, 0, 0)
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, size)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._over:
            self.kill()
        os.close(self._handle)

    def wait_for(self, text: str, seconds: float = 20.0) -> str:
        """Read until a text appears after what was read before; return what was read."""
        start, end = len(self.output), time.monotonic() + seconds
        while text not in ESCAPES.sub("", self.output[start:]):
            if time.monotonic() > end or not self._read(end):
                raise AssertionError(f"{text!r} did not appear in:\n{self.output[start:]}")
        return ESCAPES.sub("", self.output[start:])

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self._handle, key.encode())
            time.sleep(0.02)

    def finish(self, seconds: float = 20.0) -> int:
        """Read to the end and return the exit code."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass
        if time.monotonic() > end:
            raise AssertionError(f"it did not end:\n{self.output}")
        _, status = os.waitpid(self.pid, 0)
        self._over = True
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._over = True

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._handle], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._handle, 65536)
        except OSError:
            return False
        self.output += data.decode(errors="replace")
        return bool(data)
