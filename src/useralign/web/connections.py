"""Connections of clients that are slow, silent, or too many.

uvicorn waits for ever for a request that was begun, and counts connections only to answer 503. Here
a request must arrive at some speed, a reply must be taken, and where there are too many connections
the one goes that has been silent longest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 that waits, but not for ever."""

    grace = 20.0  # seconds in which a request must arrive, from the first byte or the connection on
    slowest = 1000.0  # bytes that win another second
    patience = 60.0  # seconds in which a client must take something of a reply
    most = 500  # connections of one process; it may open 1,024 files on many systems

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._begun = self.loop.time()
        self._received = 0
        self._arriving: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    @property
    def silent(self) -> bool:
        """Whether it is the client's turn: no whole request is being worked on."""
        return self._arriving is not None or self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, if there is room."""
        super().connection_made(transport)
        self._begin()
        if len(self.connections) > self.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take some bytes; once the request is whole the client has time."""
        if self._arriving is None:
            self._begin()
        self._received += len(data)
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop("_arriving")

    def pause_writing(self) -> None:
        """Wait until the client takes what is there of the reply."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with the reply."""
        self._stop("_unread")
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop("_arriving")
        self._stop("_unread")
        super().connection_lost(exc)

    def _begin(self) -> None:
        self._begun, self._received = self.loop.time(), 0
        self._arriving = self.loop.call_later(self.grace, self._look)

    def _stop(self, name: str) -> None:
        """Cancel a timer."""
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
        setattr(self, name, None)

    def _look(self) -> None:
        """Give the client up, or as much more time as its bytes have won."""
        end = self._begun + self.grace + self._received / self.slowest
        if self.loop.time() >= end:
            self.transport.abort()
        else:
            self._arriving = self.loop.call_at(end, self._look)

    def _make_room(self) -> None:
        """Drop the connection that has been silent longest: in the worst case this one."""
        others: Any = self.connections
        silent = [one for one in others if one.silent and not one.transport.is_closing()]
        min(silent, key=lambda one: one._begun).transport.abort()
