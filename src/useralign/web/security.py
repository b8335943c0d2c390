"""Middleware around every request: host, origin, size, headers, and unexpected errors.

The middleware is plain ASGI, so that it sees bodies as they stream in and also covers the replies
that the framework makes itself.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request

from useralign.web import logs

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from useralign.web.settings import Settings

_log = logging.getLogger("useralign.web")

UPLOADS = ("/ask", "/v1/chat/completions")  # where files and pictures may be sent to
SHARED = ("/api/", "/media/", "/user-align.js")  # what pages of allowed sites may ask for
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def policy(frame_ancestors: str = "'none'", form_action: str = "'self'") -> str:
    """Return the content security policy: nothing inline, nothing from elsewhere."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        f"connect-src 'self'; form-action {form_action}; base-uri 'none'; "
        f"frame-ancestors {frame_ancestors}"
    )


HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def is_same_origin(request: Request) -> bool:
    """Return whether a request was made by a page of this server, or by no page at all.

    Browsers send Origin with every unsafe request and, the newer ones, Sec-Fetch-Site; programs
    send neither. A frame without an origin of its own (`Origin: null`) is not us.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return True
    return origin == f"{request.url.scheme}://{request.headers.get('host')}"


def too_large(largest: int) -> HTTPException:
    """Return the error for a body that is too large."""
    return HTTPException(
        413, f"That is too large: at most {largest // 2**20} MB are taken at once."
    )


class BrokenReplyError(Exception):
    """A reply failed after it had begun: the connection is closed."""


class Guard:
    """The middleware; `respond` returns the response to a request that raised an error.

    A handler that sets one of these headers itself keeps what it set; so a page that a crowd
    service shows in a frame answers with its own `content-security-policy`.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, respond: Callable[[Request, Exception], Response]
    ) -> None:
        self._app = app
        # No credentials: neither cookies nor what a browser remembers of a site come along.
        self._shared: ASGIApp = CORSMiddleware(
            app,
            settings.origins,
            ("GET", "POST", "DELETE"),
            ("Authorization", "Content-Type"),
            expose_headers=("Retry-After",),
        )
        self._settings = settings
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._see_through_proxy(scope)
        request = Request(scope, receive)
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                if "content-security-policy" not in headers:
                    headers["content-security-policy"] = policy()
                    headers["x-frame-options"] = "DENY"
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(request)
            shared = self._settings.origins and request.url.path.startswith(SHARED)
            app = self._shared if shared else self._app
            await app(scope, _measured(receive, self._largest(request)), answer)
        except ClientDisconnect:
            return  # nobody is there to be answered
        except Exception as error:  # noqa: BLE001 - whatever it was, somebody waits for a reply
            if not isinstance(error, HTTPException):
                # The address as its route has it: without tokens and names.
                path = getattr(scope.get("route"), "path", "an address that has no route")
                _log.error("%s %s: %s", scope["method"], path, logs.brief(error))
            if begun:  # the client sees a reply that is not whole
                raise BrokenReplyError from None
            await self._respond(request, error)(scope, receive, answer)

    def _see_through_proxy(self, scope: Scope) -> None:
        if not self._settings.trust_proxy:
            return
        headers = Headers(scope=scope)
        if headers.get("x-forwarded-proto") in {"http", "https"}:
            scope["scheme"] = headers["x-forwarded-proto"]
        if host := headers.get("x-forwarded-host"):
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [*others, (b"host", host.encode("latin-1"))]

    def _check(self, request: Request) -> None:
        hosts = self._settings.allowed_hosts
        if hosts and _hostname(request.headers.get("host", "")) not in hosts:
            raise HTTPException(
                421, "This server does not answer under that name. Use the address it printed."
            )
        if "\x00" in request.scope["path"]:  # no database takes it
            raise HTTPException(404, "There is no such page.")
        # A page of an allowed site may ask for what is shared; it still needs a token.
        shared = request.url.path.startswith("/api/")
        allowed = shared and request.headers.get("origin") in self._settings.origins
        if not (allowed or request.method in SAFE_METHODS or is_same_origin(request)):
            raise HTTPException(
                403, "This request came from another site. Open the page here and try again."
            )
        length, largest = request.headers.get("content-length", "0"), self._largest(request)
        if length.isdigit() and int(length) > largest:
            raise too_large(largest)

    def _largest(self, request: Request) -> int:
        """Return how many bytes a request may have: more where people bring their own files."""
        uploading = request.url.path in UPLOADS and request.method == "POST"
        return self._settings.largest_upload if uploading else self._settings.largest_body


def _measured(receive: Receive, largest: int) -> Receive:
    """Count a body as it streams in; one without a length is cut off where the limit is."""
    total = 0

    async def measured() -> Message:
        nonlocal total
        message = await receive()
        if message["type"] == "http.request":
            total += len(message.get("body", b""))
            if total > largest:
                raise too_large(largest)
        return message

    return measured


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
