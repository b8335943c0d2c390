"""The MCP server, with the SDK's own client: over both transports, by both kinds of protocol."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult
from starlette.testclient import TestClient

from tests.servers import Server
from useralign.models.scripted import Scripted
from useralign.store import Store, open_store
from useralign.store.database import sqlite_url
from useralign.web import Settings, mcp
from useralign.web.app import create_app
from useralign.web.identity import LOCAL
from useralign.web.mcp import ENOUGH, NONE, Assistant

QUESTION = "What should I cook for dinner tonight?"
DISHES = [
    "Hot chilli tofu with rice", "Slow beef stew", "A light pea soup", "Spicy peanut noodles",
    "Grilled salmon with lemon", "Mushroom risotto", "Lentil curry with spinach", "Roast chicken",
]  # fmt: skip
ASK = {"question": QUESTION, "candidates": DISHES}
MODES = ["legacy", "auto"]  # forms as requests of the server's, and as replies


class Person:
    """Somebody who fills in forms: the spiciest dish, or what the script says.

    Parameters
    ----------
    *script : str
        An action or a choice per form, and at last the spiciest for ever.
    """

    def __init__(self, *script: str) -> None:
        self.script = list(script)
        self.forms: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        """Fill in a form."""
        assert context is not None
        self.forms.append(params)
        choices = params.requested_schema["properties"]["choice"]["enum"]
        said = self.script.pop(0) if self.script else "spiciest"
        if said in ("decline", "cancel"):
            return ElicitResult(action=said)  # type: ignore[arg-type]
        hot = [c for c in choices if "chilli" in c or "Spicy" in c or "curry" in c]
        return ElicitResult(
            action="accept", content={"choice": said if said in choices else (hot or [NONE])[0]}
        )


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


def data(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, said(result)
    assert result.structured_content is not None
    return dict(result.structured_content)


def over(result: CallToolResult) -> dict[str, Any]:
    """Check that a session is over, and return its data."""
    ending = data(result)
    assert ending["finished"]
    assert ending["answer"] == ending["candidates"][0] in DISHES
    assert ending["why"] in said(result)
    return ending


async def three_people(target: Any, mode: str) -> None:
    """Forms that are filled in, declined and closed, over one connection."""
    person = Person()
    async with Client(target, mode=mode, elicitation_callback=person) as client:
        ending = over(await client.call_tool("personalise", ASK))
        assert ending["finished"] in ("confident", "budget", "bound")
        assert 1 < len(person.forms) <= 5
        for form in person.forms:
            (field,) = form.requested_schema["properties"].values()
            assert field["enum"][-2:] == [NONE, ENOUGH]
            assert 4 <= len(field["enum"]) <= 6
            assert all(choice[3:] in form.message for choice in field["enum"][:-2])

        person.script = [NONE, ENOUGH]
        assert over(await client.call_tool("personalise", ASK))["finished"] == "stopped"

        person.script = ["spiciest", "decline"]
        result = await client.call_tool("personalise", ASK)
        assert "does not want to be asked" in said(result)
        assert over(result)["finished"] == "stopped"

        person.script = ["spiciest", "cancel"]
        begun = data(result := await client.call_tool("personalise", ASK))
        assert "closed the form" in said(result)
        assert (begun["finished"], begun["step"]) == (None, 1)
        ids = {"session": begun["session"], "step": 1, "choice": "enough"}
        assert over(await client.call_tool("choose", ids))["finished"] == "stopped"


async def relayed(target: Any, mode: str) -> None:
    """An assistant shows the screens itself, because its client has no forms."""
    async with Client(target, mode=mode) as client:
        now = data(result := await client.call_tool("personalise", ASK))
        assert "call `choose`" in said(result)
        assert all(text in said(result) for text in now["candidates"])
        first = now["candidates"]
        ids = {"session": now["session"]}
        now = data(await client.call_tool("choose", ids | {"step": 0, "choice": 1}))
        assert (now["step"], now["finished"]) == (1, None)
        again = await client.call_tool("choose", ids | {"step": 0, "choice": "1"})
        assert data(again) == now
        now = data(await client.call_tool("undo", ids | {"step": 1}))
        assert sorted(now["candidates"]) == sorted(first)
        while now["finished"] is None:
            now = data(
                result := await client.call_tool(
                    "choose", ids | {"step": now["step"], "choice": "2"}
                )
            )
        assert over(result) == over(await client.call_tool("result", ids))
        taken = await client.call_tool("choose", ids | {"step": now["step"], "choice": "2"})
        assert over(taken)["answer"] == now["candidates"][1]
        wrong = await client.call_tool("choose", ids | {"step": 0, "choice": "the green one"})
        assert wrong.is_error
        assert "expected 1 to" in said(wrong)


def stdio(folder: Path) -> StdioServerParameters:
    command = ["-m", "useralign.cli", "mcp", "--database", sqlite_url(folder / "stdio.db")]
    return StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))


@pytest.mark.parametrize(("mode", "talk"), [("auto", three_people), ("legacy", relayed)])
def test_on_standard_input_and_output(
    mode: str, talk: Callable[[Any, str], Any], tmp_path: Path
) -> None:
    asyncio.run(talk(stdio(tmp_path), mode))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    database = sqlite_url(tmp_path_factory.mktemp("mcp") / "test.db")
    with Server(database) as started:
        yield started


@pytest.mark.parametrize(
    ("mode", "talk"),
    [
        ("legacy", three_people),
        ("auto", relayed),
        pytest.param("auto", three_people, marks=pytest.mark.soak),
        pytest.param("legacy", relayed, marks=pytest.mark.soak),
    ],
)
def test_over_http(server: Server, mode: str, talk: Callable[[Any, str], Any]) -> None:
    asyncio.run(talk(f"{server.address}/mcp", mode))


@pytest.mark.parametrize("mode", MODES)
def test_nothing_of_one_key_reaches_another(server: Server, mode: str) -> None:
    store = open_store(server.database)
    keys = [store.keys.add(f"{name} {mode}") for name in ("Ada", "Bo")]
    store.close()

    @asynccontextmanager
    async def connected(key: str, person: Person | None = None) -> AsyncIterator[Client]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http:
            transport = streamable_http_client(f"{server.address}/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                yield client

    async def talk() -> None:
        async with connected(keys[0], Person()) as client:
            await client.call_tool("remember", {"allow": True})
            mine = over(await client.call_tool("personalise", ASK))
            over(await client.call_tool("personalise", ASK))
            known = (await client.read_resource("useralign://memory")).contents[0].text  # type: ignore[union-attr]
            assert mine["answer"] in known
            begun = await client.call_tool("begin", ASK)
            assert "Known of the person" in said(begun)
        async with connected(keys[1]) as client:
            memory = (await client.read_resource("useralign://memory")).contents[0].text  # type: ignore[union-attr]
            assert memory.startswith("Nothing is remembered")
            for tool in ("result", "undo", "choose"):
                arguments = {"session": mine["session"], "step": 0, "choice": "1"}
                names = {"result": ["session"], "undo": ["session", "step"]}.get(tool, arguments)
                reply = await client.call_tool(tool, {name: arguments[name] for name in names})
                assert reply.is_error
                assert "no such session" in said(reply)

    asyncio.run(talk())


def test_a_key_is_needed_elsewhere(open_app: FastAPI) -> None:
    with TestClient(open_app, base_url="http://localhost") as client:
        for headers in ({}, {"Authorization": "Bearer ua_wrong"}):
            reply = client.post("/mcp", json={}, headers=headers)
            assert reply.status_code == 401
            assert reply.headers["content-type"] == "application/problem+json"


@pytest.fixture
def quick(light: Store) -> Iterator[Assistant]:
    """The server in this process, with a model that says what it is told to."""
    dishes = iter(range(10_000))
    model = Scripted(lambda _: f"{DISHES[next(dishes) % 8]}, dish {next(dishes)} of the day.")
    app = create_app(light, Settings(generator=lambda _: model, asks_per_hour=5))
    yield Assistant(app.state, LOCAL)
    app.state.pool_jobs.close()


def call(assistant: Assistant, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    async def talk() -> list[CallToolResult]:
        async with Client(assistant.server()) as client:
            return [await client.call_tool(*one) for one in calls]

    return asyncio.run(talk())


def test_a_shipped_question_needs_no_model(quick: Assistant) -> None:
    (result,) = call(quick, ("begin", {"question": QUESTION}))
    assert len(data(result)["candidates"]) > 1


def test_its_descriptions_are_plain_texts(quick: Assistant) -> None:
    async def talk() -> list[str]:
        async with Client(quick.server()) as client:
            return [tool.description or "" for tool in (await client.list_tools()).tools]

    descriptions = asyncio.run(talk())
    assert len(descriptions) == 6
    for description in descriptions:
        assert description == inspect.cleandoc(description) != ""


def test_the_same_candidate_twice_is_one(quick: Assistant) -> None:
    (result,) = call(quick, ("begin", {"question": QUESTION, "candidates": ["a", "b ", " b", "a"]}))
    assert sorted(data(result)["candidates"]) == ["a", "b"]


def test_without_candidates_a_model_writes_them(quick: Assistant) -> None:
    (result,) = call(quick, ("begin", {"question": "What shall the robot cook on Mars?"}))
    assert "of the day" in data(result)["candidates"][0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": " ", "candidates": DISHES}, "question"),
        ({"question": QUESTION, "candidates": []}, "at least one text"),
        ({"question": QUESTION, "candidates": ["a\x00b", "c"]}, "U\\+0000|0000"),
    ],
)
def test_what_cannot_be_used_is_said(
    quick: Assistant, arguments: dict[str, Any], message: str
) -> None:
    (result,) = call(quick, ("begin", arguments))
    assert result.is_error
    assert re.search(message, said(result))


@pytest.mark.parametrize("choice", ["0", "5", "9" * 5000, "²", "-1", ""])
def test_a_number_that_is_none(
    quick: Assistant, choice: str, caplog: pytest.LogCaptureFixture
) -> None:
    (begun,) = call(quick, ("begin", ASK))
    ids = {"session": data(begun)["session"], "step": 0}
    (result,) = call(quick, ("choose", ids | {"choice": choice}))
    assert result.is_error
    assert "expected 1 to 4" in said(result)
    assert not caplog.records


def test_the_database_holds_up_nobody_else(patient: Store) -> None:
    assistant = Assistant(create_app(patient).state, LOCAL)
    allowed, first, second = call(
        assistant, ("remember", {"allow": True}), ("begin", ASK), ("begin", ASK)
    )
    assert not allowed.is_error
    assert data(first)["candidates"]
    assert data(second)["candidates"]


def test_one_call_of_a_person_computes_at_once(
    quick: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (begun,) = call(quick, ("begin", ASK))
    show, running, most = mcp._show, [0], [0]

    def slow(*arguments: Any) -> CallToolResult:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.02)  # so that others have time to come between
        running[0] -= 1
        return show(*arguments)

    monkeypatch.setattr(mcp, "_show", slow)

    async def talk() -> list[CallToolResult]:
        async with Client(quick.server()) as client:
            session = {"session": data(begun)["session"]}
            return await asyncio.gather(*(client.call_tool("result", session) for _ in range(8)))

    results = asyncio.run(talk())
    assert [data(result) for result in results] == [data(begun)] * 8
    assert most == [1]


def test_there_is_a_limit(quick: Assistant) -> None:
    *_, last = call(quick, *[("begin", ASK)] * 6)
    assert last.is_error
    assert "Too many questions" in said(last)


def test_it_is_the_pages_session(light: Store) -> None:
    """What an assistant asks is in the store as what the page asks is: preset and all."""
    app = create_app(light)
    (result,) = call(Assistant(app.state, LOCAL), ("begin", ASK))
    stored = app.state.live.open(data(result)["session"], LOCAL)
    assert stored.page["preset"] == "few"
    assert stored.session.budget == 5
