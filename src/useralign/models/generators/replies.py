"""Reading what a service sends back. It is data from elsewhere: nothing about it is assumed."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from useralign.errors import ModelAnswerError
from useralign.models.generators.retry import TransientError

SHOWN = 200
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
    b"GIF8": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The counts that a service reports; 0 where it reports none."""

    input: int = 0
    output: int = 0


def parse(raw: bytes, where: str) -> dict[str, Any]:
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
    TransientError
        If it looks like JSON that was cut short, which is worth one more try.
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
        cut = ModelAnswerError(
            f"{where} answered with {len(raw)} bytes that are not complete JSON; it was cut "
            "short, or is not an OpenAI-compatible service"
        )
        raise TransientError(cut, tries=2) from None
    if not isinstance(data, dict):
        raise ModelAnswerError(
            f"{where} answered with a JSON {type(data).__name__}, expected an object"
        )
    return data


def tokens_of(data: dict[str, Any]) -> Tokens:
    """Return the usage that an answer reports, for chats and for pictures."""
    usage = data.get("usage")
    if not isinstance(usage, dict):
        return Tokens()
    return Tokens(
        _count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        _count(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def chat_text(data: dict[str, Any], where: str) -> tuple[str, str]:
    """Return the text of a chat completion, and why it ended.

    When a service sends more choices than were asked for, the first is taken.

    Raises
    ------
    ModelAnswerError
        If there is no text: no choices, a refusal, a content filter, or nothing.
    """
    choice = _first(data.get("choices"))
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise ModelAnswerError(f"{where} answered without any choices; expected one{_why(data)}")
    refusal, content = message.get("refusal"), message.get("content")
    if isinstance(refusal, str) and refusal:
        raise ModelAnswerError(f"{where} refused: {short(refusal)}")
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
        raise ModelAnswerError(f"{where} answered without any picture; expected one{_why(data)}")
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


def short(text: str) -> str:
    """Fit a text from elsewhere into a message: one line, printable, not long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * SHOWN]).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def said(body: object) -> str:
    """Return what the body of an error answer says, in brief."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return short(message) if isinstance(message, str) else ""
    if isinstance(body, str) and not body.lstrip().startswith("<"):
        return short(body)
    return ""


def _why(data: dict[str, Any]) -> str:
    reason = said(data) if "error" in data else ""
    return f" (it says: {reason})" if reason else ""


def _first(items: object) -> dict[str, Any] | None:
    if isinstance(items, list) and items and isinstance(items[0], dict):
        return items[0]
    return None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
