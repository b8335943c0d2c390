"""Who serves models: services and servers, with their addresses, keys and prices.

`providers.toml` is the table of them, `prices.toml` that of prices. Servers on this machine are
looked for at their usual ports, quickly and quietly: only the loopback is asked, and whatever
address a person names. `find_servers` and `ask_server` never raise, take longer than `SECONDS`,
follow a redirect, or believe a reply: it is data from whoever listens there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import time
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from useralign.errors import FileFormatError, ModelUnavailableError, OptionError

_USABLE_KEY = re.compile(r"[\x21-\x7e]+")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - what a server listens on, which nobody can call
COMPATIBLE = "compatible"
_SHORTEST_SECRET = 8

PRICES_VARIABLE = "USERALIGN_PRICES"
_DATE = re.compile(r"-\d{4}(-?\d{2}){0,2}$")

SERVERS_VARIABLE = "USERALIGN_SERVERS"
OFF = "off"
SECONDS = 0.4
_FRESH_SECONDS = 5.0
_MOST_BYTES = 1 << 20
_MOST_MODELS = 100
_LONGEST_NAME = 200
_BILLION = 1e9
# A GGUF of four bits to a weight, the usual kind, has about this many bytes to a parameter.
_BYTES_PER_PARAMETER = 0.6
_COUNT = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])", re.IGNORECASE)
_NO_WRITER = re.compile(r"embed|rerank|whisper|\btts\b|bert|\bclip\b", re.IGNORECASE)


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


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and per picture where pictures have a price of their own."""

    input: float = 0.0
    output: float = 0.0
    image: float = 0.0

    def of(self, input_tokens: int, output_tokens: int, images: int = 0) -> float:
        """Return the cost of a call in US dollars."""
        tokens = self.input * input_tokens + self.output * output_tokens
        return tokens / 1e6 + self.image * images


def find_price(model: str) -> Price | None:
    """Return a model's price; a dated version has that of its undated name.

    The prices in the file that `USERALIGN_PRICES` names go before those of this package. Raises
    `FileFormatError` if that cannot be read as prices.
    """
    prices = _read_prices(Path(__file__).with_name("prices.toml"))
    if path := os.environ.get(PRICES_VARIABLE):
        prices |= _read_prices(Path(path))
    return prices.get(model) or prices.get(_DATE.sub("", model))


def _read_prices(path: Path) -> dict[str, Price]:
    try:
        tables = tomllib.loads(path.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(f"{path}: prices cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is not TOML ({error})") from error
    prices = {}
    for model, fields in tables.items():
        try:
            prices[model] = Price(**{name: float(value) for name, value in fields.items()})
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{path}: the price of {model!r} is {fields!r}; expected input, output or image "
                "with a number each, in US dollars per million tokens (image: per picture)"
            ) from error
    return prices


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server offers, as the server calls it."""

    name: str
    parameters: float | None = None  # where that is known
    loaded: bool = False  # whether it is in memory already


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered."""

    provider: Provider  # with the address it was found at
    models: tuple[ServedModel, ...] = ()
    trouble: str = ""  # why there are no models: a key is missing, or none has been pulled

    @property
    def where(self) -> str:
        """Its address, as host and port."""
        return urlsplit(self.provider.base_url).netloc.rpartition("@")[2]

    def name_of(self, model: ServedModel) -> str:
        """Return the name by which `generator_for` knows a model of it."""
        if self.provider.name == COMPATIBLE:
            return f"{self.provider.base_url}#{model.name}"
        return f"{self.provider.name}:{model.name}"


_lock = threading.Lock()
_last: tuple[float, tuple[Provider, ...], list[Server]] | None = None


def find_servers() -> list[Server]:
    """Return the servers that answer, in the order of `providers.toml`; remembered for seconds.

    `USERALIGN_SERVERS=off` looks nowhere; addresses in it, with commas between them, are looked at
    instead of the usual ones.
    """
    global _last  # noqa: PLW0603
    places = _places()
    # One looks, and the others wait for what it finds.
    with _lock:
        if _last and _last[1] == places and time.monotonic() - _last[0] < _FRESH_SECONDS:
            return _last[2]
        servers = _look(places) if places else []
        _last = (time.monotonic(), places, servers)
        return servers


def ask_server(provider: Provider) -> Server | None:
    """Return what is at a provider's address, or None if nothing answers there; asked anew."""
    answers = _look((provider,))
    return answers[0] if answers else None


