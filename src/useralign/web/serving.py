"""Running the application: one process or several, on one socket.

`python -m useralign.web.serving NUMBER-OF-SOCKET` serves simulated people, over the database that
`USERALIGN_DATABASE` names, with none of the limits that real visitors meet; see `rehearsal`.
"""

from __future__ import annotations

import logging.config
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from threadpoolctl import threadpool_limits

from useralign.errors import OptionError, UseralignError
from useralign.models import embedder_for
from useralign.store import open_store
from useralign.store.database import default_url
from useralign.web import logs
from useralign.web.app import create_app
from useralign.web.connections import BoundedProtocol
from useralign.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import SpawnProcess

_QUEUE = 1024
SWITCH = 0.001  # seconds after which a thread that computes lets another go on
_HOW: dict[str, Any] = {
    "http": BoundedProtocol,
    "ws": "none",
    "log_config": logs.CONFIGURATION,
    "access_log": False,  # it would hold network addresses; no line of ours does
    "log_level": "warning",
    "proxy_headers": False,
    "server_header": False,
    "timeout_graceful_shutdown": 5,
}


def serve(
    settings: Settings, host: str, port: int, database: str | None, ready: Callable[[str], None]
) -> None:
    """Serve until stopped by Ctrl-C or a signal; `ready` gets the address once it answers.

    Port 0 takes one that is free; `database` is the store's address.
    """
    listening = _socket(host, port)
    name = f"[{host.strip('[]')}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/"
    store = open_store(database)  # before any worker, so that one migrates
    try:
        if settings.workers == 1:
            app = create_app(store, settings)
            _warm()
            _Server(uvicorn.Config(app, **_HOW), lambda: ready(address)).run([listening])
        else:
            listening.listen(_QUEUE)  # who comes before the workers are up waits for them
            ready(address)
            _serve_by_workers(settings, database or default_url(), listening)
    finally:
        store.close()
        listening.close()


def _serve_by_workers(settings: Settings, database: str, listening: socket.socket) -> None:
    """Serve by several processes, and replace those that end.

    They are told what to serve by a pipe: the environment of a process can be read by others, and
    whatever it starts gets it.
    """
    for name in ("USERALIGN_SECRET", "USERALIGN_DATABASE"):
        os.environ.pop(name, None)
    context = multiprocessing.get_context("spawn")
    workers: list[SpawnProcess] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        while True:
            workers = [worker for worker in workers if worker.is_alive()]
            for _ in range(settings.workers - len(workers)):
                workers.append(context.Process(target=_work, args=(settings, database, listening)))
                workers[-1].start()
            multiprocessing.connection.wait([worker.sentinel for worker in workers])
            time.sleep(1.0)  # one that cannot start must not keep the machine busy
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(2 * _HOW["timeout_graceful_shutdown"])
            worker.kill()


def _work(
    settings: Settings, database: str | None, listening: socket.socket, **others: Any
) -> None:
    """Serve in a process beside another, until told to stop or left alone."""
    logging.config.dictConfig(logs.CONFIGURATION)
    try:
        app = create_app(open_store(database), settings)
    except UseralignError as error:
        logging.getLogger("useralign.web").warning("a worker cannot start: %s", logs.brief(error))
        sys.exit(1)
    _warm()
    server = uvicorn.Server(uvicorn.Config(app, **(_HOW | others)))
    threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        server.run([listening])


def _end_with_parent(server: uvicorn.Server) -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
    else:
        sys.stdin.read()  # a pipe, which is closed when whoever started us is gone
    server.should_exit = True


class _Server(uvicorn.Server):
    """A server that calls `ready` once it answers requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `ready`."""
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or str(error)
        raise OptionError(
            f"cannot listen at {host}, port {port}: {why}; give another --port (0 takes a free one)"
        ) from error
    listening.set_inheritable(True)
    return listening


def _warm() -> None:
    """Load what the first question needs while the person is still typing it.

    From here on a computation has one thread: matrices are small, so that more of them cost twice
    the processor time and gain nothing, and the other cores are other people's.
    """
    threadpool_limits(1)
    sys.setswitchinterval(SWITCH)

    def load() -> None:
        import scipy.special  # noqa: F401, PLC0415 - takes a moment, and the first screen needs it

        embedder_for(None, "text").embed_texts(["warm"])

    threading.Thread(target=load, name="warm", daemon=True).start()


if __name__ == "__main__":
    # All simulated people come from one network address, on more connections than others may have.
    unlimited = Settings(
        asks_per_hour=math.inf, answers_per_minute=math.inf, limit_participants=False
    )
    _work(unlimited, None, socket.socket(fileno=int(sys.argv[1])), http="auto")
