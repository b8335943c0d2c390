"""Real servers in processes of their own, that tests may kill."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import Command


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
    _process: Command | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def processor_seconds(self) -> float:
        """How long it has kept processors busy, as Linux counts it."""
        assert self._process is not None
        fields = (
            Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def start(self) -> None:
        """Start it, and wait until it says where it is; a restart keeps the port."""
        port = self.address.rstrip("/").rpartition(":")[2] or "0"
        command = ["serve", "--port", port, "--database", self.database, "--no-open", "--json"]
        self._process = Command(
            *command, *self.options, environment={**os.environ, **self.environment}
        )
        line = self._process.output.readline()
        assert line, f"the server did not start: exit {self._process.wait()}"
        self.address = json.loads(line)["address"].rstrip("/")

    @property
    def process(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End it as a power cut would: no warning, no clean-up."""
        if self._process is not None:
            self._process.kill()
            self._process = None
