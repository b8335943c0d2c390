"""The contract of a generator, what it is asked for and what it returns.

It is asked in our own form, `TextRequest`, or in OpenAI's, as a chat completion. The latter is data
from elsewhere: a generator that cannot pass it on to its model as it is writes one text for it.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.checks import is_finite, is_whole
from useralign.errors import ModelUnavailableError, OptionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping

Result = TypeVar("Result")
_MOST_TOKENS = 512  # to write, where a chat completion does not say
_PIECE = 48  # characters of a chunk
_BEYOND_TEXT = ("tools", "functions", "response_format", "logprobs", "audio")
_HEADS = {
    b"\x89PNG\r\n\x1a\n": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"GIF87a": ".gif",
    b"GIF89a": ".gif",
    b"BM": ".bmp",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls to a model used. Add two to get their sum."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    seconds: float = 0.0  # spent in the calls, added up
    cost: float | None = 0.0  # in US dollars; None when no price is known

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cost is None or other.cost is None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.images + other.images,
            self.seconds + other.seconds,
            None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
        )


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A request for one text.

    Parameters
    ----------
    prompt : str
    system : str, optional
    temperature : float
    max_tokens : int
    seed : int, optional
        The same request with the same seed is the same text where the model allows it, and is
        answered from the cache; another seed asks for another sample.
    min_p : float, optional
        Drop tokens less likely than this share of the likeliest; where the service knows it.
    schema : mapping, optional
        A JSON schema that the text must follow, where the service can enforce it. The reply is
        parsed and checked all the same.
    examples : tuple of (str, str)
        Prompts and their replies, sent as earlier turns: a small model follows an example
        better than a rule.
    begin : str
        What the text begins with, for generators that `continues` only.
    weigh : tuple of str
        Words. The text is then not prose but a JSON object of each word and the log-probability
        that it (or rather its first token) comes next after `begin`. For generators that
        `continues` only.
    images : tuple of str
        Paths of pictures to be looked at, after the prompt; for generators that `sees` only.
    """

    prompt: str
    system: str | None = None
    temperature: float = 0.5
    max_tokens: int = 256
    seed: int | None = None
    min_p: float | None = None
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    examples: tuple[tuple[str, str], ...] = ()
    begin: str = ""
    weigh: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """One generated text, and how it came to be."""

    text: str
    model: str
    finish: str = "stop"
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A request for one picture."""

    prompt: str
    size: str = "1024x1024"
    quality: str = "low"
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """One generated picture, as the bytes of an image file."""

    data: bytes
    model: str
    media_type: str = "image/png"
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


def picture_suffix(data: bytes) -> str | None:
    """Return the suffix that fits a file's first bytes; None when it is no known picture."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for head, suffix in _HEADS.items() if data.startswith(head)), None)


def plain(request: TextRequest | ImageRequest) -> dict[str, Any]:
    """Return a request as plain data, for keys of caches and journals.

    Fields that were added later are left out when empty, so that old entries are still found.
    A picture stands there as a hash of its file.
    """
    later = {"examples", "begin", "weigh", "images"}
    fields = {k: v for k, v in asdict(request).items() if v or k not in later}
    if "images" in fields:
        files = [Path(path).read_bytes() for path in request.images]  # type: ignore[union-attr]
        fields["images"] = [hashlib.sha256(data).hexdigest() for data in files]
    return fields


def chat_request(body: Mapping[str, Any]) -> TextRequest:
    """Read a chat completion as a request for one text; the inverse of `chat.chat_body`.

    Pictures and what else is in its messages is left out.
    """
    if more := next((name for name in _BEYOND_TEXT if body.get(name)), None):
        raise OptionError(f"the model here writes one text and no more, but was asked for {more}")
    turns = [(str(m.get("role")), content_text(m.get("content"))) for m in body["messages"]]
    system = "\n\n".join(text for role, text in turns if role in ("system", "developer"))
    dialogue = [(role, text) for role, text in turns if role in ("user", "assistant")]
    examples = [
        (prompt, reply)
        for (first, prompt), (second, reply) in pairwise(dialogue)
        if (first, second) == ("user", "assistant")
    ]
    most = body.get("max_completion_tokens") or body.get("max_tokens") or _MOST_TOKENS
    warmth = 1.0 if body.get("temperature") is None else body["temperature"]
    if not is_whole(most) or not is_finite(warmth):
        raise OptionError(f"max_tokens {most!r:.40} and temperature {warmth!r:.40} must be numbers")
    return TextRequest(
        dialogue[-1][1] if dialogue else system,
        system=system or None,
        temperature=float(warmth),
        max_tokens=int(most),
        seed=body.get("seed"),
        examples=tuple(examples),
    )


