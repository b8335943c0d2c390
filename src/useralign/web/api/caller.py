"""Who calls the API: the holder of a key or, on this machine, whoever is here."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from useralign.web import keys

# Not the digest of anything, so that no cookie or key can stand for it.
LOCAL = "this machine"
_scheme = HTTPBearer(
    auto_error=False,
    description="A key made by `useralign serve keys add NAME`. Not needed on the machine itself.",
)


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
        owner = keys.owner_of(state.store, key.strip())
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
