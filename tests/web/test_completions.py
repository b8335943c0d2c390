"""The endpoint in OpenAI's format, with the real client against a model server on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator
from threading import Thread
from typing import Any
from urllib.parse import quote

import httpx2
import openai
import pytest
from fastapi import FastAPI
from sqlalchemy import func, select
from starlette.testclient import TestClient

from tests.local_server import LocalServer
from tests.models.scripted_service import Reply, ScriptedService, chat, chats
from tests.servers import Server
from useralign.memory.from_store import memory_for
from useralign.models import weights
from useralign.models.scripted import Scripted
from useralign.store import Store, open_store
from useralign.store.database import sqlite_url
from useralign.store.schema import persons, pools, sessions
from useralign.web import Settings
from useralign.web.app import create_app
from useralign.web.completions import UNANSWERED

KEY = "sk-upstream-secret-key"
HOT = ["Spicy chilli noodles.", "Hot spicy curry.", "Chilli tofu, very spicy.", "Spicy beef."]
MILD = ["Mild butter soup.", "Plain rice with butter.", "Mild milk pudding.", "Soft white bread."]


class Kitchen(ScriptedService):
    """A model server that writes dish after dish, mild and hot in turn."""

    def next_reply(self) -> Reply:
        if self.replies:
            return super().next_reply()
        number, count = len(self.requests), self.requests[-1].get("n") or 1
        texts = [(MILD, HOT)[k % 2][k // 2 % 4] for k in range(number, number + count)]
        return Reply(chats(*(f"{text} Number {number}." for text in texts)))


@pytest.fixture(scope="module")
def kitchen() -> Iterator[Kitchen]:
    service = Kitchen()
    thread = Thread(target=service.serve_forever, args=(0.02,))
    thread.start()
    yield service
    service.shutdown()
    thread.join()
    service.server_close()


@pytest.fixture(scope="module")
def server(kitchen: Kitchen, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    database = sqlite_url(tmp_path_factory.mktemp("v1") / "test.db")
    environment = {"OPENAI_BASE_URL": kitchen.base_url, "OPENAI_API_KEY": KEY}
    with Server(database, environment=environment) as started:
        yield started


@pytest.fixture
def client(server: Server, kitchen: Kitchen) -> Iterator[openai.OpenAI]:
    kitchen.will()
    kitchen.requests.clear()
    key = _key(server, f"application {id(object())}")
    with openai.OpenAI(base_url=f"{server.address}/v1", api_key=key, max_retries=0) as opened:
        yield opened


def _key(server: Server, name: str) -> str:
    store = open_store(server.database)
    try:
        store.keys.remove(name)
        return store.keys.add(name)
    finally:
        store.close()


def ask(client: openai.OpenAI, user: str | None = None, **options: Any) -> Any:
    create: Any = client.chat.completions.create
    named = {} if user is None else {"user": user}
    messages = [{"role": "user", "content": "What should I cook?"}]
    return create(model="gpt-4o-mini", messages=messages, **named, **options)


def feedback(client: openai.OpenAI, reply: Any, user: str, choice: int | None, **more: Any) -> Any:
    body = {"user": user, "session": reply.useralign["session"], "choice": choice} | more
    return client.post("/feedback", cast_to=object, body=body)


def hot_one(reply: Any) -> int:
    return next(int(o["index"]) for o in reply.useralign["alternatives"] if "picy" in o["content"])


def test_an_application_changes_its_base_url(client: openai.OpenAI, kitchen: Kitchen) -> None:
    reply = ask(client, temperature=0.9, top_p=0.5, metadata={"a": "b"})
    (request,) = kitchen.requests
    assert (request["model"], request["n"]) == ("gpt-4o-mini", 4)  # the prompt is paid for once
    assert (request["temperature"], request["top_p"]) == (0.9, 0.5)
    assert request["metadata"] == {"a": "b"}
    assert "useralign" not in request
    assert kitchen.keys[-1] == f"Bearer {KEY}"
    alternatives = [one["content"] for one in reply.useralign["alternatives"]]
    assert len(alternatives) == 4
    assert reply.choices[0].message.content == alternatives[0]
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (10, 4)
    assert reply.model == "gpt-4o-2024-08-06"
    assert reply.useralign["session"] is None  # nobody was named, so nothing is stored


def test_what_somebody_took_decides_what_they_get(client: openai.OpenAI) -> None:
    for _ in range(3):
        reply = ask(client, "ada")
        assert feedback(client, reply, "ada", hot_one(reply))["remembered"]
    reply = ask(client, "ada")
    assert reply.useralign["by"] == "you"
    assert "picy" in reply.choices[0].message.content
    stranger = ask(client, "bo")
    assert (stranger.useralign["by"], stranger.useralign["choice"]) == ("first", 0)


def test_feedback_is_taken_once(client: openai.OpenAI) -> None:
    reply = ask(client, "ada")
    first = feedback(client, reply, "ada", 1)
    assert feedback(client, reply, "ada", 1) == first
    with pytest.raises(openai.ConflictError, match="answered already"):
        feedback(client, reply, "ada", 2)
    for choice in (4, -1):
        with pytest.raises(openai.UnprocessableEntityError, match="expected 0 to 3"):
            feedback(client, ask(client, "ada"), "ada", choice)
    assert feedback(client, ask(client, "ada"), "ada", None, remember=False)["remembered"] is False
    assert ask(client, "ada").useralign["by"] == "first"


def test_nothing_of_one_person_reaches_another(server: Server, client: openai.OpenAI) -> None:
    reply = ask(client, "ada")
    with pytest.raises(openai.NotFoundError, match="no such session"):
        feedback(client, reply, "bo", 1)
    key = _key(server, "another application")
    with (
        openai.OpenAI(base_url=f"{server.address}/v1", api_key=key) as other,
        pytest.raises(openai.NotFoundError, match="no such session"),
    ):
        feedback(other, reply, "ada", 1)
    feedback(client, reply, "ada", hot_one(reply))
    with openai.OpenAI(base_url=f"{server.address}/v1", api_key=key) as other:
        assert ask(other, "ada").useralign["by"] == "first"


@pytest.mark.parametrize("name", ["cy", "staff/cy", "cy@example.org?"])
def test_somebody_is_forgotten(server: Server, client: openai.OpenAI, name: str) -> None:
    reply = ask(client, name)
    feedback(client, reply, name, 0)
    assert ask(client, name).useralign["by"] == "you"
    client.delete(f"/people/{quote(name, safe='')}", cast_to=object)
    with pytest.raises(openai.NotFoundError):
        feedback(client, reply, name, 0)
    assert ask(client, name).useralign["by"] == "first"
    store = open_store(server.database)
    with store.reading() as connection:
        ids = connection.execute(select(persons.c.id)).scalars().all()
    store.close()
    assert ids
    assert all(re.fullmatch(r"[0-9a-f]{32,}", one) for one in ids)  # keyed hashes, and no names


@pytest.mark.parametrize("counted", [True, False])
def test_the_chosen_answer_is_streamed(client: openai.OpenAI, counted: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if counted else {}
    chunks = list(ask(client, "ada", stream=True, seed=1, **options))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    end = next(c for c in chunks if c.choices and c.choices[0].finish_reason)
    assert end.choices[0].finish_reason == "stop"
    chosen = end.useralign["alternatives"][end.useralign["choice"]]
    assert text == chosen["content"]
    assert feedback(client, end, "ada", 0)["remembered"]
    totals = [c.usage.total_tokens for c in chunks if c.usage]
    assert totals == ([56] if counted else [])


def test_a_stranger_reads_while_it_is_written(
    client: openai.OpenAI, kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first words come before the end of the first answer; the alternatives after it."""
    slow = Reply(chat("Words that go on for much longer than a single chunk of a stream has room."))
    slow.gate.clear()
    usual = kitchen.next_reply
    monkeypatch.setattr(
        kitchen, "next_reply", lambda: slow if kitchen.requests[-1].get("stream") else usual()
    )
    stream = ask(client, "dee", stream=True, stream_options={"include_usage": True})
    chunks = [next(stream), next(stream)]
    assert chunks[1].choices[0].delta.content == "Words that go on for much longer than a single c"
    slow.gate.set()
    chunks += stream
    (end,) = (c for c in chunks if c.choices and c.choices[0].finish_reason)
    assert (end.useralign["choice"], end.useralign["by"]) == (0, "first")
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert end.useralign["alternatives"][0] == {"index": 0, "content": text}
    assert chunks[-1].usage.total_tokens == 2 * 14
    assert feedback(client, end, "dee", 0)["remembered"]
    assert ask(client, "dee").useralign["by"] == "you"


