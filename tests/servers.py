"""Real servers in processes of their own, that tests may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from types import TracebackType


@dataclass
class Server:
    """`useralign serve` on a free port, until the `with` block ends.

    Parameters
    ----------
    database : str
        Its address.
    options : list of str
        More options of `useralign serve`.
    environment : dict
        More environment variables.
    """

    database: str
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    address: str = ""
    _process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it says where it is; a restart keeps the port."""
        port = self.address.rstrip("/").rpartition(":")[2] or "0"
        command = [sys.executable, "-m", "useralign.cli", "serve", "--port", port]
        command += ["--database", self.database, "--no-open", "--json", *self.options]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
            start_new_session=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the server did not start: exit {self._process.wait()}"
        self.address = json.loads(line)["address"].rstrip("/")

    def kill(self) -> None:
        """End it as a power cut would: no warning, no clean-up."""
        if self._process is None:
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
