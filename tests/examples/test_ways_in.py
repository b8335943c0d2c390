"""The examples of other ways in: an assistant's configuration, an application, a bot."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

from mcp import Client, StdioServerParameters

from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.servers import Server
from useralign.store import open_store
from useralign.store.database import sqlite_url

EXAMPLES = Path(__file__).parents[2] / "examples"
DISHES = ["A hot curry.", "A mild soup.", "A sweet pancake.", "A crisp salad."]


def test_an_assistants_configuration(tmp_path: Path) -> None:
    """Its command is started as an assistant does, and serves the tools."""
    text = (EXAMPLES / "mcp.json").read_text("utf-8")
    assert len(text.splitlines()) <= 5
    entry = json.loads(text)["mcpServers"]["useralign"]
    assert entry["command"] == "useralign"
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "useralign.cli", *entry["args"]],
        env={**os.environ, "USERALIGN_DATABASE": sqlite_url(tmp_path / "test.db")},
    )

    async def tools() -> set[str]:
        async with Client(server) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert {"personalise", "begin", "choose", "undo", "result"} <= asyncio.run(tools())


def test_an_application(tmp_path: Path) -> None:
    """The second answer is one like what was taken the first time."""
    service = ScriptedService()
    service.will(*(Reply(chat(text)) for text in DISHES * 2))
    thread = Thread(target=service.serve_forever, args=(0.02,))
    thread.start()
    database = sqlite_url(tmp_path / "test.db")
    environment = {"OPENAI_BASE_URL": service.base_url, "OPENAI_API_KEY": "none"}
    try:
        with Server(database, environment=environment) as server:
            store = open_store(database)
            key = store.keys.add("an example")
            store.close()
            done = subprocess.run(
                [sys.executable, str(EXAMPLES / "endpoint.py")],
                input="What shall I cook?\n0\nAnd tomorrow?\n\n\n",
                env={
                    **os.environ,
                    "OPENAI_BASE_URL": f"{server.address}/v1",
                    "OPENAI_API_KEY": key,
                },
                capture_output=True,
                text=True,
                check=False,
            )
    finally:
        service.shutdown()
        thread.join()
        service.server_close()
    assert done.returncode == 0, done.stderr
    assert len(service.requests) == 8
    first, second = (part.split("\n")[0] for part in done.stdout.split("Model: ")[1:])
    assert first == second, done.stdout  # it was taken, so that it comes again


def test_a_bot() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "bot.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for person in ("Ada", "Bo"):
        assert done.stdout.count(f"to {person}: Yours: ") == 1
