"""Models behind an OpenAI-compatible service: OpenAI itself, Ollama, vLLM, llama.cpp, ..."""

from __future__ import annotations

import importlib.util
import os
import random
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from useralign.errors import MissingExtraError, ModelUnavailableError, OptionError
from useralign.models.generators import replies
from useralign.models.generators.base import Generator, Picture, Text, Usage
from useralign.models.generators.keys import is_local, read_key, without_secrets
from useralign.models.generators.prices import Prices
from useralign.models.generators.retry import Retry
from useralign.models.generators.service import RefusedPartError, Service

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from useralign.models.generators.base import ImageRequest, TextRequest

HOME = "https://api.openai.com/v1"
TEXT_BYTES = 512 * 1024
IMAGE_BYTES = 48 * 1024 * 1024


class OpenAI(Generator):
    """Texts by chat completions and pictures by the images API of a service.

    The key comes from the environment or a file; it is never logged, stored or shown.

    Parameters
    ----------
    model : str
        For texts; the name of an image model here is taken as `image_model`.
    image_model : str
        For pictures.
    base_url : str, optional
        The service; by default `OPENAI_BASE_URL`, else OpenAI.
    key_variable : str
        The environment variable that holds the key.
    key_file : str or Path, optional
        A file that holds the key, instead.
    timeout : float
        Seconds for one try.
    concurrency : int
        How many calls run at once.
    retry : Retry, optional
    prices : str, Path or mapping, optional
        See `useralign.models.generators.prices.Prices`.
    rng : random.Random, optional
        For the jitter between tries.

    Attributes
    ----------
    spent : Usage
        Everything so far, with the answers that were paid for but not usable.

    Raises
    ------
    ModelUnavailableError
        If there is no key and the service is OpenAI's own.
    MissingExtraError
        If the `openai` package is not installed.
    """

    name = "openai"
    makes = frozenset({"text", "image"})

    def __init__(
        self,
        model: str = "gpt-4o",
        *,
        image_model: str = "gpt-image-1",
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        key_file: str | Path | None = None,
        timeout: float = 60.0,
        concurrency: int = 8,
        retry: Retry | None = None,
        prices: str | Path | Mapping[str, Any] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise MissingExtraError("an OpenAI-compatible model", "openai")
        if concurrency < 1 or timeout <= 0:
            raise OptionError(
                f"concurrency={concurrency}, timeout={timeout}: expected 1 or more, and more than 0"
            )
        address = (base_url or os.environ.get("OPENAI_BASE_URL") or HOME).rstrip("/")
        if urlsplit(address).scheme not in {"http", "https"}:
            raise OptionError(
                f"base_url {without_secrets(address)!r}: expected http:// or https://"
            )
        key = _key_for(address, key_variable, key_file)
        draws = model.startswith(("gpt-image", "dall-e"))
        self.model = model
        self.image_model = model if draws else image_model
        self.base_url = without_secrets(address)
        self.spent = Usage()
        self._service = Service(address, key, key_variable, timeout, concurrency)
        self._retry = retry or Retry()
        self._prices = Prices(prices)
        # Jitter only spreads callers out; nothing else depends on it.
        self._rng = rng or random.Random()  # noqa: S311
        self._refused: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"OpenAI(model={self.model!r}, base_url={self.base_url!r})"

    @property
    def identity(self) -> dict[str, str]:
        """Name, models and address, without credentials."""
        return super().identity | {"image_model": self.image_model, "base_url": self.base_url}

    async def text(self, request: TextRequest) -> Text:
        """Generate one text by a chat completion."""
        if request.begin or request.weigh:
            raise ModelUnavailableError(
                f"{self.model} at {self.base_url} cannot go on from a given beginning, or weigh "
                "words: that is for local models"
            )
        async with self._service.slots():
            return await self._retry.run(lambda: self._chat(request), self._rng)

    async def image(self, request: ImageRequest) -> Picture:
        """Generate one picture. The API knows no seeds: they only tell cache entries apart."""
        async with self._service.slots():
            return await self._retry.run(lambda: self._draw(request), self._rng)

    async def release(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._service.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.release()

    async def _chat(self, request: TextRequest) -> Text:
        started = time.perf_counter()
        left_out = set(self._refused)
        while True:
            try:
                body = chat_body(self.model, request, left_out)
                data = await self._service.post("chat", body, TEXT_BYTES)
                break
            except RefusedPartError as refused:
                left_out.add(refused.part)
        # Only now is it sure that it was this part that the service minded.
        self._refused = frozenset(left_out)
        usage = self._spend(self.model, data, started)
        content, finish = replies.chat_text(data, self._service.where)
        return Text(content, _model_of(data, self.model), finish, usage)

    async def _draw(self, request: ImageRequest) -> Picture:
        started = time.perf_counter()
        body = {
            "model": self.image_model,
            "prompt": request.prompt,
            "size": request.size,
            "quality": request.quality,
            "n": 1,
        }
        data = await self._service.post("images", body, IMAGE_BYTES)
        usage = self._spend(self.image_model, data, started, images=1)
        content, media_type = replies.picture(data, self._service.where)
        return Picture(content, self.image_model, media_type, usage)

    def _spend(self, model: str, data: dict[str, Any], started: float, images: int = 0) -> Usage:
        counts = replies.tokens_of(data)
        seconds = time.perf_counter() - started
        price = self._prices.find(model)
        cost = price.of(counts.input, counts.output, images) if price else None
        if is_local(self.base_url):
            cost = 0.0
        usage = Usage(1, counts.input, counts.output, images, seconds, cost)
        self.spent = self.spent + usage
        return usage


def chat_body(model: str, request: TextRequest, left_out: set[str]) -> dict[str, Any]:
    """Write a request as a chat completion.

    Parameters
    ----------
    model : str
    request : TextRequest
    left_out : set of str
        Parts that the service has refused: "response_format", "min_p", "seed"; "max_tokens"
        is then sent under its newer name.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request),
        "temperature": request.temperature,
    }
    newer = "max_tokens" in left_out
    body["max_completion_tokens" if newer else "max_tokens"] = request.max_tokens
    if request.seed is not None and "seed" not in left_out:
        body["seed"] = request.seed
    if request.min_p is not None and "min_p" not in left_out:
        body["extra_body"] = {"min_p": request.min_p}
    if request.schema is not None and "response_format" not in left_out:
        schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _messages(request: TextRequest) -> list[dict[str, str]]:
    system = [("system", request.system)] if request.system else []
    turns = [
        turn for said, reply in request.examples for turn in (("user", said), ("assistant", reply))
    ]
    spoken = [*system, *turns, ("user", request.prompt)]
    return [{"role": role, "content": content} for role, content in spoken]


def _key_for(address: str, variable: str, file: str | Path | None) -> str | None:
    key = read_key(variable, file)
    if key is None and urlsplit(address).hostname == urlsplit(HOME).hostname:
        raise ModelUnavailableError(
            f"no key for {HOME}: set {variable}, or name a file that holds the key with "
            f"{variable}_FILE; or use a local model: useralign models pull qwen2.5-coder-1.5b"
        )
    return key


def _model_of(data: dict[str, Any], asked: str) -> str:
    name = data.get("model")
    return replies.short(name) if isinstance(name, str) and name else asked
