"""The contract of a generator, what it is asked for and what it returns.

Requests and replies have our own form, and OpenAI's, in which services are spoken to and others may
speak to us. What comes in that form is data from elsewhere: nothing about it is assumed.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from abc import ABC
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.checks import is_finite, is_whole
from useralign.errors import ModelAnswerError, ModelUnavailableError, OptionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping

Result = TypeVar("Result")
_MOST_TOKENS = 512  # to write, where a chat completion does not say
_MOST_QUOTED = 200
_PIECE = 48  # characters of a chunk
_BEYOND_TEXT = ("tools", "functions", "response_format", "logprobs", "audio")
_MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
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


def chat_body(
    model: str, request: TextRequest, left_out: Collection[str] = (), seed: str = "seed"
) -> dict[str, Any]:
    """Write a request as a chat completion.

    `left_out` are parts that the service does not know: "response_format", "min_p", "seed",
    "temperature"; "max_tokens" is then sent under its newer name. `seed` is what it calls the seed.
    """
    body: dict[str, Any] = {"model": model, "messages": _messages(request)}
    if "temperature" not in left_out:
        body["temperature"] = request.temperature
    newer = "max_tokens" in left_out
    body["max_completion_tokens" if newer else "max_tokens"] = request.max_tokens
    if request.seed is not None and "seed" not in left_out:
        body[seed] = request.seed
    if request.min_p is not None and "min_p" not in left_out:
        body["min_p"] = request.min_p
    if request.schema is not None and "response_format" not in left_out:
        schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _messages(request: TextRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for prompt, reply in request.examples:
        messages.append({"role": "user", "content": prompt})
        messages.append({"role": "assistant", "content": reply})
    content: Any = request.prompt
    if request.images:
        content = [{"type": "text", "text": content}, *map(_image_part, request.images)]
    return [*messages, {"role": "user", "content": content}]


def _image_part(path: str) -> dict[str, Any]:
    """Return a picture as a part of a message, with its bytes in it."""
    data = Path(path).read_bytes()
    kind = _MEDIA_TYPES.get(picture_suffix(data) or "", "image/webp")
    address = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": address, "detail": "low"}}


def reported_usage(data: dict[str, Any]) -> Usage:
    """Return one call with the tokens that its answer reports, for chats and for pictures."""
    usage = data.get("usage")
    if not isinstance(usage, dict):
        return Usage(1)
    return Usage(
        1,
        _count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        _count(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def chat_text(data: dict[str, Any], where: str) -> tuple[str, str]:
    """Return the text of a chat completion, and why it ended; of several choices, the first.

    Raises `ModelAnswerError` if there is none: no choices, a refusal, a content filter.
    """
    choice = _first(data.get("choices"))
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise ModelAnswerError(f"{where} answered without any choices; expected one{_reason(data)}")
    refusal, content = message.get("refusal"), message.get("content")
    if isinstance(refusal, str) and refusal:
        raise ModelAnswerError(f"{where} refused: {shorten(refusal)}")
    finish = str(choice.get("finish_reason") or "stop")
    if finish == "content_filter":
        raise ModelAnswerError(f"{where} refused: its content filter stopped the answer")
    if not isinstance(content, str) or not content.strip():
        got = "an empty text" if isinstance(content, str) else f"{type(content).__name__}"
        hint = "; a larger max_tokens may help" if finish == "length" else ""
        raise ModelAnswerError(f"{where} answered with {got} as content, expected a text{hint}")
    return content, finish


def picture_data(data: dict[str, Any], where: str) -> tuple[bytes, str]:
    """Return the bytes of the first picture of an answer, and their media type.

    Raises `ModelAnswerError` if there is none, or it is not an image file. An address in its place
    is not followed: where it leads is the service's choice, not the user's.
    """
    item = _first(data.get("data"))
    if item is None:
        raise ModelAnswerError(f"{where} answered without any picture; expected one{_reason(data)}")
    encoded = item.get("b64_json")
    if not isinstance(encoded, str):
        raise ModelAnswerError(
            f"{where} answered with {', '.join(map(repr, item)) or 'nothing'} in place of the "
            "picture; expected b64_json (addresses are not followed)"
        )
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise ModelAnswerError(f"{where}: the picture is not valid base64, or cut short") from None
    if media_type := _MEDIA_TYPES.get(picture_suffix(content) or ""):
        return content, media_type
    raise ModelAnswerError(f"{where}: {len(content)} bytes that are not PNG, JPEG, WebP or GIF")


def shorten(text: str) -> str:
    """Fit a text from elsewhere into a message: one line, printable, not long."""
    line = " ".join(
        "".join(c if c.isprintable() else " " for c in text[: 4 * _MOST_QUOTED]).split()
    )
    return line if len(line) <= _MOST_QUOTED else line[: _MOST_QUOTED - 1] + "…"


def error_message(body: object) -> str:
    """Return the message in the body of an error reply, shortened; empty when it has none."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        # Mistral's is a list of what it minds.
        if isinstance(message, dict | list):
            message = json.dumps(message)
        return shorten(message) if isinstance(message, str) else ""
    if isinstance(body, str) and not body.lstrip().startswith("<"):
        return shorten(body)
    return ""


def _reason(data: dict[str, Any]) -> str:
    reason = error_message(data) if "error" in data else ""
    return f" (it says: {reason})" if reason else ""


def _first(items: object) -> dict[str, Any] | None:
    if isinstance(items, list) and items and isinstance(items[0], dict):
        return items[0]
    return None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def chat_request(body: Mapping[str, Any]) -> TextRequest:
    """Read a chat completion as a request for one text; the inverse of `chat_body`.

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