def test_a_stream_that_breaks_off(client: openai.OpenAI, kitchen: Kitchen) -> None:
    kitchen.will(Reply(chat("x" * 500), cut=True))
    with pytest.raises(openai.APIError, match="broke off"):
        list(ask(client, "ada", stream=True))


def test_alike_answers_are_not_paid_for(client: openai.OpenAI, kitchen: Kitchen) -> None:
    ask(client, "eve", temperature=0)
    # What was under way when a stream broke off may still come in for somebody else.
    assert [request["user"] for request in kitchen.requests].count("eve") == 1


@pytest.mark.parametrize("usual", [{"response_format": {"type": "text"}}, {"modalities": ["text"]}])
def test_asking_for_text_is_asking_for_nothing_else(
    client: openai.OpenAI, usual: dict[str, Any]
) -> None:
    assert len(ask(client, "ada", **usual).useralign["alternatives"]) == 4


def test_an_empty_name_is_nobodys(client: openai.OpenAI) -> None:
    assert ask(client, "").useralign["session"] is None


def test_several_answers_are_the_callers_own(client: openai.OpenAI, kitchen: Kitchen) -> None:
    kitchen.will(Reply(chats("Soup.", "Rice.")))
    assert len(ask(client, "ada", n=2).choices) == 2
    chunks = list(ask(client, "ada", n=2, stream=True))
    assert {c.choices[0].index for c in chunks} == {0, 1}
    assert [request["n"] for request in kitchen.requests] == [2, 2]


