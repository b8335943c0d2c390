"""Who makes a request: a browser by its cookie, a program by its key.

A cookie or a key is a token; what the rest of the application and the database see is its digest,
the owner. Pages that must do without cookies (in a frame of a crowd service) carry a token of
their own in their address, and can use `form_token` and `check_form_token` in the same way.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from useralign.store import digest, token
from useralign.web.security import SAFE_METHODS

if TYPE_CHECKING:
    from starlette.responses import Response

COOKIE = "useralign"
YEAR = 365 * 24 * 3600
FIELD = "form_token"  # in a form
HEADER = "x-form-token"  # sent by a script
# The owner of what is made on this machine without a key. Not the digest of anything, so that no
# cookie or key can stand for it.
LOCAL = "this machine"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_scheme = HTTPBearer(
    auto_error=False,
    description="A key made by `useralign serve keys add NAME`. Not needed on the machine itself.",
)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Someone with a browser.

    Parameters
    ----------
    token : str
        What their cookie holds. Never stored, logged or shown.
    fresh : bool
        Whether the cookie is still to be set.
    """

    token: str
    fresh: bool

    @property
    def owner(self) -> str:
        """What the database knows them by."""
        return digest(self.token)

    @property
    def form_token(self) -> str:
        """What their forms carry; see `form_token`."""
        return form_token(self.token)


def visitor(request: Request) -> Visitor:
    """Return who makes a request; a stranger gets a new token, set by `rendering.page`.

    The same object for the whole of a request.
    """
    who: Visitor | None = getattr(request.state, "visitor", None)
    if who is None:
        cookie = request.cookies.get(COOKIE, "")
        who = Visitor(cookie, False) if _TOKEN.fullmatch(cookie) else Visitor(token(), True)
        request.state.visitor = who
    return who


def set_cookie(request: Request, response: Response, value: str, name: str = COOKIE) -> None:
    """Put a token into a browser: out of reach of scripts, of other sites, and of plain HTTP."""
    response.set_cookie(
        name,
        value,
        max_age=YEAR,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def form_token(secret: str) -> str:
    """Return the token that a form must carry: another site can neither read nor guess it.

    It is a function of the token in the cookie, so that no server has to remember it.
    """
    return digest(f"form {secret}")


async def check_form_token(request: Request, secret: str) -> None:
    """Refuse a form that does not carry the right token.

    Raises
    ------
    HTTPException
        403.
    """
    sent = request.headers.get(HEADER)
    if sent is None:
        sent = str((await request.form()).get(FIELD, ""))
    if not hmac.compare_digest(sent.encode(), form_token(secret).encode()):
        raise HTTPException(
            403,
            "This form has grown old, or your browser does not keep cookies for this site.",
        )


async def _protected(request: Request) -> Visitor:
    """Return the visitor; an unsafe request must carry the form token of their cookie."""
    who = visitor(request)
    if request.method not in SAFE_METHODS:
        await check_form_token(request, who.token)
    return who


CurrentVisitor = Annotated[Visitor, Depends(_protected)]


def _caller(request: Request, _: Annotated[object, Depends(_scheme)]) -> str:
    """Return the owner of what the caller makes.

    Raises
    ------
    HTTPException
        401, without a key where one is needed, or with one that is not ours; 429 after too many.
    """
    state = request.app.state
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if not scheme and state.settings.loopback:
        return LOCAL
    if scheme.lower() == "bearer" and key.strip():
        visitor = state.limits.visitor(request)
        state.limits.tries.check(visitor)
        owner: str | None = state.store.keys.owner_of(key.strip())
        if owner is not None:
            return owner
        state.limits.tries.take(visitor)
    raise HTTPException(
        401,
        "A key is needed: send the header `Authorization: Bearer KEY`. Keys are made on the "
        "server with `useralign serve keys add NAME`.",
        {"WWW-Authenticate": 'Bearer realm="useralign"'},
    )


Caller = Annotated[str, Depends(_caller)]
