"""Who makes a request: a browser by its cookie, a program by its key, a person by their token.

A cookie or a key is a token; what the rest of the application and the database see is its digest,
the owner. A person of another application is known by a pseudonym that only the holder of that
application's key can link; in a page of their own they have a token, a signed `Grant`. Pages that
must do without cookies (in a frame of a crowd service) carry a token in their address.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from useralign.store import digest, pseudonym, token
from useralign.store.keys import PREFIX
from useralign.web.security import SAFE_METHODS, is_same_origin

if TYPE_CHECKING:
    from starlette.responses import Response

COOKIE = "useralign"
YEAR = 365 * 24 * 3600
FIELD = "form_token"  # in a form
OPENAI = "/v1/"  # where its clients call
GRANT = "ut_"  # how the tokens of people of other applications begin
HEADER = "x-form-token"  # sent by a script
# The owner of what is made on this machine without a key. Not the digest of anything, so that no
# cookie or key can stand for it.
LOCAL = "this machine"
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")  # as `store.token` makes them
_scheme = HTTPBearer(
    auto_error=False,
    description="A key made by `useralign serve keys add NAME`. Not needed on the machine itself.",
)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Someone with a browser."""

    token: str  # what their cookie holds; never stored, logged or shown
    fresh: bool  # whether the cookie is still to be set

    @property
    def owner(self) -> str:
        """What the database knows them by."""
        return digest(self.token)


def visitor(request: Request) -> Visitor:
    """Return who makes a request, all through it; a stranger gets a new token."""
    who: Visitor | None = getattr(request.state, "visitor", None)
    if who is None:
        cookie = request.cookies.get(COOKIE, "")
        who = Visitor(cookie, False) if TOKEN.fullmatch(cookie) else Visitor(token(), True)
        request.state.visitor = who
    return who


def set_cookie(
    request: Request, response: Response, value: str, seconds: int = YEAR, *, framed: bool = False
) -> None:
    """Put a token into a browser: out of reach of scripts, of other sites, and of plain HTTP.

    Where the page may stand in another site's frame, the cookie is partitioned: it is sent there,
    and only in frames of that same site. Python's cookies know that word from 3.14 on.
    """
    secure = request.url.scheme == "https"
    framed = framed and secure  # a browser takes such a cookie over https alone
    response.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path="/",
        secure=secure,
        httponly=True,
        samesite="none" if framed else "lax",
    )
    if framed:
        name, cookie = response.raw_headers.pop()
        response.raw_headers.append((name, cookie + b"; Partitioned"))


def form_token(secret: str) -> str:
    """Return the token that a form must carry: another site can neither read nor guess it.

    It is a function of the token in the cookie, so that no server has to remember it.
    """
    return digest(f"form {secret}")


async def check_form_token(request: Request, secret: str) -> None:
    """Raise 403 for a form that does not carry the right token."""
    value = request.headers.get(HEADER)
    if value is None:
        value = str((await request.form()).get(FIELD, ""))
    if not hmac.compare_digest(value.encode(), form_token(secret).encode()):
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


def caller_of(request: Request, _: Annotated[object, Depends(_scheme)] = None) -> str:
    """Return the owner of what the caller makes.

    Raises 401 without a key where one is needed, or with one that is not ours; 429 after too many.
    """
    state, key = request.app.state, _bearer(request)
    elsewhere = request.headers.get("origin") in state.settings.origins
    if elsewhere and not is_same_origin(request):  # neither keys nor this machine's rights are its
        raise _unknown("A page of another site needs a token of its own server's for this person.")
    # OpenAI's clients always send a key: the one that they have for the model behind.
    foreign = request.url.path.startswith(OPENAI) and not key.startswith(PREFIX)
    if state.settings.loopback and (foreign or not request.headers.get("authorization")):
        return LOCAL
    if key and (owner := _owner_of(request, key)):
        return owner
    raise _unknown(
        "A key is needed: send the header `Authorization: Bearer KEY`. Keys are made on the "
        "server with `useralign serve keys add NAME`."
    )


