"""OpenAI's format: writing requests, and reading replies.

A reply is data from elsewhere: nothing about it is assumed. The client's own reply types do not
validate, so replies are read from plain JSON here.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from useralign.errors import ModelAnswerError

if TYPE_CHECKING:
    from useralign.models.generator import TextRequest

_MOST_QUOTED = 200
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
    b"GIF8": "image/gif",
}


class CutShortError(ModelAnswerError):
    """A reply that ended too early: worth one more try."""


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
        turn
        for prompt, reply in request.examples
        for turn in (("user", prompt), ("assistant", reply))
    ]
    messages = [*system, *turns, ("user", request.prompt)]
    return [{"role": role, "content": content} for role, content in messages]


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The counts that a service reports; 0 where it reports none."""

    input: int = 0
    output: int = 0


def parse_reply(raw: bytes, where: str) -> dict[str, Any]:
    """Read the body of a successful answer as a JSON object.

    Parameters
    ----------
    raw : bytes
    where : str
        The service, for messages.

    Raises
    ------
    ModelAnswerError
        If it is something else altogether, such as a web page.
    CutShortError
        If it looks like JSON that was cut short.
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


def token_counts(data: dict[str, Any]) -> TokenCounts:
    """Return the usage that an answer reports, for chats and for pictures."""
    usage = data.get("usage")
    if not isinstance(usage, dict):
        return TokenCounts()
    return TokenCounts(
        _count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        _count(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def chat_text(data: dict[str, Any], where: str) -> tuple[str, str]:
    """Return the text of a chat completion, and why it ended.

    When a service sends more choices than one, the first is taken.

    Raises
    ------
    ModelAnswerError
        If there is no text: no choices, a refusal, a content filter, or nothing.
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

    Raises
    ------
    ModelAnswerError
        If there is none, or it is not an image file. An address in place of the picture is
        not followed: where it leads is the service's choice, not the user's.
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
    for magic, media_type in _MAGIC.items():
        if content.startswith(magic):
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
