"""Who may see the administration pages: whoever knows the server's secret, for half a day.

What the cookie holds is a time and a signature under the secret, so that nothing is stored, and
a new secret ends all log-ins.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from useralign.web.identity import check_form_token
from useralign.web.security import SAFE_METHODS

if TYPE_CHECKING:
    from starlette.responses import Response

    from useralign.web.settings import Settings

COOKIE = "useralign_admin"
LASTS = 12 * 3600
PATH = "/admin"
CLOSED = (
    "The administration pages are closed. Start the server with a secret: set USERALIGN_SECRET, "
    "or give --secret-file."
)


def is_secret(settings: Settings, given: str) -> bool:
    """Return whether a text is the server's secret, in a time that tells nothing."""
    secret = settings.secret or secrets.token_hex()
    return hmac.compare_digest(sha256(given.encode()).digest(), sha256(secret.encode()).digest())


def let_in(request: Request, response: Response) -> Response:
    """Give a browser the cookie that opens the pages."""
    settings: Settings = request.app.state.settings
    until = f"{int(settings.now()) + LASTS}.{secrets.token_urlsafe(16)}"
    response.set_cookie(
        COOKIE,
        f"{until}.{_signature(settings, until)}",
        max_age=LASTS,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def is_in(request: Request) -> bool:
    """Return whether a request carries a cookie that opens the pages."""
    settings: Settings = request.app.state.settings
    until, _, signature = request.cookies.get(COOKIE, "").rpartition(".")
    if settings.secret is None or not until:
        return False
    expected = _signature(settings, until)
    moment = until.partition(".")[0]
    right = hmac.compare_digest(signature.encode(), expected.encode())
    return right and moment.isdigit() and settings.now() < int(moment)


async def _only_admin(request: Request) -> str:
    """Return the cookie of someone who is logged in; a form must carry its token."""
    if request.app.state.settings.secret is None:
        raise HTTPException(403, CLOSED)
    if not is_in(request):
        raise HTTPException(401, "Log in first, at /admin.")
    held = request.cookies[COOKIE]
    if request.method not in SAFE_METHODS:
        await check_form_token(request, held)
    return held


Admin = Annotated[str, Depends(_only_admin)]


def _signature(settings: Settings, until: str) -> str:
    key = sha256(f"admin {settings.secret}".encode()).digest()
    return hmac.new(key, until.encode(), sha256).hexdigest()
