"""The OpenAI path against a scripted service: whatever it answers, the message is clear.

Keys, prices and closing connections, too.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import email.utils
import gc
import itertools
import logging
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from tests.models.scripted_service import Reply, ScriptedService, chat
from useralign.errors import (
    FileFormatError,
    MissingExtraError,
    ModelAnswerError,
    ModelError,
    ModelUnavailableError,
    OptionError,
)
from useralign.models import CachedGenerator, ImageRequest, Picture, Text, TextRequest, wait_for
from useralign.models.openai import OpenAI
from useralign.models.providers import find_price, is_local, read_key, without_secrets
from useralign.models.scripted import PIXEL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("key")
ASK = TextRequest("What should I cook?", system="Be brief.", seed=7)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


def make(service: ScriptedService, **options: Any) -> OpenAI:
    defaults: dict[str, Any] = {"max_retries": 2, "timeout": 5.0}
    return OpenAI(base_url=service.base_url, **(defaults | options))


def ask(generator: OpenAI, request: TextRequest = ASK) -> Text:
    async def run() -> Text:
        async with contextlib.aclosing(generator):
            return await generator.text(request)

    return asyncio.run(run())


def draw(generator: OpenAI, request: ImageRequest) -> Picture:
    async def run() -> Picture:
        async with contextlib.aclosing(generator):
            return await generator.image(request)

    return asyncio.run(run())


def test_request_and_answer(service: ScriptedService, key: str) -> None:
    service.will(Reply(chat("Soup.", finish="length")))
    text = ask(make(service))
    assert (text.text, text.model, text.finish) == ("Soup.", "gpt-4o-2024-08-06", "length")
    assert (text.usage.calls, text.usage.input_tokens, text.usage.output_tokens) == (1, 10, 4)
    assert text.usage.cost == 0.0, "a service on this machine costs nothing"
    assert service.paths == ["/v1/chat/completions"]
    assert service.keys == [f"Bearer {key}"]
    assert service.requests[0] == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What should I cook?"},
        ],
        "temperature": 0.5,
        "max_tokens": 256,
        "seed": 7,
    }


def test_optional_parts_are_sent(service: ScriptedService) -> None:
    service.will(Reply(chat()))
    ask(make(service), TextRequest("q", min_p=0.05, schema={"type": "object"}))
    sent = service.requests[0]
    assert sent["min_p"] == 0.05
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "seed" not in sent


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Unrecognized request argument supplied: min_p", "min_p"),
        ("This response_format type is unavailable now", "response_format"),
        ("bad request", "response_format"),
        ("Use 'max_completion_tokens' instead of 'max_tokens'", "max_tokens"),
    ],
)
def test_a_part_that_is_refused_is_left_out(
    service: ScriptedService, message: str, gone: str
) -> None:
    service.will(Reply({"error": {"message": message}}, 400), Reply(chat()))
    generator = make(service)
    request = TextRequest("q", seed=1, min_p=0.1, schema={"type": "object"})
    ask(generator, request)
    ask(generator, request)
    assert gone in service.requests[0]
    assert gone not in service.requests[1]
    assert gone not in service.requests[2], "and it is remembered"
    assert len(service.requests[1]) == len(service.requests[0]) - (gone != "max_tokens")


def test_a_schema_is_not_given_up_for_another_reason(service: ScriptedService) -> None:
    too_long = Reply({"error": {"message": "the context is too long"}}, 400)
    service.will(too_long, too_long, Reply(chat()))
    generator = make(service)
    request = TextRequest("q", schema={"type": "object"})
    with pytest.raises(ModelUnavailableError, match=r"HTTP 400.*the context is too long"):
        ask(generator, request)
    ask(generator, request)
    assert "response_format" in service.requests[2]


def test_too_many_requests_are_tried_again_no_sooner_than_asked(service: ScriptedService) -> None:
    busy = Reply({"error": {"message": "slow down"}}, 429, headers={"Retry-After": "0.3"})
    service.will(busy, busy, Reply(chat("Soup.")))
    assert ask(make(service)).text == "Soup."
    gaps = [b - a for a, b in itertools.pairwise(service.times)]
    assert len(gaps) == 2
    assert min(gaps) >= 0.3


def test_a_wait_that_is_too_long_is_not_waited_for(service: ScriptedService) -> None:
    service.will(Reply({"error": {"message": "later"}}, 429, headers={"Retry-After": "3600"}))
    with pytest.raises(ModelUnavailableError, match=r"HTTP 429.*tried once; it asks to wait 3600"):
        ask(make(service))


def test_a_date_that_is_too_far_off_is_not_waited_for(service: ScriptedService) -> None:
    later = email.utils.formatdate(time.time() + 3600, usegmt=True)
    service.will(Reply({"error": {"message": "later"}}, 503, headers={"Retry-After": later}))
    with pytest.raises(ModelUnavailableError, match=r"HTTP 503.*tried once\)"):
        ask(make(service))


@pytest.mark.parametrize("header", ["soon", "-1", "nan", "Wed, 01 Jan 2025 11:00:00 GMT"])
def test_a_wait_that_makes_no_sense_is_passed_over(service: ScriptedService, header: str) -> None:
    busy = Reply({"error": {"message": "busy"}}, 429, headers={"Retry-After": header})
    service.will(busy, Reply(chat("Soup.")))
    assert ask(make(service)).text == "Soup."


def test_an_empty_account_is_not_tried_again(service: ScriptedService) -> None:
    error = {"message": "You exceeded your quota", "code": "insufficient_quota"}
    service.will(Reply({"error": error}, 429))
    with pytest.raises(ModelUnavailableError, match="quota is used up"):
        ask(make(service))
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_trouble_at_the_service_is_tried_again(service: ScriptedService, status: int) -> None:
    service.will(Reply({"error": {"message": "oops"}}, status))
    with pytest.raises(ModelUnavailableError, match=rf"HTTP {status}\): oops \(tried 3 times\)"):
        ask(make(service))
    assert len(service.requests) == 3


def test_it_recovers_after_trouble(service: ScriptedService) -> None:
    service.will(Reply(b"<html>bad gateway</html>", 502), Reply(chat("Soup.")))
    assert ask(make(service)).text == "Soup."


def test_a_time_out_is_tried_again(service: ScriptedService) -> None:
    service.will(Reply(chat(), delay=1.0))
    generator = make(service, timeout=0.1, max_retries=1)
    with pytest.raises(ModelUnavailableError, match=r"no answer in 0.1 s \(tried 2 times\)"):
        ask(generator)
    assert len(service.requests) == 2


def test_what_is_passed_on_is_sent_as_it_is(service: ScriptedService) -> None:
    service.will(Reply(chat()))
    generator = make(service)
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "prompt": "y", "z": 1}
    wait_for(generator.relay(body), generator)
    assert service.requests == [body]


def test_what_is_passed_on_says_how_long_it_was_waited_for(
    service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("useralign.models.openai._PATIENCE", 0.3)
    service.will(Reply(chat(), delay=2.0))
    generator = make(service, timeout=0.1)
    body = {"model": "m", "messages": []}
    with pytest.raises(ModelUnavailableError, match=r"gave no answer in 0\.3 s \(tried once\)"):
        wait_for(generator.relay(body), generator)


def test_nobody_listens(service: ScriptedService) -> None:
    service.server_close()
    with pytest.raises(ModelUnavailableError, match=r"cannot be reached .*is the address right"):
        ask(make(service))


def test_a_connection_that_breaks_off(service: ScriptedService) -> None:
    service.will(Reply(chat(), cut=True), Reply(chat("Soup.")))
    assert ask(make(service)).text == "Soup."
    service.will(Reply(chat(), cut=True))
    with pytest.raises(ModelUnavailableError, match="broke off in the middle"):
        ask(make(service))


def test_truncated_json_gets_one_more_try(service: ScriptedService) -> None:
    service.will(Reply(b'{"choices": [{"message": {"content": "So'))
    with pytest.raises(ModelAnswerError, match=r"40 bytes that are not complete JSON.*2 times"):
        ask(make(service))
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<!doctype html><p>Welcome to the hotel", "a web page instead of JSON.*ends in /v1"),
        (["no", "object"], "a JSON list, expected an object"),
        (chat(choices=[]), "without any choices; expected one"),
        ({"error": {"message": "overloaded"}}, r"without any choices.*it says: overloaded"),
        (chat(choices=["text"]), "without any choices"),
        (chat(None), "NoneType as content"),
        (chat("  "), "an empty text as content"),
        (chat("", finish="length"), "a larger max_tokens may help"),
        (chat([{"type": "text"}]), "list as content"),
        (
            chat(None, message={"refusal": "I cannot help\nwith that"}),
            "refused: I cannot help with",
        ),
        (chat("So", finish="content_filter"), "refused: its content filter"),
        (chat("x" * 1_000_000), "more than 512 KiB"),
    ],
)
def test_unusable_answers(service: ScriptedService, body: object, message: str) -> None:
    service.will(Reply(body))
    with pytest.raises(ModelAnswerError, match=message) as caught:
        ask(make(service))
    assert len(service.requests) == 1, "what is answered and paid for is not asked for again"
    assert len(str(caught.value)) < 400


def test_of_too_many_choices_the_first_is_taken(service: ScriptedService) -> None:
    many = chat("One.")
    many["choices"] = [many["choices"][0], chat("Two.")["choices"][0]]
    service.will(Reply(many))
    assert ask(make(service)).text == "One."


def test_what_is_paid_for_and_not_usable_is_counted(service: ScriptedService) -> None:
    service.will(Reply(chat(None)))
    with pytest.raises(ModelAnswerError) as caught:
        ask(make(service))
    assert (caught.value.usage.calls, caught.value.usage.output_tokens) == (1, 4)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, r"refuses the key \(HTTP 401\); check OPENAI_API_KEY"),
        (403, r"refuses the key \(HTTP 403\)"),
        (404, "has no model 'gpt-4o', or no such address"),
        (413, r"does not accept the request \(HTTP 413\)"),
    ],
)
def test_refused_requests_are_not_repeated(
    service: ScriptedService, status: int, message: str
) -> None:
    service.will(Reply({"error": {"message": "no"}}, status))
    with pytest.raises(ModelUnavailableError, match=message):
        ask(make(service))
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
def test_the_key_leaks_nowhere(
    service: ScriptedService,
    key: str,
    status: int,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = chat("Soup.") if status == 200 else {"error": {"message": f"your key {key} is bad"}}
    service.will(Reply(answer, status))
    generator = make(service)
    shown = [repr(generator), str(generator), str(generator.identity)]

    async def run() -> None:
        cached = CachedGenerator(generator, tmp_path)
        async with contextlib.aclosing(cached):
            await cached.text(ASK)

    failed: ModelError | None = None
    try:
        asyncio.run(run())
    except ModelError as error:
        failed = error
    assert (failed is None) == (status == 200)
    if failed is not None:
        shown += [str(failed), repr(failed)]
        assert failed.__cause__ is None, "the client's own error holds the request and its key"
        assert failed.__context__ is None
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == (status == 200)
    assert not any(key in text for text in [*shown, caplog.text])
    assert not any(key.encode() in content for content in files)


def test_credentials_in_an_address_leak_nowhere(service: ScriptedService) -> None:
    service.will(Reply({"error": {"message": "no hunter2 here"}}, 500))
    address = service.base_url.replace("http://", "http://me:hunter2@") + "?token=hunter2"
    generator = OpenAI(base_url=address, max_retries=2)
    with pytest.raises(ModelUnavailableError) as caught:
        ask(generator)
    assert "hunter2" not in f"{caught.value} {generator!r} {generator.identity}"


def test_only_so_many_calls_run_at_once(service: ScriptedService) -> None:
    service.will(Reply(chat(), delay=0.05))
    generator = make(service, concurrency=2)

    async def run() -> list[Text]:
        async with contextlib.aclosing(generator):
            asked = [TextRequest("q", seed=n) for n in range(6)]
            return await asyncio.gather(*map(generator.text, asked))

    assert len(asyncio.run(run())) == 6
    assert service.busiest == 2
    assert len(asyncio.run(run())) == 6, "and again in another event loop"


def test_a_picture(service: ScriptedService) -> None:
    encoded = base64.b64encode(PIXEL).decode()
    usage = {"input_tokens": 5, "output_tokens": 272}
    service.will(Reply({"data": [{"b64_json": encoded}], "usage": usage}))
    picture = draw(make(service), ImageRequest("A circle."))
    assert (picture.data, picture.media_type, picture.model) == (PIXEL, "image/png", "gpt-image-1")
    assert (picture.usage.images, picture.usage.output_tokens) == (1, 272)
    assert service.paths == ["/v1/images/generations"]
    assert service.requests[0]["size"] == "1024x1024"
    assert service.requests[0]["quality"] == "low"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"data": []}, "without any picture; expected one"),
        ({"data": [{"url": "http://127.0.0.1/secret"}]}, "'url' in place of the picture"),
        ({"data": [{"b64_json": "%%%"}]}, "not valid base64"),
        ({"data": [{"b64_json": "aGVsbG8="}]}, "5 bytes that are not PNG"),
    ],
)
def test_unusable_pictures(service: ScriptedService, body: object, message: str) -> None:
    service.will(Reply(body))
    with pytest.raises(ModelAnswerError, match=message):
        draw(make(service), ImageRequest("A circle."))


def test_a_picture_that_the_service_refuses(service: ScriptedService) -> None:
    error = {"message": "rejected by our safety system", "code": "moderation_blocked"}
    service.will(Reply({"error": error}, 400))
    with pytest.raises(ModelAnswerError, match="refused: rejected by our safety system"):
        draw(make(service), ImageRequest("A circle."))


def test_an_image_model_by_name() -> None:
    assert OpenAI("gpt-image-1-mini").image_model == "gpt-image-1-mini"
    assert OpenAI("gpt-4o").image_model == "gpt-image-1"


def test_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelUnavailableError, match=r"set OPENAI_API_KEY.*models pull"):
        OpenAI()
    assert repr(OpenAI(base_url="http://localhost:11434/v1"))


def test_options_out_of_range() -> None:
    with pytest.raises(OptionError, match="concurrency=0"):
        OpenAI(concurrency=0)
    with pytest.raises(OptionError, match="expected http"):
        OpenAI(base_url="ftp://example.com")
    with pytest.raises(OptionError, match="max_retries=-1"):
        OpenAI(max_retries=-1)


def test_the_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'useralign\[openai\]'"):
        OpenAI()


def test_a_key_file_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("sk-file\n")
    monkeypatch.setenv("X_KEY", "sk-env")
    assert read_key("X_KEY") == "sk-env"
    assert read_key("X_KEY", file) == "sk-file"
    monkeypatch.setenv("X_KEY_FILE", str(file))
    assert read_key("X_KEY") == "sk-env"
    monkeypatch.delenv("X_KEY")
    assert read_key("X_KEY") == "sk-file"
    monkeypatch.delenv("X_KEY_FILE")
    assert read_key("X_KEY") is None


@pytest.mark.parametrize("bad", ["sk-a\nsk-b", "sk-ä", "sk a"])
def test_what_cannot_be_a_key_is_not_quoted(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_KEY", bad)
    with pytest.raises(ModelUnavailableError, match="X_KEY does not hold a usable key") as caught:
        read_key("X_KEY")
    assert bad not in str(caught.value)


def test_a_key_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="cannot be read"):
        read_key("X_KEY", tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelUnavailableError, match="not a text file"):
        read_key("X_KEY", tmp_path / "binary")


def test_addresses() -> None:
    assert without_secrets("https://u:p@h.org:8/v1/?k=s#f") == "https://h.org:8/v1"
    assert is_local("http://localhost:1/v1")
    assert not is_local("https://localhost.example.com")


def test_prices_come_from_the_data_file() -> None:
    price = find_price("gpt-4o-2024-08-06")
    assert price is not None
    assert price.of(1_000_000, 100_000) == pytest.approx(2.5 + 1.0)
    assert find_price("gpt-4o-mini") != price
    assert find_price("llama3") is None


def test_prices_can_be_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("[gpt-4o]\ninput = 1\n[mine]\nimage = 0.5\n")
    monkeypatch.setenv("USERALIGN_PRICES", str(file))
    known = [find_price(name) for name in ("gpt-4o", "mine", "gpt-4.1")]
    assert [price and price.of(1_000_000, 0, 2) for price in known] == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "text", ["[gpt-4o]\nprice = 1\n", "gpt-4o = 3\n", "[[", '[m]\ninput = "a"\n']
)
def test_a_price_file_that_is_not_one(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "prices.toml"
    monkeypatch.setenv("USERALIGN_PRICES", str(file))
    with pytest.raises(FileFormatError, match="cannot be read"):
        find_price("gpt-4o")
    file.write_text(text)
    with pytest.raises(FileFormatError, match=r"prices\.toml"):
        find_price("gpt-4o")


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_with_and_without_a_running_loop() -> None:
    async def inside() -> int:
        return wait_for(double(4))

    assert wait_for(double(3)) == 6
    assert asyncio.run(inside()) == 8


@pytest.mark.parametrize("fails", [False, True])
def test_no_connection_outlives_its_loop(
    service: ScriptedService, caplog: pytest.LogCaptureFixture, *, fails: bool
) -> None:
    service.will(Reply(chat()))
    generator = OpenAI(base_url=service.base_url)

    async def use() -> str:
        text = (await generator.text(ASK)).text
        if fails:
            raise ValueError(text)
        return text

    with caplog.at_level(logging.DEBUG, "asyncio"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            if fails:
                with pytest.raises(ValueError, match=r"A walk\."):
                    wait_for(use(), generator)
            else:
                assert wait_for(use(), generator) == "A walk."
            gc.collect()
    assert not [r for r in caplog.records if r.levelno > logging.DEBUG]
    assert not generator._connections


def test_a_cache_lets_its_generator_go(service: ScriptedService, tmp_path: object) -> None:
    service.will(Reply(chat()))
    generator = OpenAI(base_url=service.base_url)
    cached = CachedGenerator(generator, str(tmp_path))
    assert wait_for(cached.text(ASK), cached).text == "A walk."
    assert not generator._connections
