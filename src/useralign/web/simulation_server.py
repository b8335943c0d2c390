"""A server for simulations and tests, over a socket that is open already.

`python -m useralign.web.simulation_server ADDRESS-OF-DATABASE NUMBER-OF-SOCKET`. Several of them
may share the socket.
"""

from __future__ import annotations

import math
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from useralign.store import open_store
from useralign.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNLIMITED = math.inf  # all simulated people come from one network address


@contextmanager
def serving(database: str, workers: int = 1) -> Iterator[str]:
    """Run servers on this machine over a database that exists by now, and yield their address."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        command = [sys.executable, "-m", __name__, database, str(listening.fileno())]
        started = [
            subprocess.Popen(command, pass_fds=[listening.fileno()])  # noqa: S603 - ourselves
            for _ in range(workers)
        ]
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(timeout=30)


def main(database: str, number: str) -> None:
    """Serve until told to stop."""
    import uvicorn  # noqa: PLC0415 - only where a server is run

    from useralign.web.app import create_app  # noqa: PLC0415

    store = open_store(database)
    settings = Settings(
        asks_per_hour=_UNLIMITED, answers_per_minute=_UNLIMITED, limit_participants=False
    )
    config = uvicorn.Config(
        create_app(store, settings), fd=int(number), log_level="warning", access_log=False
    )
    uvicorn.Server(config).run()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
