"""OpenAI's format: writing requests, and reading replies.

A reply is data from elsewhere: nothing about it is assumed. The client's own reply types do not
validate, so replies are read from plain JSON here.
"""

from __future__ import annotations

import base64
import binascii
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from useralign.checks import is_finite, is_whole
from useralign.errors import ModelAnswerError, OptionError
from useralign.models.generator import TextRequest, Usage, picture_suffix

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator, Mapping

    from useralign.models.generator import Generator, Text

_MOST_QUOTED = 200
_MOST_TOKENS = 512  # to write, where a request does not say
_PIECE = 48  # characters of a chunk
_BEYOND_TEXT = ("tools", "functions", "response_format", "logprobs", "audio")
_MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}


class CutShortError(ModelAnswerError):
    """A reply that ended too early: worth one more try."""


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


@runtime_checkable
class SpeaksChat(Protocol):
    """A generator that takes chat completions as they are, with all that its model knows."""

    async def relay(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply as it is; what the model refuses is an `UpstreamError`."""

    def stream(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the chunks of the reply as they come."""


async def relay(generator: Generator, body: Mapping[str, Any]) -> dict[str, Any]:
    """Have a chat completion answered, tried once: as it is where it can be, else by one text."""
    if isinstance(generator, SpeaksChat):
        return await generator.relay(body)
    return completion(await generator.text(chat_request(body)))


async def stream(generator: Generator, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Have it answered in chunks: as they come where they do, else all at the end."""
    if isinstance(generator, SpeaksChat):
        async for chunk in generator.stream(body):
            yield chunk
    else:
        for chunk in chunks(await relay(generator, body)):
            yield chunk


def chunks(reply: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
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


def parse_reply(raw: bytes, where: str) -> dict[str, Any]:
    """Parse the body of a successful answer as a JSON object.

    Raises `CutShortError` if it looks like JSON that was cut short, and `ModelAnswerError` if it is
    something else altogether, such as a web page.
    """
    body = raw.strip()
    if body.startswith(b"<"):
        raise ModelAnswerError(
            f"{where} answered with a web page instead of JSON; is the address right? "
            "It usually ends in /v1"
        )
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise CutShortError(
            f"{where} answered with {len(raw)} bytes that are not complete JSON; it was cut "
            "short, or is not an OpenAI-compatible service"
        ) from None
    if not isinstance(data, dict):
        raise ModelAnswerError(
            f"{where} answered with a JSON {type(data).__name__}, expected an object"
        )
    return data


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


def picture(data: dict[str, Any], where: str) -> tuple[bytes, str]:
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
