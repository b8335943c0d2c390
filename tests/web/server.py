"""A real server in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running(database: str, *options: str, **environment: str) -> Iterator[str]:
    """Serve on a free port of this machine and yield the address, without the slash at its end."""
    command = [sys.executable, "-m", "useralign.cli", "serve", "--port", "0", "--json"]
    process = subprocess.Popen(
        [*command, "--database", database, *options],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["address"].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()
