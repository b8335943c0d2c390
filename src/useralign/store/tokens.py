"""Tokens that open something, and what the database keeps of them."""

from __future__ import annotations

import hashlib
import hmac
import secrets


def token() -> str:
    """Return a new token of 256 random bits, safe in addresses and cookies."""
    return secrets.token_urlsafe(32)


def digest(value: str) -> str:
    """Return what is kept of a token: who reads the database cannot use it."""
    return hashlib.sha256(value.encode()).hexdigest()


def pseudonym(value: str, key: str) -> str:
    """Return a stable stand-in for an outside identifier, which only the key's holder can link."""
    return hmac.new(key.encode(), value.encode(), hashlib.sha256).hexdigest()
