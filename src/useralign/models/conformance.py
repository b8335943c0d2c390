"""Checks that a generator or an embedder keeps its contract, for the authors of plug-ins.

from useralign.testing import check_embedder, check_generator

def test_my_embedder():
    check_embedder(MyEmbedder())
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign import pictures
from useralign.errors import ModelUnavailableError
from useralign.models.embedder import KINDS, Embedder
from useralign.models.generator import (
    Generator,
    ImageRequest,
    Picture,
    Text,
    TextRequest,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

TEXTS = (
    "Cook a mild potato soup.",
    "Cook a fiery curry with plenty of chilli, and serve it with rice, yoghurt and a cold beer.",
    "Spend the day at the beach.",
    "東京で寿司を食べる 🍣",
)
_TOLERANCE = 1e-4


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
    _expect(generator.makes <= set(KINDS), f"makes is among {sorted(KINDS)}")
    _expect(bool(generator.makes), "it makes something")
    identity = generator.identity
    texts = [*identity, *identity.values()] if isinstance(identity, dict) else [None]
    _expect(all(isinstance(text, str) for text in texts), "identity maps texts to texts")
    visible = repr(generator) + str(identity)
    for variable, value in os.environ.items():
        if variable.endswith("_API_KEY") and len(value) > 7:
            _expect(value not in visible, f"the key in {variable} is not shown")
    asyncio.run(_check_calls(generator, max_tokens))


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
            with _expect_refusal("text is not in makes, so it"):
                await generator.text(ask[0])
        if "image" in generator.makes:
            _check_picture(await generator.image(draw))
        else:
            with _expect_refusal("image is not in makes, so it"):
                await generator.image(draw)
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
    task = asyncio.ensure_future(generator.text(request))
    await asyncio.sleep(0)
    task.cancel()
    (result,) = await asyncio.gather(task, return_exceptions=True)
    ended = isinstance(result, Text | asyncio.CancelledError)
    _expect(ended, "a call that is cancelled ends with CancelledError")


def _check_text(text: Text) -> None:
    _expect(isinstance(text, Text), "text() returns a Text")
    _expect(isinstance(text.text, str) and bool(text.text), "a Text holds a text")
    _check_usage(text.usage, cached=text.cached)


def _check_picture(picture: Picture) -> None:
    _expect(isinstance(picture, Picture), "image() returns a Picture")
    _expect(isinstance(picture.data, bytes) and bool(picture.data), "a Picture holds bytes")
    _expect(picture.media_type.startswith("image/"), "a Picture has an image's media type")
    _check_usage(picture.usage, cached=picture.cached)


def _check_usage(usage: Usage, *, cached: bool) -> None:
    if cached:
        _expect(usage == Usage(), "an answer from a cache has no usage")
        return
    _expect(usage.calls >= 1, "an answer counts its call")
    _expect(usage.seconds >= 0 and (usage.cost or 0.0) >= 0, "usage is not negative")


def check_embedder(embedder: Embedder, texts: Sequence[str] = TEXTS) -> None:
    """Run an embedder through its contract, as `Embedder` states it.

    Parameters
    ----------
    embedder : Embedder
        One that can work here: its `trouble()` is None.
    texts : sequence of str
        What to embed; give your own if yours knows certain texts only.

    Raises
    ------
    AssertionError
        With what is not as it should be.
    """
    _expect(isinstance(embedder, Embedder), "it derives from useralign.models.Embedder")
    _expect(bool(embedder.name), "it has a name")
    _expect(bool(embedder.embeds) and embedder.embeds <= set(KINDS), f"it embeds some of {KINDS}")
    _expect(embedder.trouble() is None, f"it can work here; it says: {embedder.trouble()}")
    paths = sorted(pictures.FOLDER.glob("*.webp"))[:3]
    if "text" in embedder.embeds:
        _check_kind(embedder, embedder.embed_texts, list(texts))
    else:
        with _expect_refusal("a kind that it does not offer"):
            embedder.embed_texts(list(texts))
    if "image" not in embedder.embeds:
        with _expect_refusal("a kind that it does not offer"):
            embedder.embed_images(paths)
    elif "text" not in embedder.embeds:
        _check_kind(embedder, embedder.embed_images, paths)


def _check_kind(
    embedder: Embedder, embed: Callable[[Any], NDArray[np.float64]], items: list[Any]
) -> None:
    vectors = embed(items)
    shape = (len(items), embedder.dimension)
    _expect(isinstance(vectors, np.ndarray), f"it returns an array, not a {type(vectors)}")
    _expect(vectors.shape == shape, f"the shape is {shape}; got {vectors.shape}")
    _expect(vectors.dtype == np.float64, f"the type is float64; got {vectors.dtype}")
    _expect(bool(np.isfinite(vectors).all()), "every number is finite")
    _expect(len(np.unique(vectors, axis=0)) > 1, "different items have different vectors")
    _expect(embed([]).shape == (0, embedder.dimension), "nothing gives no rows")
    size = float(np.abs(vectors).max()) or 1.0
    for other, what in (
        (embed(items), "asked again"),
        (np.vstack([embed([item]) for item in items]), "one by one"),
        (embed(items[::-1])[::-1], "in another order"),
    ):
        apart = float(np.abs(other - vectors).max()) / size
        _expect(
            apart <= _TOLERANCE, f"{what}, the vectors are the same; they differ by {apart:.2g}"
        )


@contextlib.contextmanager
def _expect_refusal(what: str) -> Iterator[None]:
    try:
        yield
    except ModelUnavailableError:
        return
    _expect(False, f"{what} raises ModelUnavailableError")


def _expect(holds: bool, what: str) -> None:
    # Not `assert`: the check must also work under `python -O`.
    if not holds:
        raise AssertionError(f"expected that {what}")