def test_pictures_are_passed_on(client: openai.OpenAI, kitchen: Kitchen) -> None:
    picture = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "A" * 6 * 2**20},
    }
    create: Any = client.chat.completions.create
    create(model="m", messages=[{"role": "user", "content": [picture]}])
    assert kitchen.requests[0]["messages"][0]["content"] == [picture]


TOOL = {"id": "1", "type": "function", "function": {"name": "cook", "arguments": "{}"}}


@pytest.mark.parametrize("stream", [True, False])
def test_what_has_no_alternatives_is_passed_on(
    client: openai.OpenAI, kitchen: Kitchen, stream: bool
) -> None:
    kitchen.will(Reply(chat(None, message={"tool_calls": [TOOL]}, finish="tool_calls")))
    tool = {"type": "function", "function": {"name": "cook", "parameters": {"type": "object"}}}
    reply = ask(client, "ada", tools=[tool], stream=stream)
    assert len(kitchen.requests) == 1
    if stream:
        calls = [call for c in reply for call in c.choices[0].delta.tool_calls or ()]
    else:
        calls = reply.choices[0].message.tool_calls
        assert not hasattr(reply, "useralign")
    assert [call.function.name for call in calls] == ["cook"]


REFUSAL = Reply({"error": {"message": "n must be 1"}}, 400)