def _owner_of(request: Request, key: str) -> str | None:
    """Return whom a key stands for; one that was right before is not counted as a try.

    New ones are tried one by one, so that many first requests with one key are a single try.
    """
    state, name = request.app.state, digest(key)
    if name in state.right_keys:
        if state.store.keys.owner_of(key) == name:
            return name
        state.right_keys.discard(name)
    with state.trying:
        if name in state.right_keys:  # since a moment ago
            return name
        visitor = state.limits.visitor(request)
        state.limits.tries.take(visitor)
        owner: str | None = state.store.keys.owner_of(key)
        if owner is not None:
            state.limits.tries.give_back(visitor)
            state.right_keys.add(owner)
        return owner


def _bearer(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _unknown(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"WWW-Authenticate": 'Bearer realm="useralign"'})


Caller = Annotated[str, Depends(caller_of)]


@dataclass(frozen=True, slots=True)
class Grant:
    """What the token says that an application's server gives to one of its people.

    The element `<user-align>` sends it. It is signed and not stored, so that every process that
    shares the secret can read it, and it ends by itself.
    """

    owner: str  # what the database knows the person by
    issuer: str  # who made the token: the owner of a key
    pool: str | None  # the only pool that it is for; None: the issuer's pools, and lists of texts
    expires: float  # seconds since 1970

    def sign(self, secret: str) -> str:
        """Return it as a token."""
        content = base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()
        return f"{GRANT}{content}.{_signature(content, secret)}"

    @classmethod
    def read(cls, value: str, secret: str) -> Grant | None:
        """Return what a token says, expired or not; None if it is none of ours."""
        content, _, signature = value.removeprefix(GRANT).partition(".")
        if not hmac.compare_digest(signature.encode(), _signature(content, secret).encode()):
            return None
        return cls(**json.loads(base64.urlsafe_b64decode(content)))


def _signature(content: str, secret: str) -> str:
    message = f"token {content}".encode()  # the secret serves other ends as well
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def _grant(request: Request) -> Grant | None:
    """Return what the token of a request allows; None if it comes with a key, or with nothing."""
    return _granted(request, _bearer(request))


def _granted(request: Request, value: str) -> Grant | None:
    """Return what a token allows; None if it is none.

    Raises 401 if it is not ours, or has expired, or its key was removed; 429 after too many.
    """
    state = request.app.state
    if not value.startswith(GRANT):
        return None
    grant = Grant.read(value, state.settings.signing)
    if grant is None:
        state.limits.tries.take(state.limits.visitor(request))
        raise _unknown("This token is none of this server's. Get a new one from the application.")
    local = grant.issuer == LOCAL and state.settings.loopback
    if grant.expires <= state.settings.now() or not (local or state.store.keys.holds(grant.issuer)):
        raise _unknown("The time to answer is over. Reload the page to go on where you are.")
    return grant


def person_owner(request: Request, person: str) -> str:
    """Return what the database knows a person of an application by; no other key has the same.

    `person` is what the application calls them, and is not stored.
    """
    key, name = _bearer(request), person.encode("utf-8", "replace").decode()
    return pseudonym(f"person {name}", key if key.startswith(PREFIX) else LOCAL)


def owners(request: Request) -> list[str]:
    """Return in whose names a request may look at a picture: a cookie's, a program's, a token's.

    The token may be in the address, since an image on a page of another site sends no headers.
    """
    value = request.query_params.get("token") or _bearer(request)
    if (grant := _granted(request, value)) is not None:
        return [grant.owner, grant.issuer]
    local = [LOCAL] if request.app.state.settings.loopback else []
    programs = [caller_of(request)] if "authorization" in request.headers else []
    return [visitor(request).owner, *programs, *local]


Granted = Annotated[Grant | None, Depends(_grant)]


def _person(request: Request, grant: Granted, scheme: Annotated[object, Depends(_scheme)]) -> str:
    """Return the owner of a session: the person of a token, or the holder of a key."""
    return caller_of(request, scheme) if grant is None else grant.owner


Person = Annotated[str, Depends(_person)]
