"""Slow, silent and many clients: half-sent requests are dropped, and the server stays reachable."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from useralign.store import Store
from useralign.web.app import create_app
from useralign.web.connections import BoundedProtocol
from useralign.web.serving import _HOW, _Server

MANY = 300
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
TYPE = b"Content-Type: application/json\r\nContent-Length: 999\r\n\r\n{"
BODY = b"POST /api/pools HTTP/1.1\r\nHost: localhost\r\n" + TYPE


@contextmanager
def served(app: object, **bounds: float) -> Iterator[tuple[str, int]]:
    """Serve an application as `useralign serve` does, with other bounds."""
    protocol = type("Protocol", (BoundedProtocol,), bounds)
    ready = threading.Event()
    config = uvicorn.Config(app, **(_HOW | {"http": protocol, "log_config": None}))  # type: ignore[arg-type]
    server = _Server(config, ready.set)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        ready.wait()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def half_sent(address: tuple[str, int], count: int, start: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        opened = [
            stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(count)
        ]
        for one in opened:
            with suppress(ConnectionError):  # dropped already
                one.sendall(start)
        yield opened


def is_closed(one: socket.socket) -> bool:
    """Wait until the server closes a connection, or says something else first."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def health(address: tuple[str, int]) -> int:
    return httpx.get(f"http://localhost:{address[1]}/healthz", timeout=60).status_code


@pytest.mark.parametrize("start", [b"", HEAD, BODY], ids=["nothing", "half a head", "half a body"])
def test_half_sent_requests_are_dropped(light: Store, start: bytes) -> None:
    with served(create_app(light), grace=0.5) as address:
        with half_sent(address, MANY, start) as opened:
            assert health(address) == 200
            assert all(is_closed(one) for one in opened)
        assert health(address) == 200


def test_a_drop_now_and_then_wins_no_time(light: Store) -> None:
    def drip(one: socket.socket) -> None:
        while True:
            one.sendall(b"x")
            threading.Event().wait(0.02)

    with (
        served(create_app(light), grace=0.3) as address,
        half_sent(address, 1, HEAD) as (one,),
        pytest.raises(ConnectionError),
    ):
        drip(one)


def test_who_is_slow_but_goes_on_is_served(light: Store) -> None:
    body = b'{"question": "?", "texts": ["one", "two"]' + b" " * 400 + b"}"
    head = BODY.replace(b"999", str(len(body)).encode()).removesuffix(b"{")
    with (
        served(create_app(light), grace=0.3, slowest=100.0) as address,
        half_sent(address, 1, head) as (one,),
    ):
        for start in range(0, len(body), 50):
            threading.Event().wait(0.1)
            one.sendall(body[start : start + 50])
        assert one.recv(64).startswith(b"HTTP/1.1 201")


def test_too_many_connections_drop_the_silent_ones(light: Store) -> None:
    with (
        served(create_app(light), most=20, grace=600.0) as address,
        half_sent(address, MANY, HEAD) as opened,
    ):
        assert health(address) == 200
        assert sum(map(is_closed, opened[: MANY - 20])) == MANY - 20


def test_who_is_being_answered_is_not_dropped() -> None:
    entered, go_on = threading.Event(), threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        entered.set()
        await asyncio.to_thread(go_on.wait)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(app, most=5, grace=600.0) as address, half_sent(address, 1, whole) as (one,):
        entered.wait()
        with half_sent(address, 50, HEAD) as others:
            assert all(map(is_closed, others[:45]))
            go_on.set()
            assert one.recv(64).startswith(b"HTTP/1.1 200")


def test_who_takes_nothing_of_a_reply_is_dropped() -> None:
    ended = threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):  # 64 MB: more than any buffer takes
            await send({"type": "http.response.body", "body": b"x" * 2**16, "more_body": True})
        ended.set()

    whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(app, patience=0.2) as address, half_sent(address, 1, whole):
        assert ended.wait(60)
