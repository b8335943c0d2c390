"""Real weights: in this process, and behind the real llama.cpp server on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.local_server import LocalServer
from useralign.errors import MissingExtraError, ModelUnavailableError, OptionError
from useralign.models import CachedGenerator, Text, TextRequest, plain
from useralign.models.conformance import check_generator
from useralign.models.local import (
    Local,
    first_tokens,
    load,
    thread_count,
    weights_file,
    word_weights,
)
from useralign.models.openai import OpenAI

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASK = TextRequest("Name one fruit.", temperature=0.8, max_tokens=12, seed=3, min_p=0.05)
SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "string", "maxLength": 12}},
    "required": ["fruit"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def local(smollm: str) -> Iterator[Local]:
    generator = Local(smollm, context=1024)
    yield generator
    asyncio.run(generator.aclose())


@pytest.fixture(scope="module")
def server(smollm: str) -> Iterator[LocalServer]:
    with LocalServer(smollm, context=1024, parallel=2) as running:
        yield running


def remote(server: LocalServer) -> OpenAI:
    return OpenAI("smollm2-135m", base_url=server.base_url, key_file=server.key_file)


def over_http(server: LocalServer, *requests: TextRequest) -> list[Text]:
    async def run() -> list[Text]:
        async with contextlib.aclosing(remote(server)) as generator:
            return await asyncio.gather(*map(generator.text, requests))

    return asyncio.run(run())


def test_a_text_and_its_usage(local: Local) -> None:
    text = asyncio.run(local.text(ASK))
    assert text.text.strip()
    assert (text.model, text.finish) == ("smollm2-135m", "length")
    assert text.usage.calls == 1
    assert text.usage.input_tokens > 5
    assert text.usage.output_tokens == 12
    assert text.usage.cost == 0.0
    assert text.usage.seconds > 0


def test_seeds(local: Local) -> None:
    async def run() -> list[str]:
        requests = [TextRequest("Tell a story.", temperature=1.5, seed=s) for s in (1, 1, 2, -1)]
        short = [TextRequest(r.prompt, None, 1.5, 12, r.seed) for r in requests]
        return [(await local.text(request)).text for request in short]

    first, again, other, _ = asyncio.run(run())
    assert first == again != other


def test_a_schema_is_followed(local: Local) -> None:
    request = TextRequest("A fruit as JSON.", max_tokens=60, seed=1, schema=SCHEMA)
    assert isinstance(json.loads(asyncio.run(local.text(request)).text)["fruit"], str)


def test_a_text_goes_on_from_its_beginning(local: Local) -> None:
    begin = "My favourite fruit is the"
    made = asyncio.run(local.text(replace(ASK, begin=begin)))
    assert made.text.startswith(f"{begin} ")
    assert len(made.text) > len(begin) + 2


def test_words_are_weighed(local: Local) -> None:
    request = replace(
        ASK, prompt="What is the capital of France?", begin="The capital of France is"
    )
    words = ("Paris", "banana", "xylophone")
    reply = asyncio.run(local.text(replace(request, weigh=words)))
    likely = json.loads(reply.text)
    assert set(likely) == set(words)
    assert max(likely.values()) == likely["Paris"] <= 0
    assert reply.usage.output_tokens == 1


def test_examples_are_followed(local: Local) -> None:
    examples = tuple((f"Say {word}.", f"{word}!") for word in ("moon", "tree", "house", "ship"))
    request = TextRequest("Say river.", examples=examples, temperature=0.0, max_tokens=8, seed=1)
    assert asyncio.run(local.text(request)).text.strip().casefold().startswith("river")


def test_a_service_does_not_go_on_from_a_beginning(server: LocalServer) -> None:
    for request in (replace(ASK, begin="An"), replace(ASK, weigh=("apple",))):
        with pytest.raises(ModelUnavailableError, match="for local models"):
            over_http(server, request)


def test_the_event_loop_goes_on(local: Local) -> None:
    async def run() -> int:
        job = asyncio.create_task(local.text(TextRequest("Tell a story.", max_tokens=40, seed=1)))
        ticks = 0
        while not job.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await job
        return ticks

    assert asyncio.run(run()) > 10


def test_cancelling_stops_the_model_and_leaves_it_usable(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks: list[object] = []
    complete = Local._complete

    def counted(model: Local, body: Any, stop: Any, take: Any) -> None:
        def count(chunk: Any) -> None:
            chunks.append(chunk)
            take(chunk)

        complete(model, body, stop, count)

    async def run() -> Text:
        job = asyncio.create_task(local.text(TextRequest("Tell a long story.", max_tokens=900)))
        while len(chunks) < 5:
            await asyncio.sleep(0.01)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        return await local.text(ASK)

    with monkeypatch.context() as patch:
        patch.setattr(Local, "_complete", counted)
        text = asyncio.run(run())
    assert len(chunks) < 500, "the story was not told to its end"
    assert text.text.strip()


def test_a_text_that_takes_too_long(smollm: str) -> None:
    generator = Local(smollm, timeout=0.3)

    async def run() -> None:
        async with contextlib.aclosing(generator):
            await generator.text(TextRequest("Tell a long story.", max_tokens=3000))

    with pytest.raises(ModelUnavailableError, match=r"did not finish a text in 0.3 s"):
        asyncio.run(run())


def test_a_prompt_that_is_too_long(local: Local) -> None:
    with pytest.raises(ModelUnavailableError, match="exceeds the available context"):
        asyncio.run(local.text(TextRequest("word " * 3000)))


def test_a_schema_that_is_not_one(local: Local) -> None:
    with pytest.raises(ModelUnavailableError, match="does not accept the request"):
        asyncio.run(local.text(TextRequest("q", schema={"type": "nonsense"})))


def test_it_keeps_the_contract(smollm: str) -> None:
    check_generator(Local(smollm, context=512), max_tokens=4)


def test_any_gguf_path(smollm: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.symlink_to(weights_file(smollm))
    generator = Local(path, context=512)
    assert generator.identity["file"]

    async def run() -> Text:
        async with contextlib.aclosing(generator):
            return await generator.text(ASK)

    assert asyncio.run(run()).text.strip()


def test_files_that_are_not_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"no local model 'x'.*one of: qwen2.5"):
        load("x")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(ModelUnavailableError, match="not a GGUF file: it begins with b'hell'"):
        load(tmp_path / "text.gguf")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03\0\0\0")
    with pytest.raises(ModelUnavailableError, match="the file is damaged"):
        load(tmp_path / "cut.gguf")


def test_weights_that_were_not_pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailableError, match=r"useralign models pull qwen2\.5"):
        asyncio.run(Local().text(ASK))


def test_the_extra_is_missing(smollm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'useralign\[local\]'"):
        load(smollm)


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USERALIGN_THREADS", raising=False)
    assert thread_count(None) == 1
    monkeypatch.setenv("USERALIGN_THREADS", "3")
    assert (thread_count(None), thread_count(2)) == (3, 2)
    monkeypatch.setenv("USERALIGN_THREADS", "many")
    with pytest.raises(OptionError, match="USERALIGN_THREADS=many"):
        thread_count(None)
    with pytest.raises(OptionError, match="expected more than 0"):
        Local(parallel=0)


def test_the_openai_path_against_the_real_server(server: LocalServer) -> None:
    first, again = over_http(server, ASK, ASK)
    assert first.text.strip()
    assert first.finish == again.finish == "length"
    assert first.model == "smollm2-135m"
    assert first.usage.output_tokens == 12
    assert first.usage.cost == 0.0


def test_schema_over_http(server: LocalServer) -> None:
    request = TextRequest("A fruit as JSON.", max_tokens=60, seed=1, schema=SCHEMA)
    (text,) = over_http(server, request)
    assert "fruit" in json.loads(text.text)


def test_errors_of_the_real_server(server: LocalServer, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="exceeds the available context"):
        over_http(server, TextRequest("word " * 3000))
    other = tmp_path / "key"
    other.write_text("wrong")
    stranger = OpenAI("smollm2-135m", base_url=server.base_url, key_file=other)

    async def run() -> None:
        async with contextlib.aclosing(stranger):
            await stranger.text(ASK)

    with pytest.raises(ModelUnavailableError, match=r"refuses the key \(HTTP 401\)"):
        asyncio.run(run())


def test_a_cached_pool_of_texts_from_the_real_server(server: LocalServer, tmp_path: Path) -> None:
    async def run() -> list[Text]:
        async with contextlib.aclosing(CachedGenerator(remote(server), tmp_path)) as generator:
            asked = [TextRequest("Name a fruit.", max_tokens=6, seed=n) for n in range(4)]
            return await asyncio.gather(*map(generator.text, asked))

    made, kept = asyncio.run(run()), asyncio.run(run())
    assert [text.text for text in made] == [text.text for text in kept]
    assert [text.cached for text in made + kept] == [False] * 4 + [True] * 4


def test_the_server_is_for_those_who_know_its_key_and_ends(smollm: str) -> None:
    with LocalServer(smollm, context=256) as running:
        address, file = running.base_url, running.key_file
        assert address.startswith("http://127.0.0.1:")
        assert running.key not in repr(running)
        assert file is not None
        assert file.stat().st_mode & 0o077 == 0
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(f"{address}/models", timeout=5)  # noqa: S310
        refused.value.close()
    assert not file.exists()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{address}/models", timeout=5)  # noqa: S310


TOKENS = [(" rain", -1.0), (" rainy", -2.0), (" r", -0.5), (" sunny", -3.0), (" a", -4.0)]


def test_the_longest_token_counts() -> None:
    likely = json.loads(word_weights(TOKENS, ("rainy", "rainier", "sunny", "a", "wet")))
    assert likely == {"rainy": -2.0, "rainier": -1.0, "sunny": -3.0, "a": -4.0, "wet": -4.0}


def test_a_single_letter_begins_every_word_and_says_nothing() -> None:
    assert json.loads(word_weights([(" s", -0.1), (" z", -9.0)], ("sunny",))) == {"sunny": -9.0}


def test_the_first_place_counts() -> None:
    first = {"content": [{"top_logprobs": [{"token": " a", "logprob": -0.5}]}]}
    later = {"content": [{"top_logprobs": [{"token": " b", "logprob": -0.1}]}]}
    assert first_tokens([None, first, later]) == [(" a", -0.5)]


@pytest.mark.parametrize(
    "chunks", [[], [None], [{}], [{"content": []}], [{"content": "no"}], ["x"]]
)
def test_replies_of_another_form(chunks: list[Any]) -> None:
    assert first_tokens(chunks) == []


def test_what_was_kept_before_is_still_found() -> None:
    request = TextRequest("Which?", seed=1)
    assert "begin" not in plain(request)
    assert plain(TextRequest("Which?", begin="The"))["begin"] == "The"


def test_only_one_model_stays_in_memory(smollm: str, tmp_path: Path) -> None:
    copy = tmp_path / "other.gguf"
    copy.symlink_to(weights_file(smollm))
    first, second = Local(smollm, context=512), Local(copy, context=512)
    request = TextRequest("Hello", max_tokens=2)

    async def take_turns() -> None:
        await first.text(request)
        assert first._server is not None
        await second.text(request)
        assert (first._server, second._server is None) == (None, False)
        await first.text(request)
        assert (first._server is None, second._server) == (False, None)
        # Side by side they both come back, whoever has to make room.
        await asyncio.gather(*(model.text(request) for model in (first, second) * 3))
        assert (first._server is None) != (second._server is None)
        await first.aclose()
        await second.aclose()

    asyncio.run(take_turns())
