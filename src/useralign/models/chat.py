"""OpenAI's format as a client has it: writing requests, and reading replies.

A reply is data from elsewhere: nothing about it is assumed. The client's own reply types do not
validate, so replies are read from plain JSON here.
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import ModelAnswerError
from useralign.models.generator import Usage, picture_suffix

if TYPE_CHECKING:
    from collections.abc import Collection

    from useralign.models.generator import TextRequest

_MOST_QUOTED = 200
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