def _places() -> tuple[Provider, ...]:
    setting = os.environ.get(SERVERS_VARIABLE, "").strip()
    if setting.lower() == OFF:
        return ()
    if setting:
        other = providers()[COMPATIBLE]
        addresses = [address.strip() for address in setting.split(",") if address.strip()]
        return tuple(replace(other, base_url=address) for address in addresses)
    return tuple(provider for provider in providers().values() if provider.is_server)


def _look(places: tuple[Provider, ...]) -> list[Server]:
    """Ask all of them at once, in threads that are left behind if they take too long."""
    answers: list[Server | None] = [None] * len(places)
    sockets: list[socket.socket] = []

    def ask(index: int) -> None:
        answers[index] = _ask(places[index], sockets)

    threads = [threading.Thread(target=ask, args=[n], daemon=True) for n in range(len(places))]
    end = time.monotonic() + SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0.0))
    for open_socket in sockets:
        with contextlib.suppress(OSError):  # it is closed already
            open_socket.shutdown(socket.SHUT_RDWR)
    return [server for server in answers if server is not None]


def _ask(provider: Provider, sockets: list[socket.socket]) -> Server | None:
    """Return the server of a provider as it answers, or None if nothing of the kind does."""
    try:
        provider = replace(provider, base_url=at_address(provider.url)[0].base_url)
        key = read_key(provider.key)
    except (OptionError, ModelUnavailableError) as error:
        return Server(
            replace(provider, base_url=without_secrets(provider.base_url)), trouble=str(error)
        )
    # The path of its own says more; the common one is there in every version.
    common = f"{provider.base_url}/models"
    own = provider.base_url.removesuffix("/v1") + provider.models if provider.models else common
    for url in dict.fromkeys((own, common)):
        try:
            status, body = _get(url, key, sockets)
            if status in {401, 403}:
                return Server(provider, trouble=f"needs a key in {provider.key}")
            models = _models(json.loads(body)) if status == 200 else None
        # Whatever listens there may answer with anything.
        except Exception:  # noqa: BLE001
            models = None
        if models is not None:
            return Server(provider, models, "" if models else "has no model that writes")
    return None


def _get(url: str, key: str | None, sockets: list[socket.socket]) -> tuple[int, bytes]:
    """Make one request; return the status and the body."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(str(parts.hostname), parts.port, timeout=SECONDS)
    secret = {"Authorization": f"Bearer {key}"} if key else {}
    with contextlib.closing(connection):
        connection.connect()
        sockets.append(connection.sock)
        connection.request("GET", parts.path, headers={"Accept": "application/json", **secret})
        response = connection.getresponse()
        body = response.read(_MOST_BYTES)
        if response.length:
            raise ValueError("cut short, or too long")
        return response.status, body


def _models(data: Any) -> tuple[ServedModel, ...] | None:
    """Read a list of models as OpenAI or Ollama write it; None if it is something else."""
    match data:
        case {"object": "list", "data": list(items)} | {"models": list(items)}:
            models = [_model(item) for item in items[:_MOST_MODELS] if isinstance(item, dict)]
            return tuple(sorted(filter(None, models), key=lambda model: not model.loaded))
    return None


def _model(item: dict[str, Any]) -> ServedModel | None:
    name = item.get("id", item.get("name"))
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        return None
    details, meta, status = (
        value if isinstance(value := item.get(key), dict) else {}
        for key in ("details", "meta", "status")
    )
    if _NO_WRITER.search(f"{name} {details.get('family')} {item.get('type')}"):
        return None
    count = meta.get("n_params")
    if not isinstance(count, int | float):
        count = parameter_count(str(details.get("parameter_size")))
        count = count or parameter_count(name, item.get("size"))
    # A llama.cpp that serves several models has a status, LM Studio's have a state.
    state = status.get("value", item.get("state"))
    return ServedModel(name, count, state == "loaded")


def parameter_count(name: str, size: object = None) -> float | None:
    """Return how many parameters a model has, by its name or else by the bytes of its file.

    Of "8x7b" and "30b-a3b" the first number counts.
    """
    if match := _COUNT.search(name):
        count, unit = match.groups()
        return float(count) * (_BILLION if unit in "bB" else _BILLION / 1000)
    if isinstance(size, int) and size > 0:
        return size / _BYTES_PER_PARAMETER
    return None
