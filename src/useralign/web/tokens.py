"""Tokens that an application gives to one of its people, for a page of its own.

The application's server makes one with its key; the element `<user-align>` sends it. It is signed
and not stored, so that every process that shares the secret can read it, and it ends by itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass

PREFIX = "ut_"
SHORTEST, USUAL, LONGEST = 30, 900, 3600  # seconds


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token says."""

    owner: str  # what the database knows the person by
    issuer: str  # who made the token: the owner of a key
    pool: str | None  # the only pool that it is for; None: the issuer's pools, and lists of texts
    expires: float  # seconds since 1970


def sign(grant: Grant, secret: str) -> str:
    """Return a grant as a token."""
    content = base64.urlsafe_b64encode(json.dumps(asdict(grant)).encode()).decode()
    return f"{PREFIX}{content}.{_signature(content, secret)}"


def read(token: str, secret: str) -> Grant | None:
    """Return what a token says, expired or not; None if it is none of ours."""
    content, _, signature = token.removeprefix(PREFIX).partition(".")
    if not hmac.compare_digest(signature.encode(), _signature(content, secret).encode()):
        return None
    return Grant(**json.loads(base64.urlsafe_b64decode(content)))


def _signature(content: str, secret: str) -> str:
    message = f"token {content}".encode()  # the secret serves other ends as well
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
