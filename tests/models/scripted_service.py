"""A service on the loopback that misbehaves on request.

`will` says what it replies to requests for texts, `pages` what is at an address. A page whose
`gate` was cleared, or what follows the first words of a text that is streamed, waits for it.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from useralign.models.generator import as_chunks


def chat(content: object = "A walk.", **more: Any) -> dict[str, Any]:
    """Write a chat completion as a service would."""
    message = {"role": "assistant", "content": content} | more.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish", "stop")}
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    return {"model": "gpt-4o-2024-08-06", "choices": [choice], "usage": usage} | more


def chats(*contents: str) -> dict[str, Any]:
    """Write one with several choices."""
    choices = [chat(content)["choices"][0] | {"index": n} for n, content in enumerate(contents)]
    return chat(choices=choices)


class Reply:
    """One answer of the scripted service."""

    def __init__(
        self,
        body: object = None,
        status: int = 200,
        *,
        headers: dict[str, str] | None = None,
        delay: float = 0.0,
        cut: bool = False,
    ) -> None:
        self.raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self.headers = headers or {}
        self.delay = delay
        self.cut = cut
        self.gate = threading.Event()
        self.gate.set()


class ScriptedService(ThreadingHTTPServer):
    """A service that gives the replies it is told to, in order; the last one for ever."""

    daemon_threads = True
    request_queue_size = 256  # many may come at once

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply] = []
        self.pages: dict[str, Reply] = {}
        self.visits: list[tuple[str, str | None]] = []
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.lock = threading.Lock()
        self.running = 0
        self.busiest = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that goes away is what these tests are about."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def will(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def next_reply(self) -> Reply:
        return self.replies[min(len(self.requests), len(self.replies)) - 1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedService

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.paths.append(self.path)
            self.server.keys.append(self.headers.get("Authorization"))
            self.server.times.append(time.monotonic())
            reply = self.server.next_reply()
            self.server.running += 1
            self.server.busiest = max(self.server.busiest, self.server.running)
        try:
            time.sleep(reply.delay)
            if body.get("stream") and reply.status == 200 and b'"choices": [{' in reply.raw:
                self._stream(reply, body.get("stream_options") or {})
            else:
                self._send(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with self.server.lock:
                self.server.running -= 1

    def do_GET(self) -> None:
        self.server.visits.append((self.path, self.headers.get("Authorization")))
        reply = self.server.pages.get(self.path, Reply({"detail": "Not Found"}, 404))
        try:
            reply.gate.wait()
            self._send(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _stream(self, reply: Reply, options: dict[str, Any]) -> None:
        """Send a completion in chunks, all but the first of them when the gate is open."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        for number, chunk in enumerate(as_chunks(json.loads(reply.raw))):
            if chunk["choices"] or options.get("include_usage"):
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            if number == 1:
                reply.gate.wait()
            if number == 1 and reply.cut:
                return
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {"Content-Type": "application/json"} | reply.headers
        for name, value in headers.items():
            self.send_header(name, value)
        # A connection that is cut promises more than it brings.
        self.send_header("Content-Length", str(len(reply.raw) + (100 if reply.cut else 0)))
        self.end_headers()
        self.wfile.write(reply.raw)
        self.close_connection = reply.cut

    def log_message(self, *_: object) -> None:
        pass
