"""The chat example, with the real client; `make soak` has a real model answer it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tests.local_server import LocalServer
from tests.models.scripted_service import Reply, ScriptedService, chat

EXAMPLE = Path(__file__).parents[2] / "examples" / "chat.py"


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) < 40


def conversation(base_url: str, key: str) -> str:
    """Ask the example one question, choose, and return what it printed."""
    known = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": key, "MODEL": "smollm2-135m"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        input="What should I have for lunch?\n" + "1\n2\n1\n2\n1\n" + "\n",
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "Which is better" in done.stdout, done.stderr
    return done.stdout


def test_a_conversation() -> None:
    """The real client, and a service on the loopback that says what it is told to."""
    names = ("soup", "rice", "salad", "eggs", "fish", "cheese", "a banana", "last night's curry")
    dishes = [f"Have {name} for lunch." for name in names]
    service = ScriptedService()
    thread = Thread(target=service.serve_forever, args=(0.02,))
    thread.start()
    service.will(*(Reply(chat(text)) for text in dishes))
    try:
        output = conversation(service.base_url, "none")
    finally:
        service.shutdown()
        thread.join()
        service.server_close()
    assert len(service.requests) == 8
    assert any(f"Model: {text}\n" in output for text in dishes)


@pytest.mark.soak
def test_a_conversation_with_a_real_model() -> None:
    with LocalServer("smollm2-135m", parallel=2) as server:
        assert "Model: " in conversation(server.base_url, server.key)
