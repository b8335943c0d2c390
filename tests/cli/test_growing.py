"""`useralign ask --grow`, against a real HTTP service that says what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.cli.test_ask import DINNER, PAPER
from tests.commands import run
from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.pooling.conftest import dish
from useralign.cli.saved import Saved

FISH = "likes fish and light broth"


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    server = ScriptedService()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    server.will(*(Reply(chat(dish(f"new {number}"))) for number in range(40)))
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def env(tmp_path: Path, service: ScriptedService) -> dict[str, str]:
    return {
        "USERALIGN_CACHE": str(tmp_path / "cache"),
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": service.base_url,
    }


def test_a_simulated_person_meets_new_answers(env: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    options = (DINNER, "--grow", *PAPER, "--persona", FISH, "--budget", "9", "--save", str(file))
    done = run("ask", *options, **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("4 new answers, near those chosen") == 2
    assert "Made while you compared: 8 answers, $0.00" in done.stdout
    session = Saved(file).read()
    assert (session.cost, len(session.pool)) == (9, 28)
    assert [c.meta["step"] for c in session.pool if c.source == "grown"] == [4] * 4 + [8] * 4
    again = run("ask", "--resume", str(file), "--json", **env)
    assert json.loads(again.stdout)["questions_asked"] == 9


def test_the_same_twice(env: dict[str, str], service: ScriptedService) -> None:
    """What was asked before is in the draft; no call is made again."""
    command = ("ask", DINNER, "--grow", *PAPER, "--persona", FISH, "--budget", "6", "--json")
    first, again = (json.loads(run(*command, **env).stdout) for _ in range(2))
    assert again["transcript"] == first["transcript"]
    assert len(service.requests) == 4


def test_a_service_that_fails(env: dict[str, str], service: ScriptedService) -> None:
    service.will(Reply({"error": {"message": "no such model"}}, 404))
    done = run("ask", DINNER, "--grow", *PAPER, "--persona", FISH, "--budget", "9", **env)
    assert done.returncode == 0, done.stderr
    assert "no new answers:" in done.stdout
    assert "9 questions" in done.stdout


def test_a_person_goes_on_while_the_model_works(
    env: dict[str, str], service: ScriptedService, tmp_path: Path
) -> None:
    slow = [Reply(chat(dish(f"new {number}")), delay=0.5) for number in range(40)]
    service.will(*slow)
    file = tmp_path / "kept.json"
    with Terminal("ask", DINNER, "--grow", *PAPER, "--save", str(file), env=env) as terminal:
        for number in range(5):
            terminal.wait_for("of 20 still" if number else "20 answers,")
            terminal.press("1")
        while "new answers, near those chosen" not in terminal.output:
            terminal.wait_for("you chose")
            terminal.press("1")
        terminal.press("q")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish() == 0
    session = Saved(file).read()
    assert len(session.pool) >= 24
    assert session.stop_reason == "stopped"


def test_leaving_does_not_wait_for_the_model(env: dict[str, str], service: ScriptedService) -> None:
    service.will(Reply(chat(dish("late")), delay=60.0))
    with Terminal("ask", DINNER, "--grow", *PAPER, env=env) as terminal:
        for number in range(5):
            terminal.wait_for("of 20 still" if number else "20 answers,")
            terminal.press("1")
        terminal.press("q")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish(seconds=20) == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--grow", "--pool", "FEATURES", "--persona", FISH], "give embedder="),
        (["--grow", "--pool", "POOL"], "needs --persona"),
    ],
)
def test_what_cannot_grow_is_told_at_once(
    args: list[str], message: str, env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "pool.txt").write_text("soup\nbread\n")
    (tmp_path / "features.csv").write_text("text,f0\nsoup,1\nbread,0\n")
    files = {"POOL": str(tmp_path / "pool.txt"), "FEATURES": str(tmp_path / "features.csv")}
    done = run("ask", *(files.get(arg, arg) for arg in args), **env)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.replace("│", " ").split())
