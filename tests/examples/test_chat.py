"""The chat example, with the real client against a real model on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local_server import LocalServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "chat.py"


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) < 40


@pytest.mark.timeout(200)
def test_a_conversation() -> None:
    with LocalServer("smollm2-135m", parallel=2) as server:
        known = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": server.key,
            "MODEL": "smollm2-135m",
        }
        said = "What should I have for lunch?\n" + "1\n2\n" * 5 + "\n"
        done = subprocess.run(
            [sys.executable, str(EXAMPLE)],
            input=said,
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    assert "Which is better" in done.stdout, done.stderr
    assert "Model: " in done.stdout
