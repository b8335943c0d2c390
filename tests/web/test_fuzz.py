"""Whatever is sent, the server has no error of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.web.server import running
from useralign.store import Store
from useralign.web import Settings
from useralign.web.app import create_app

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
KINDS = [
    "choice", "ranking", "equal", "neither", "skip", "remark", "wish", "withdraw", "undo", "stop",
]  # fmt: skip
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
NAMES = st.sampled_from(["c0", "c1", "c2", "c3", 0, 1, 2, 3])
ANSWERS = st.fixed_dictionaries(
    {"step": st.integers(-1, 4) | VALUES},
    optional={
        "kind": st.sampled_from(KINDS) | VALUES,
        "winner": NAMES | VALUES,
        "ranking": st.lists(NAMES | VALUES, max_size=5),
        "text": st.sampled_from(["less hot", "more", "no"]) | VALUES,
        "milliseconds": VALUES,
    },
)


@pytest.mark.parametrize(
    ("examples", "seconds"), [(4, 12), pytest.param(40, 240, marks=pytest.mark.soak)]
)
def test_by_its_own_description(tmp_path: Path, examples: int, seconds: int) -> None:
    tool = Path(sys.executable).with_name("schemathesis")
    if not tool.exists() and shutil.which("schemathesis") is None:
        pytest.skip("needs schemathesis")
    with running(f"sqlite:///{tmp_path / 'fuzz.db'}") as base:
        options = ["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--seed", "1"]
        bounds = ["--max-examples", str(examples), "--max-time", str(seconds), "--no-color"]
        # No model is behind it here; tests/web/test_completions.py has one.
        left_out = ["--exclude-path", "/v1/chat/completions"]
        done = subprocess.run(
            [str(tool), "run", f"{base}/openapi.json", *options, *bounds, *left_out],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=280,
            check=False,
        )
    assert re.search(r"Tested: \d+", done.stdout), done.stdout[-3000:] + done.stderr[-2000:]
    assert done.returncode == 0, done.stdout[-6000:]


@pytest.fixture
def client(light: Store) -> TestClient:
    app = create_app(light, Settings(answers_per_minute=1e9, asks_per_hour=1e9))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture
def pool(client: TestClient) -> str:
    texts = ["plain rice", "a hot curry", "a sweet cake", "cold soup"]
    made = client.post("/api/pools", json={"question": "Which?", "texts": texts})
    return str(made.json()["id"])


@settings(
    max_examples=25,
    deadline=None,
    # Examples are sessions of their own; the application and the pool may be shared.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(bodies=st.lists(ANSWERS, min_size=1, max_size=4), shown=st.integers(2, 4))
def test_answers_of_all_kinds(
    client: TestClient, pool: str, bodies: list[dict[str, Any]], shown: int
) -> None:
    begun = client.post("/api/sessions", json={"pool": pool, "shown": shown, "seed": 0})
    place = f"/api/sessions/{begun.json()['id']}"
    for body in bodies:
        # The client would not send what JSON has no word for, such as NaN.
        headers = {"content-type": "application/json"}
        content = json.dumps(body).encode()
        reply = client.post(f"{place}/answers", content=content, headers=headers)
        assert reply.status_code < 500, (body, reply.text)
    assert client.get(f"{place}/result").status_code == 200