def content_text(content: object) -> str:
    """Return the text of a message: itself, or that of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def completion(text: Text) -> dict[str, Any]:
    """Write a text as the reply of a chat completion."""
    usage, message = text.usage, {"role": "assistant", "content": text.text}
    counts = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    return {
        "model": text.model,
        "choices": [{"index": 0, "message": message, "finish_reason": text.finish}],
        "usage": counts | {"total_tokens": sum(counts.values())},
    }


def as_chunks(reply: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut the reply of a chat completion into chunks, as one that is streamed; usage is the last.

    It must have choices with messages; whatever else these hold comes first.
    """
    head = {key: value for key, value in reply.items() if key not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    for choice in reply["choices"]:
        message, index = dict(choice["message"]), {"index": choice.get("index", 0)}
        text = str(message.pop("content", None) or "")
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
        deltas = [message | {"content": "" if text else None}]
        deltas += [{"content": text[k : k + _PIECE]} for k in range(0, len(text), _PIECE)]
        for delta in deltas:
            yield head | {"choices": [index | {"delta": delta, "finish_reason": None}]}
        end = index | {"delta": {}, "finish_reason": choice.get("finish_reason")}
        yield head | {"choices": [end]}
    yield head | {"choices": [], "usage": reply.get("usage")}


class Generator(ABC):
    """A model that writes text, draws pictures, or both.

    The contract, which `useralign.testing.check_generator` verifies:

    - `text` and `image` are coroutines; several may run at once, and the generator itself limits
      how many reach the model.
    - A kind that it does not offer raises `ModelUnavailableError`; `makes` lists those it offers.
    - A failure raises `ModelUnavailableError` (cannot be reached, no key, no weights) or
      `ModelAnswerError` (it answered with nothing usable) after its own retries. No message,
      log line or repr ever holds a key.
    - Every result carries its `Usage`; a result from a cache carries `Usage()` and `cached=True`.
    - What a model says is data: it is never executed, and never trusted to have a form.
    - `continues` is whether it knows a request's `begin` and `weigh`, `sees` whether it looks at
      its `images`; no other generator gets them.
    - `relay` and `stream` answer a chat completion in OpenAI's format, tried once: with all that
      the model knows where they are overridden, else with one text. What the model itself refuses
      is an `UpstreamError`.
    """

    name: str
    makes: frozenset[str] = frozenset()
    continues: bool = False
    sees: bool = False
    model: str

    @property
    def identity(self) -> dict[str, str]:
        """What, besides the request, decides the answer: the key under which it is cached.

        A generator whose answers depend on more than its name and model (an address, a file)
        adds that here, without anything secret.
        """
        return {"generator": self.name, "model": self.model}

    async def text(self, request: TextRequest) -> Text:  # noqa: ARG002
        """Generate one text."""
        raise ModelUnavailableError(f"{self.name} ({self.model}) writes no text")

    async def image(self, request: ImageRequest) -> Picture:  # noqa: ARG002
        """Generate one picture."""
        raise ModelUnavailableError(f"{self.name} ({self.model}) draws no pictures")

    async def relay(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a chat completion."""
        return completion(await self.text(chat_request(body)))

    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the reply to a chat completion in chunks, as they come."""
        for chunk in as_chunks(await self.relay(body)):
            yield chunk

    async def release(self) -> None:  # noqa: B027 - most have nothing to release
        """Release what belongs to this event loop, which is about to end; weights stay."""

    async def aclose(self) -> None:
        """Release connections and weights. Calling it twice is harmless."""
        await self.release()


def wait_for(call: Coroutine[Any, Any, Result], *generators: Generator) -> Result:
    """Run a call to its end and return its result.

    It gets an event loop of its own, and where one is running already, which cannot wait for
    itself, a thread of its own, too. The generators that it uses let go of what belongs to the loop
    before that ends.
    """

    async def work() -> Result:
        try:
            return await call
        finally:
            for generator in generators:
                await generator.release()

    if not _in_loop():
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, work()).result()


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