@pytest.mark.parametrize("first", [REFUSAL, None], ids=["refused", "passed over"])
def test_a_model_that_writes_one_at_a_time(
    client: openai.OpenAI, kitchen: Kitchen, first: Reply | None
) -> None:
    """It is asked as often as there are candidates, and from then on at once."""
    name: Any = {"model": f"single {first is None}"}
    replies = [Reply(chat(text)) for text in HOT]
    kitchen.will(*([first] if first else []), *replies)
    messages = [{"role": "user", "content": "What should I cook?"}]
    create: Any = client.chat.completions.create
    reply = create(**name, messages=messages)
    assert sorted(one["content"] for one in reply.useralign["alternatives"]) == sorted(HOT)
    assert [request.get("n") for request in kitchen.requests][:1] == [4]
    kitchen.requests.clear()
    create(**name, messages=messages)
    assert [request.get("n") for request in kitchen.requests] == [None] * 4


def test_what_is_wrong_is_not_taken_for_that(client: openai.OpenAI, kitchen: Kitchen) -> None:
    kitchen.will(Reply({"error": {"message": "the oven is cold"}}, 400))
    with pytest.raises(openai.BadRequestError, match="oven"):
        ask(client, "ada")
    kitchen.will()
    ask(client, "ada")
    assert kitchen.requests[-1]["n"] == 4


def test_as_many_candidates_as_asked_for(client: openai.OpenAI, kitchen: Kitchen) -> None:
    reply = ask(client, "ada", seed=7, extra_body={"useralign": {"candidates": 2}})
    assert sorted(request["seed"] for request in kitchen.requests) == [7, 8]
    assert len(reply.useralign["alternatives"]) == 2
    with pytest.raises(openai.UnprocessableEntityError, match="less than or equal to 9"):
        ask(client, extra_body={"useralign": {"candidates": 10}})


def test_the_same_answer_is_one_alternative(client: openai.OpenAI, kitchen: Kitchen) -> None:
    kitchen.will(Reply(chat("Soup.")))
    reply = ask(client, "ada")
    assert reply.useralign["alternatives"] == [{"index": 0, "content": "Soup."}]
    assert reply.useralign["session"] is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, openai.BadRequestError), (401, openai.AuthenticationError),
     (404, openai.NotFoundError), (429, openai.RateLimitError), (500, openai.InternalServerError)],
)  # fmt: skip
@pytest.mark.parametrize("stream", [True, False])
def test_errors_are_passed_on_as_they_are(
    client: openai.OpenAI, kitchen: Kitchen, status: int, kind: type[Exception], stream: bool
) -> None:
    body = {"error": {"message": "the oven is cold", "type": "oven", "param": "p", "code": "c"}}
    kitchen.will(Reply(body, status, headers={"Retry-After": "7"}))
    with pytest.raises(kind) as raised:
        ask(client, "ada", stream=stream, seed=1)
    error: Any = raised.value
    assert error.response.json() == body
    assert error.response.headers["retry-after"] == "7"
    assert len(kitchen.requests) == 4  # each once: whoever called decides on another try


def test_an_error_does_not_show_our_key(client: openai.OpenAI, kitchen: Kitchen) -> None:
    kitchen.will(Reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401))
    with pytest.raises(openai.AuthenticationError) as raised:
        ask(client, "ada")
    assert KEY not in raised.value.response.text
    assert "[hidden]" in raised.value.response.text


def test_one_that_fails_is_left_out(client: openai.OpenAI, kitchen: Kitchen) -> None:
    kitchen.will(Reply({}, 500), Reply(chat("Soup.")), Reply(chat("Rice.")))
    reply = ask(client, "ada", seed=1)
    assert sorted(o["content"] for o in reply.useralign["alternatives"]) == ["Rice.", "Soup."]


@pytest.mark.parametrize(
    "reply", [Reply({}), Reply({"choices": [None]}), Reply(b"<html>"), Reply(chat(), cut=True)]
)
def test_a_model_that_answers_garbage(
    client: openai.OpenAI, kitchen: Kitchen, reply: Reply
) -> None:
    kitchen.will(reply)
    with pytest.raises(openai.InternalServerError) as raised:
        ask(client, "ada")
    assert raised.value.status_code in (502, 503)
    message = raised.value.response.json()["error"]["message"]
    assert message
    assert "Http" not in message  # addresses stay as they are written


