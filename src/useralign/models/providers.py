"""Who serves models: `providers.toml`, and the addresses and keys that go with it."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from useralign.errors import ModelUnavailableError, OptionError

_USABLE_KEY = re.compile(r"[\x21-\x7e]+")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - what a server listens on, which nobody can call
COMPATIBLE = "compatible"
_SHORTEST_SECRET = 8


@dataclass(frozen=True, slots=True)
class Provider:
    """A service, or a kind of server on a person's own machine; `providers.toml` explains it."""

    name: str  # what stands before the colon in the name of a model
    label: str
    key: str
    base_url: str = ""
    address: str = ""
    model: str = ""
    image_model: str = ""
    leaves_out: tuple[str, ...] = ()
    seed: str = "seed"
    timeout: float = 60.0
    retries: int = 4
    concurrency: int = 8
    models: str = ""
    start: str = ""
    source: str = ""

    @property
    def is_server(self) -> bool:
        """Whether it usually runs on a person's own machine, without a key."""
        return bool(self.start)

    @property
    def makes(self) -> frozenset[str]:
        """Return what it makes: texts, and pictures if it has a model for them."""
        return frozenset({"text", "image"} if self.image_model else {"text"})

    @property
    def url(self) -> str:
        """Where it is: as its variable says, if that is an address, else its usual one."""
        address = os.environ.get(self.address, "").strip() if self.address else ""
        return _named_address(self, address) if address else self.base_url

    @property
    def has_key(self) -> bool:
        """Whether a key is set; whether it is a right one shows when it is used."""
        return bool(os.environ.get(self.key) or os.environ.get(f"{self.key}_FILE"))


@cache
def providers() -> dict[str, Provider]:
    """Return all of them by their names, the preferred ones first."""
    text = Path(__file__).with_name("providers.toml").read_text(encoding="utf-8")
    return {
        name: Provider(name, **table | {"leaves_out": tuple(table.get("leaves_out", ()))})
        for name, table in tomllib.loads(text).items()
    }


def is_address(name: str) -> bool:
    """Whether the name of a model is an address, with or without `#MODEL` at its end."""
    return name.lower().startswith(("http://", "https://"))


def at_address(name: str) -> tuple[Provider, str]:
    """Return what is at an address that somebody named, and the model after its `#`.

    Such as "http://127.0.0.1:8080/v1#llama"; without a path, /v1 is meant.
    """
    address, _, model = name.partition("#")
    url = _checked_address(address, "a model's address")
    return replace(providers()[COMPATIBLE], base_url=url, image_model=model), model


def _named_address(provider: Provider, address: str) -> str:
    """Return an address from a variable; Ollama's may be host:port, or what it listens on."""
    usual = urlsplit(provider.base_url)
    if "://" not in address:
        has_port = address.rpartition("]")[2].count(":") == 1
        address = f"http://{address}" if has_port else f"http://{address}:{usual.port}"
    url = _checked_address(address, provider.address)
    if provider.is_server and not url.endswith("/v1"):
        url += "/v1"
    host = urlsplit(url).hostname or ""
    if host in _EVERYWHERE:
        return url.replace(f"[{host}]" if ":" in host else host, str(usual.hostname), 1)
    return url


def _checked_address(address: str, what: str) -> str:
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise OptionError(
            f"{what} {without_secrets(address)!r}: expected http:// or https://, a host, and a "
            "path such as /v1"
        )
    plain = address.strip().rstrip("/")
    return plain if parts.path.strip("/") or parts.query else f"{plain}/v1"


def without_secrets(address: str) -> str:
    """Return a URL without user, password, query and fragment."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "..."
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def is_local(address: str) -> bool:
    """Whether an address is on this machine."""
    return urlsplit(address).hostname in _LOOPBACK


def read_key(variable: str, file: str | Path | None = None) -> str | None:
    """Return the key, or None when there is none.

    It is in the file, else in the environment variable, else in the file that the variable with
    `_FILE` at its end names. Raises `ModelUnavailableError` if a file cannot be read, or what is
    there cannot be a key.
    """
    key, source = os.environ.get(variable, ""), variable
    if path := file or ("" if key else os.environ.get(f"{variable}_FILE")):
        source = f"the key file {path}"
        try:
            key = Path(path).expanduser().read_text(encoding="utf-8")
        except OSError as error:
            raise ModelUnavailableError(f"{source} cannot be read ({error.strerror})") from error
        except UnicodeDecodeError:
            raise ModelUnavailableError(f"{source} is not a text file") from None
    key = key.strip()
    # A line break or a letter beyond ASCII would make the HTTP library fail with a message that
    # quotes the whole header.
    if key and not _USABLE_KEY.fullmatch(key):
        raise ModelUnavailableError(
            f"{source} does not hold a usable key: expected one line of ASCII letters, digits "
            "and signs"
        )
    return key or None


def all_keys() -> list[str]:
    """List the keys that are set, of whatever provider: none may ever be shown."""
    keys = []
    for provider in providers().values():
        with contextlib.suppress(ModelUnavailableError):
            keys.append(read_key(provider.key) or "")
    # A placeholder such as "none" is no secret, and may be a word of the message.
    return [key for key in keys if len(key) >= _SHORTEST_SECRET]
