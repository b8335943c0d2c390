"""Running the application: one process or several, on one socket."""

from __future__ import annotations

import json
import os
import socket
import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import uvicorn

from useralign.errors import OptionError
from useralign.models import embedder_for
from useralign.store import open_store
from useralign.web.app import create_app
from useralign.web.settings import Settings, is_loopback, no_secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

_SERVING = "useralign_serving"  # no setting, but how worker processes learn what to serve
_QUEUE = 1024
_HOW: dict[str, Any] = {
    "access_log": False,  # it would hold network addresses; no line of ours does
    "log_level": "warning",
    "proxy_headers": False,
    "server_header": False,
    "timeout_graceful_shutdown": 5,
}


@dataclass(frozen=True)
class Serving:
    """What to serve, and where.

    Parameters
    ----------
    host : str
    port : int
        0 takes one that is free.
    database : str, optional
        The store's address.
    secret : str, optional
    workers : int
        How many processes.
    behind_proxy : bool
        Believe what a proxy says about the scheme and the host.
    hosts : tuple of str
        Names under which the server may be addressed.
    making : bool, optional
        Whether visitors may have a model make answers.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    database: str | None = None
    secret: str | None = None
    workers: int = 1
    behind_proxy: bool = False
    hosts: tuple[str, ...] = ()
    making: bool | None = None

    def settings(self) -> Settings:
        """Return the application's settings.

        Raises
        ------
        OptionError
            If it would listen beyond this machine without a secret.
        """
        # Behind a proxy strangers come in by the loopback interface.
        loopback = is_loopback(self.host) and not self.behind_proxy
        if not loopback and self.secret is None:
            where = "for a proxy" if self.behind_proxy else f"at {self.host}, beyond this machine,"
            raise OptionError(no_secret(where))
        return Settings(
            secret=self.secret,
            loopback=loopback,
            trust_proxy=self.behind_proxy,
            hosts=frozenset(self.hosts),
            making=self.making,
        )


def serve(serving: Serving, ready: Callable[[str], None]) -> None:
    """Serve until stopped by Ctrl-C or a signal.

    Parameters
    ----------
    serving : Serving
    ready : callable
        Called with the address once requests are answered.
    """
    settings = serving.settings()
    listening = _socket(serving.host, serving.port)
    address = _address(serving.host, listening.getsockname()[1])
    store = open_store(serving.database)  # before any worker, so that one migrates
    try:
        if serving.workers == 1:
            app = create_app(store, settings)
            _warm()
            _Server(uvicorn.Config(app, **_HOW), lambda: ready(address)).run([listening])
        else:
            os.environ[_SERVING] = json.dumps(asdict(serving))
            listening.listen(_QUEUE)  # who comes before the workers are up waits for them
            ready(address)
            how = _HOW | {"fd": listening.fileno(), "workers": serving.workers}
            uvicorn.run("useralign.web.serving:application", factory=True, **how)
    finally:
        store.close()
        listening.close()


def application() -> FastAPI:
    """Build the application of a worker process."""
    values = json.loads(os.environ[_SERVING])
    serving = Serving(**values | {"hosts": tuple(values["hosts"])})
    _warm()
    return create_app(open_store(serving.database), serving.settings())


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
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as error:
        opened.close()
        why = getattr(error, "strerror", None) or str(error)
        raise OptionError(
            f"cannot listen at {host}, port {port}: {why}; give another --port (0 takes a free one)"
        ) from error
    opened.set_inheritable(True)
    return opened


def _address(host: str, port: int) -> str:
    name = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{name}:{port}/"


def _warm() -> None:
    """Load what the first question needs while the person is still typing it."""
    threading.Thread(target=_load_embedder, name="warm", daemon=True).start()


def _load_embedder() -> None:
    embedder_for(None, "text").embed_texts(["warm"])
