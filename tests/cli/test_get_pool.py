"""Getting a pool when there is no model for it, or only one that is too small."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import pytest

from useralign.cli import get_pool, keys, screens
from useralign.errors import ModelUnavailableError
from useralign.models import weights
from useralign.models.providers import providers
from useralign.pooling import PoolRequest

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = PoolRequest("Where shall we go?", fresh=True)


@pytest.fixture(autouse=True)
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    for provider in providers().values():
        for name in (provider.key, f"{provider.key}_FILE", provider.address or "X"):
            monkeypatch.delenv(name, raising=False)


def refuse(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Answer no in a terminal; return what was shown, and the error."""
    monkeypatch.setattr(keys, "has_terminal", lambda: True)
    monkeypatch.setattr(keys, "keyboard", contextlib.nullcontext)
    monkeypatch.setattr(keys, "read_key", lambda: "n")
    screen = io.StringIO()
    with pytest.raises(ModelUnavailableError) as caught:
        get_pool.generate(REQUEST, screens.console(file=screen, width=200))
    return screen.getvalue(), str(caught.value)


def test_without_a_model_one_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, error = refuse(monkeypatch)
    assert shown.startswith("There is no model to write the answers. Fetch qwen2.5-coder-1.5b")
    assert "\n  useralign models pull qwen2.5-coder-1.5b\n  ollama serve\n" in error


def test_a_model_that_is_too_small_is_not_taken_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = weights.find("smollm2-135m")
    (tmp_path / "models").mkdir()
    with (tmp_path / "models" / entry.file).open("wb") as file:
        file.truncate(entry.size)
    shown, _ = refuse(monkeypatch)
    assert "smollm2-135m is here, but too small to write usable answers" in shown
    assert "Fetch qwen2.5-coder-1.5b" in shown
    monkeypatch.setattr(keys, "has_terminal", lambda: False)
    with pytest.raises(ModelUnavailableError, match="--model local:smollm2-135m"):
        get_pool.generate(REQUEST, screens.console(file=io.StringIO()))
