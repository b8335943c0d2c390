"""What every answer carries, and how a request from another site is told."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.requests import Request

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def policy(frame_ancestors: str = "'none'") -> str:
    """Return the content security policy: nothing inline, nothing from elsewhere.

    Parameters
    ----------
    frame_ancestors : str
        Which sites may show the page in a frame.
    """
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; "
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


def from_here(request: Request) -> bool:
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
    parts = urlsplit(origin)
    return parts.scheme == request.url.scheme and parts.netloc == request.headers.get("host")


def too_large(largest: int) -> HTTPException:
    """Return the error for a body that is too large."""
    return HTTPException(413, f"That is too large: at most {largest} bytes are taken at once.")
