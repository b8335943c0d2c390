"""A check that a generator keeps its contract; authors of plug-ins run it in their tests."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from useralign.errors import ModelUnavailableError
from useralign.models.generators.base import (
    Generator,
    ImageRequest,
    Picture,
    Text,
    TextRequest,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

KINDS = frozenset({"text", "image"})


def check_generator(generator: Generator, *, max_tokens: int = 16) -> None:
    """Use a generator in every way its contract allows, and fail with what is amiss.

    It makes a handful of real calls, with short prompts, and closes the generator.

    Parameters
    ----------
    generator : Generator
    max_tokens : int
        For each text.

    Raises
    ------
    AssertionError
        If it does not keep its contract.
    """
    _expect(isinstance(generator, Generator), "it is derived from Generator")
    _expect(bool(generator.name) and isinstance(generator.model, str), "it has a name and a model")
    _expect(generator.makes <= KINDS, f"makes is among {sorted(KINDS)}")
    _expect(bool(generator.makes), "it makes something")
    _expect(_is_text_map(generator.identity), "identity maps texts to texts")
    _check_secrets(generator)
    asyncio.run(_check_calls(generator, max_tokens))


def _expect(kept: bool, rule: str) -> None:
    if not kept:
        raise AssertionError(f"a generator's contract is not kept: {rule}")


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    )


def _check_secrets(generator: Generator) -> None:
    shown = repr(generator) + str(generator.identity)
    for variable, value in os.environ.items():
        if variable.endswith("_API_KEY") and len(value) > 7:
            _expect(value not in shown, f"the key in {variable} is not shown")


async def _check_calls(generator: Generator, max_tokens: int) -> None:
    ask = [
        TextRequest(f"Name a colour, please ({n}).", max_tokens=max_tokens, seed=n) for n in (1, 2)
    ]
    draw = ImageRequest("A red circle.", seed=1)
    try:
        if "text" in generator.makes:
            await _check_cancelling(generator, ask[0])
            for text in await asyncio.gather(*map(generator.text, ask)):
                _check_text(text)
            if generator.continues:
                await _check_continuing(generator, ask[0])
        else:
            await _check_unavailable(generator.text(ask[0]), "text")
        if "image" in generator.makes:
            _check_picture(await generator.image(draw))
        else:
            await _check_unavailable(generator.image(draw), "image")
    finally:
        await generator.aclose()
        await generator.aclose()


async def _check_continuing(generator: Generator, request: TextRequest) -> None:
    begun = replace(request, begin="The colour is")
    weighed = replace(begun, weigh=("red", "seven"))
    text = (await generator.text(begun)).text
    _expect(text.startswith(begun.begin), "a text begins with what it is to begin with")
    likely = json.loads((await generator.text(weighed)).text)
    _expect(set(likely) == set(weighed.weigh), "all words are weighed, and no others")
    _expect(all(value <= 0 for value in likely.values()), "words have log-probabilities")


async def _check_cancelling(generator: Generator, request: TextRequest) -> None:
    task = asyncio.create_task(_await(generator.text(request)))
    await asyncio.sleep(0)
    task.cancel()
    result = (await asyncio.gather(task, return_exceptions=True))[0]
    _expect(
        isinstance(result, Text | asyncio.CancelledError),
        "a call that is cancelled ends with CancelledError",
    )


async def _await(call: Awaitable[Text]) -> Text:
    return await call


async def _check_unavailable(call: Awaitable[object], kind: str) -> None:
    try:
        await call
    except ModelUnavailableError:
        return
    _expect(False, f"{kind} is not in makes, so it raises ModelUnavailableError")


def _check_text(text: object) -> None:
    _expect(isinstance(text, Text), "text() returns a Text")
    if isinstance(text, Text):
        _expect(isinstance(text.text, str) and bool(text.text), "a Text holds a text")
        _check_usage(text.usage, cached=text.cached)


def _check_picture(picture: object) -> None:
    _expect(isinstance(picture, Picture), "image() returns a Picture")
    if isinstance(picture, Picture):
        _expect(isinstance(picture.data, bytes) and bool(picture.data), "a Picture holds bytes")
        _expect(picture.media_type.startswith("image/"), "a Picture has an image's media type")
        _check_usage(picture.usage, cached=picture.cached)


def _check_usage(usage: Usage, *, cached: bool) -> None:
    if cached:
        _expect(usage == Usage(), "an answer from a cache has no usage")
    else:
        _expect(usage.calls >= 1, "an answer counts its call")
        _expect(
            usage.seconds >= 0 and (usage.cost is None or usage.cost >= 0), "usage is not negative"
        )