def test_hostile_texts_are_returned_and_stored(client: openai.OpenAI, kitchen: Kitchen) -> None:
    texts = ["<script>alert(1)</script>", "a\x00b", "half \ud800 a character", "x" * 60_000]
    kitchen.will(*(Reply(chat(text)) for text in texts))
    reply = ask(client, "ada", seed=1)
    assert len(reply.useralign["alternatives"]) == 4
    assert feedback(client, reply, "ada", 3)["remembered"]


@pytest.mark.parametrize("value", ['"\\ud800"', '{"\\ud800": 1}', "NaN", "[-Infinity]", "1e400"])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_what_cannot_be_sent_is_not_passed_on(
    server: Server, kitchen: Kitchen, stream: str, value: str
) -> None:
    kitchen.requests.clear()
    message = f'{{"role": "user", "content": {value}}}'
    for field in (f'"messages": [{message}]', f'"messages": [{{"role": "user"}}], "stop": {value}'):
        headers = {"content-type": "application/json"}
        body = f'{{{field}, "stream": {stream}}}'
        reply = httpx2.post(f"{server.address}/v1/chat/completions", content=body, headers=headers)
        assert reply.status_code == 422
        assert "must not contain" in reply.json()["error"]["message"]
    assert not kitchen.requests


def test_what_is_nested_too_deeply_is_refused(server: Server) -> None:
    """Between what the reader of JSON takes and what its writer does lie some depths."""
    for depth in range(880, 1000, 5):
        content = "[" * depth + "]" * depth
        body = f'{{"messages": [{{"role": "user", "content": {content}}}]}}'
        headers = {"content-type": "application/json"}
        reply = httpx2.post(f"{server.address}/v1/chat/completions", content=body, headers=headers)
        assert reply.status_code < 500


def test_on_this_machine_the_applications_own_key_will_do(server: Server) -> None:
    for key, status in (("sk-of-the-application", 200), ("ua_wrong", 401)):
        with openai.OpenAI(base_url=f"{server.address}/v1", api_key=key, max_retries=0) as client:
            if status == 200:
                assert client.models.list().data
            else:
                with pytest.raises(openai.AuthenticationError):
                    client.models.list()


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert "openai" in [model.id for model in client.models.list()]


def test_a_name_in_a_request_opens_no_address(client: openai.OpenAI, kitchen: Kitchen) -> None:
    messages: Any = [{"role": "user", "content": "Hello"}]
    client.chat.completions.create(model="http://127.0.0.1:9/v1#x", messages=messages)
    assert {request["model"] for request in kitchen.requests} == {"http://127.0.0.1:9/v1#x"}
    client.chat.completions.create(model="openai", messages=messages)
    assert kitchen.requests[-1]["model"] == "gpt-4o"


