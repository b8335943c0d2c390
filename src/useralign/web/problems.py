"""Errors as answers: application/problem+json (RFC 9457) for the API, a page for people."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from useralign.errors import (
    ConflictError,
    InputError,
    MissingExtraError,
    ModelError,
    ModelUnavailableError,
    NotFoundError,
    SessionStateError,
    StoreError,
    UseralignError,
)
from useralign.web.identity import OPENAI
from useralign.web.rendering import page

if TYPE_CHECKING:
    from starlette.requests import Request

    from useralign.web.settings import Settings

# The first that fits counts.
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (NotFoundError, 404),
    (ConflictError, 409),
    (SessionStateError, 409),
    (InputError, 422),
    (MissingExtraError, 501),
    (ModelUnavailableError, 503),
    (ModelError, 502),
    (StoreError, 503),
)
RETRY_AFTER = "5"  # seconds, while the database is away
# What the framework says in a word, as a sentence.
PLAIN = {
    404: "There is nothing at this address.",
    405: "This address does not take that kind of request.",
}
PROGRAMS = ("/api", "/mcp", OPENAI)  # where addresses begin that are not for browsers
# Addresses of services, and paths of at least two folders.
_INSIDES = re.compile(r"(?<!\w)\w+://[^\s,;)]+|(?<![\w.~-])[~/](?:[\w.~-]+/)+[\w.~-]*")
_LONGEST = 20_000  # characters of an error that a stranger is told
_FRAMEWORKS = {"Not Found", "Method Not Allowed"}


def respond(request: Request, error: Exception) -> Response:
    """Return the answer to an error: a problem document for the API, a page elsewhere."""
    status, detail, headers = describe(error)
    title = HTTPStatus(status).phrase
    if isinstance(error, UseralignError):
        detail = _sentence(for_visitors(error, request.app.state.settings))
    if status == 405:
        headers |= _allowed(request)
    if wants_page(request):
        values = {"status": status, "title": title, "detail": detail}
        answer = page(request, "problem.html", **values, status_code=status)
        answer.headers.update(headers)
        return answer
    extra: dict[str, Any] = {}
    if isinstance(error, RequestValidationError):
        rows = error.errors()[:20]
        extra["errors"] = [{"field": _field_path(row), "message": row["msg"]} for row in rows]
    if request.url.path.startswith(OPENAI):  # in the form that its clients know
        about = {"message": detail, "type": title, "param": None, "code": None}
        return JSONResponse({"error": about | extra}, status, headers)
    content = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": request.url.path,
    }
    return JSONResponse(content | extra, status, headers, media_type="application/problem+json")


def wants_page(request: Request) -> bool:
    """Return whether an error shall be a page: not for programs, nor for our own script."""
    path = request.url.path
    if path.startswith(PROGRAMS) or path.endswith("/state"):
        return False
    return "application/json" not in request.headers.get("accept", "")


def describe(error: Exception) -> tuple[int, str, dict[str, str]]:
    """Return the status, a sentence for people, and headers; nothing of our insides."""
    if isinstance(error, HTTPException):
        detail = str(error.detail)
        sentence = PLAIN.get(error.status_code, detail) if detail in _FRAMEWORKS else detail
        return error.status_code, sentence, dict(error.headers or {})
    if isinstance(error, RequestValidationError):
        wrong = [f"{_field_path(row)}: {row['msg']}" for row in error.errors()[:5]]
        return 422, _sentence("; ".join(wrong) or "The request is not understood"), {}
    for kind, status in STATUS:
        if isinstance(error, kind):
            headers = {"Retry-After": RETRY_AFTER} if kind is StoreError else {}
            return status, _sentence(str(error)), headers
    return 500, "Something went wrong on this server.", {}


def _allowed(request: Request) -> dict[str, str]:
    """Return all methods of an address of the API; the framework names those of one route."""
    for template, verbs in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), request.url.path):
            return {"Allow": ", ".join(sorted(verb.upper() for verb in verbs))}
    return {}


def for_visitors(error: Exception, settings: Settings) -> str:
    """Return the text of an error; to strangers without the paths and addresses in it."""
    text = str(error)
    if settings.loopback or not isinstance(error, ModelError | StoreError):
        return text
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rsplit(" ", 1)[0] + " ..."  # not within a path
    return _INSIDES.sub("...", text)


def _sentence(text: str) -> str:
    if not re.match(r"\w+:\S", text):  # addresses and names stay as they are written
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _field_path(row: dict[str, Any]) -> str:
    return ".".join(str(part) for part in row["loc"] if part != "body") or "body"
