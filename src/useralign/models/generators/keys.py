"""Keys: from the environment or a file, and nowhere else. Addresses without their secrets."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from useralign.errors import ModelUnavailableError

HIDDEN = "[hidden]"
_USABLE = re.compile(r"[\x21-\x7e]+")


def read_key(variable: str, file: str | Path | None = None) -> str | None:
    """Return the key, or None when there is none.

    Parameters
    ----------
    variable : str
        The environment variable that holds it. The variable of that name with `_FILE` at its
        end may name a file instead.
    file : str or Path, optional
        A file that holds it, and nothing else; it goes before the environment.

    Raises
    ------
    ModelUnavailableError
        If the file cannot be read, or what is there cannot be a key.
    """
    named = file or os.environ.get(f"{variable}_FILE")
    if named and (file or not os.environ.get(variable)):
        where = f"the key file {named}"
        key = _read(Path(named).expanduser())
    else:
        where = variable
        key = os.environ.get(variable, "").strip()
    # A line break or a letter beyond ASCII would make the HTTP library fail with a message that
    # quotes the whole header.
    if key and not _USABLE.fullmatch(key):
        raise ModelUnavailableError(
            f"{where} does not hold a usable key: expected one line of ASCII letters, digits "
            "and signs"
        )
    return key or None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ModelUnavailableError(
            f"the key file {path} cannot be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError:
        raise ModelUnavailableError(f"the key file {path} is not a text file") from None


def without_secrets(address: str) -> str:
    """Return an address without user, password, query and fragment.

    Parameters
    ----------
    address : str
        A URL.
    """
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def is_local(address: str) -> bool:
    """Return whether an address is on this machine."""
    return urlsplit(address).hostname in {"localhost", "127.0.0.1", "::1"}


def redact(text: str, secrets: tuple[str | None, ...]) -> str:
    """Take secrets out of a text that comes from elsewhere.

    Parameters
    ----------
    text : str
    secrets : tuple of str or None
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    return text