def test_fifty_people_at_once(server: Server, kitchen: Kitchen) -> None:
    """Each asks, takes their own taste, and asks again; nothing gets mixed up."""
    kitchen.will()
    key = _key(server, "fifty")

    async def person(client: openai.AsyncOpenAI, number: int) -> tuple[str, str]:
        async def request() -> Any:
            return await client.chat.completions.create(
                model="m",
                user=f"person {number}",
                messages=[{"role": "user", "content": f"Secret {number:03d}"}],
            )

        first = await request()
        texts = [o["content"] for o in first.useralign["alternatives"]]
        wants = "picy" if number % 2 else "utter"
        choice = next((k for k, text in enumerate(texts) if wants in text), 0)
        body = {"user": f"person {number}", "session": first.useralign["session"]}
        await client.post("/feedback", cast_to=object, body=body | {"choice": choice})
        return texts[choice], (await request()).useralign["session"]

    async def everybody() -> list[tuple[str, str]]:
        address = f"{server.address}/v1"
        async with openai.AsyncOpenAI(base_url=address, api_key=key, max_retries=0) as client:
            return await asyncio.gather(*(person(client, number) for number in range(50)))

    outcomes = asyncio.run(everybody())
    assert len({session for _, session in outcomes}) == 50
    store = open_store(server.database)
    with store.reading() as connection:
        rows = connection.execute(
            select(sessions.c.owner, pools.c.id, pools.c.question, sessions.c.settings)
            .join(pools, pools.c.id == sessions.c.pool_id)
            .where(pools.c.question.like("Secret %"))
        ).all()
    assert len(rows) == 100
    owner_of = {row.question: row.owner for row in rows}
    assert len(set(owner_of.values())) == 50
    priors = 0
    for row in rows:
        assert row.owner == owner_of[row.question]
        if (prior := row.settings["options"].get("prior")) is not None:
            own = memory_for(store, row.owner, store.pools.get(row.id, row.owner), others=False)
            assert own is not None
            assert prior == own.to_dict()
            priors += 1
    store.close()
    assert priors == 50


@pytest.fixture(scope="module", params=["behind a server", "in the process"])
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[openai.OpenAI]:
    """The endpoint before real weights: of a llama.cpp server, and of its own."""
    weights.ensure("smollm2-135m")
    path = weights.path_of("smollm2-135m")
    database = sqlite_url(tmp_path_factory.mktemp("real") / "test.db")
    with contextlib.ExitStack() as stack:
        options, environment = ["--upstream", f"local:{path}"], {}
        if request.param == "behind a server":
            behind = stack.enter_context(LocalServer("smollm2-135m", context=1024, parallel=4))
            environment = {"OPENAI_BASE_URL": behind.base_url, "OPENAI_API_KEY": behind.key}
            options = ["--upstream", "openai:smollm2-135m"]
        server = stack.enter_context(Server(database, options, environment))
        address = f"{server.address}/v1"
        yield stack.enter_context(openai.OpenAI(base_url=address, api_key="k", max_retries=0))


def test_before_a_real_model(real: openai.OpenAI) -> None:
    """What an application notices that changes its base URL: one field more."""
    short: dict[str, Any] = {"max_tokens": 12, "seed": 5, "temperature": 1.2}
    first, again = (ask(real, "ada", **short) for _ in range(2))
    texts = [one["content"] for one in first.useralign["alternatives"]]
    assert len(texts) > 1
    assert first.choices[0].message.content == texts[0]
    assert texts == [one["content"] for one in again.useralign["alternatives"]]  # the seed's doing
    assert first.usage.completion_tokens > 12
    at_once = ask(real, "cy", max_tokens=12, temperature=1.2)
    assert len(at_once.useralign["alternatives"]) > 1
    assert at_once.usage.prompt_tokens < first.usage.prompt_tokens  # one prompt for all
    feedback(real, first, "ada", 1)
    streamed = list(ask(real, "bo", stream=True, **short))
    text = "".join(c.choices[0].delta.content or "" for c in streamed if c.choices)
    assert text == texts[0]
    assert len(streamed) > 3
    known = list(ask(real, "ada", stream=True, **short))
    end = next(c for c in known if c.choices and c.choices[0].finish_reason)
    assert (end.useralign["by"], end.useralign["choice"]) == ("you", 1)
    # Few values are allowed, so that whatever the weights write is short enough to be whole.
    schema = {
        "type": "object",
        "properties": {"dish": {"enum": ["soup", "curry"]}},
        "required": ["dish"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "dish", "schema": schema}}
    made = ask(real, "ada", response_format=form, max_tokens=60)
    assert json.loads(made.choices[0].message.content)["dish"] in {"soup", "curry"}
    assert len(ask(real, n=2, max_tokens=4).choices) == 2
    cut = ask(real, stop=["e"], max_tokens=12, temperature=0)
    assert "e" not in cut.choices[0].message.content
    for stream in (True, False):
        with pytest.raises(openai.BadRequestError, match="temperature"):
            ask(real, temperature="hot", stream=stream)


