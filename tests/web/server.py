"""A real server in a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tests.processes import Command


@contextmanager
def running(database: str, *options: str, **environment: str) -> Iterator[str]:
    """Serve on a free port of this machine and yield the address, without the slash at its end.

    At the end it is stopped by Ctrl-C, as a person would stop it.
    """
    command = ("serve", "--port", "0", "--json", "--database", database, *options)
    process = Command(*command, environment=os.environ | environment)
    try:
        yield json.loads(process.output.readline())["address"].rstrip("/")
        process.interrupt()
        assert process.wait() in (0, 130)  # 0 from the one that watches over several
    finally:
        process.kill()
