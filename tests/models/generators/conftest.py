"""What the tests of generators share: real weights, a key, and a scripted service."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.models.generators.scripted_service import ScriptedService
from useralign.models import weights

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-test-4f9a1c77e0b24d5c9a6e"


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