@pytest.fixture
def scripted(light: Store) -> Iterator[tuple[TestClient, Scripted, Store]]:
    """The endpoint over a model that speaks no HTTP, as one on this machine."""
    model = Scripted([*HOT, *MILD])
    app = create_app(light, Settings(generator=lambda _: model))
    with TestClient(app, base_url="http://localhost") as client:
        yield client, model, light


def test_a_model_on_this_machine(scripted: tuple[TestClient, Scripted, Store]) -> None:
    client, model, _ = scripted
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": [{"type": "text", "text": "What shall I cook?"}]},
    ]
    body = {"messages": messages, "max_tokens": 20, "temperature": 0.3, "user": "ada"}
    reply = client.post("/v1/chat/completions", json=body).json()
    assert [one["content"] for one in reply["useralign"]["alternatives"]] == HOT
    request: Any = model.requests[0]
    assert (request.prompt, request.system) == ("What shall I cook?", "Be brief.")
    assert request.examples == (("Hello", "Hello!"),)
    assert (request.max_tokens, request.temperature) == (20, 0.3)
    wrong = client.post("/v1/chat/completions", json=body | {"max_tokens": "many"})
    assert wrong.status_code == 422
    assert "must be numbers" in wrong.json()["error"]["message"]


def test_what_gets_no_feedback_does_not_pile_up(
    scripted: tuple[TestClient, Scripted, Store],
) -> None:
    client, _, store = scripted
    body = {"messages": [{"role": "user", "content": "Hm?"}], "user": "ada"}
    replies = []
    for number in range(UNANSWERED + 4):
        body["messages"] = [{"role": "user", "content": f"Question {number}"}]
        replies.append(client.post("/v1/chat/completions", json=body).json()["useralign"])
        if number == 0:
            told = {"user": "ada", "session": replies[0]["session"], "choice": 0}
            assert client.post("/v1/feedback", json=told).status_code == 200
    with store.reading() as connection:
        for table in (sessions, pools):
            count = connection.execute(select(func.count()).select_from(table)).scalar()
            assert count == UNANSWERED + 1
    assert client.post("/v1/feedback", json=told).status_code == 200


def test_who_names_nobody_is_not_held_up(light: Store) -> None:
    """An application that names nobody is not taken for one person in a hurry."""
    model = Scripted(HOT)
    settings = Settings(generator=lambda _: model, answers_at_once=2, answers_per_minute=0.001)
    with TestClient(create_app(light, settings), base_url="http://localhost") as client:
        body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}]}
        for named, last in (({}, 200), ({"user": "ada"}, 429)):
            statuses = [
                client.post("/v1/chat/completions", json=body | named).status_code for _ in range(4)
            ]
            assert statuses[-1] == last


def test_a_model_that_only_writes_says_so(scripted: tuple[TestClient, Scripted, Store]) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}], "tools": [{"type": "function"}]}
    reply = scripted[0].post("/v1/chat/completions", json=body)
    assert reply.status_code == 422
    assert "tools" in reply.json()["error"]["message"]


def test_a_key_is_needed_elsewhere(open_app: FastAPI) -> None:
    with TestClient(open_app, base_url="http://localhost") as client:
        for method, path in (
            ("GET", "/v1/models"),
            ("POST", "/v1/chat/completions"),
            ("POST", "/v1/feedback"),
            ("DELETE", "/v1/people/ada"),
        ):
            reply = client.request(method, path)
            assert reply.status_code == 401
            assert "key" in reply.json()["error"]["message"]


def test_without_a_model_it_says_how_to_get_one(light: Store) -> None:
    with TestClient(create_app(light), base_url="http://localhost") as client:
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        reply = client.post("/v1/chat/completions", json=body)
        assert reply.status_code == 503
        assert "no model" in reply.json()["error"]["message"]
