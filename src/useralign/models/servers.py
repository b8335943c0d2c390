"""Servers with models on this machine: looked for at their usual ports, quickly and quietly.

Only the loopback is asked, and whatever address a person names. Nothing here raises, takes longer
than `SECONDS`, follows a redirect, or believes a reply: it is data from whoever listens there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import time
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from useralign.errors import ModelUnavailableError, OptionError
from useralign.models.providers import (
    COMPATIBLE,
    Provider,
    at_address,
    providers,
    read_key,
    without_secrets,
)

VARIABLE = "USERALIGN_SERVERS"
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
    setting = os.environ.get(VARIABLE, "").strip()
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


def _ask(place: Provider, sockets: list[socket.socket]) -> Server | None:
    """Return what is at a place, or None if it is nothing of the kind."""
    try:
        place = replace(place, base_url=at_address(place.url)[0].base_url)
        key = read_key(place.key)
    except (OptionError, ModelUnavailableError) as error:
        return Server(replace(place, base_url=without_secrets(place.base_url)), trouble=str(error))
    # The path of its own says more; the common one is there in every version.
    common = f"{place.base_url}/models"
    own = place.base_url.removesuffix("/v1") + place.models if place.models else common
    for url in dict.fromkeys((own, common)):
        try:
            status, body = _get(url, key, sockets)
            if status in {401, 403}:
                return Server(place, trouble=f"needs a key in {place.key}")
            models = _models(json.loads(body)) if status == 200 else None
        # Whatever listens there may answer with anything.
        except Exception:  # noqa: BLE001
            models = None
        if models is not None:
            return Server(place, models, "" if models else "has no model that writes")
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
