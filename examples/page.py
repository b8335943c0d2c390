"""A page of your own with `<user-align>` in it: this is its server, which makes the tokens.

useralign serve --origin http://127.0.0.1:8001    # in one terminal
python examples/page.py                           # in another; open http://127.0.0.1:8001
"""

from __future__ import annotations

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

SERVER = os.environ.get("USERALIGN_SERVER", "http://127.0.0.1:8000")
# Made by `useralign serve keys add dinner`; on this machine none is needed.
KEY = os.environ.get("USERALIGN_KEY", "")
PAGE = Path(__file__).with_suffix(".html")


def token(person: str) -> bytes:
    """Get a token for one person; the key stays here."""
    request = Request(f"{SERVER}/api/tokens", json.dumps({"person": person}).encode())  # noqa: S310
    request.add_header("Content-Type", "application/json")
    if KEY:
        request.add_header("Authorization", f"Bearer {KEY}")
    with urlopen(request) as reply:  # noqa: S310
        return bytes(reply.read())


class Application(BaseHTTPRequestHandler):
    """The page, and at /token a token for whoever has signed in."""

    def do_GET(self) -> None:
        """Answer a browser."""
        if self.path == "/token":
            content, kind = token("somebody"), "application/json"
        else:
            page = PAGE.read_text("utf-8").replace("http://127.0.0.1:8000", SERVER)
            content, kind = page.encode(), "text/html; charset=utf-8"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 8001), Application) as server:
        server.serve_forever()
