"""An endpoint in OpenAI's format: of several answers of a model, the one that fits the person.

An application changes its base URL and nothing else. The model behind writes several candidates;
the one is returned that fits the person named in `user`, by what is remembered of them. The others
come with it in the field `useralign`, so that an interface may show them and send back which was
taken: that is what memory learns from.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from useralign import models
from useralign.errors import AnswerError, ModelAnswerError, UpstreamError
from useralign.models import chat
from useralign.models.openai import OpenAI
from useralign.pool import Pool
from useralign.store import UserResponse
from useralign.web import start_session
from useralign.web.api.models import Strict, Text
from useralign.web.identity import Caller, caller_of, person_owner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from useralign.models import Generator
    from useralign.web.settings import Settings

router = APIRouter(prefix="/v1", tags=["completions"])
CANDIDATES = 4
MOST_CANDIDATES = 9
UNANSWERED = 20  # the newest sessions of a person that wait for feedback
PIECE = 48  # characters of a chunk that is streamed
MOST_NAMES = 100  # names of models that are remembered
# Requests in which another answer is no alternative are passed on as they are.
_PASSED_ON = ("tools", "functions", "response_format", "logprobs", "audio", "modalities")

User = Annotated[Text, Field(min_length=1, max_length=1000)]


class Options(Strict):
    """How to personalise."""

    candidates: int = Field(
        CANDIDATES, ge=1, le=MOST_CANDIDATES, description="How many the model behind writes."
    )


class ChatRequest(BaseModel):
    """A chat completion in OpenAI's format; what is not named here is passed on."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {"user": "ada", "messages": [{"role": "user", "content": "What shall I cook?"}]}
            ]
        },
    )

    messages: list[dict[str, Any]] = Field(min_length=1, max_length=2000)
    model: Annotated[Text, Field(max_length=200)] = Field(
        "", description="A name of `GET /v1/models`; any other is passed on to the model behind."
    )
    user: User | None = Field(None, description="Who it is for: a name that only you can link.")
    safety_identifier: User | None = Field(None, description="The same under its newer name.")
    n: int | None = Field(None, ge=1, le=128)
    seed: int | None = Field(None, ge=-(2**53), le=2**53)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    useralign: Annotated[Options, Field(default_factory=Options)]

    @property
    def person(self) -> str | None:
        """Who it is for."""
        return self.user or self.safety_identifier

    @property
    def candidates(self) -> int:
        """How many answers to choose from; 1 where it is to be passed on as it is."""
        others = self.model_extra or {}
        plain = any(others.get(name) for name in _PASSED_ON) or (self.n or 1) > 1
        return 1 if plain else self.useralign.candidates

    def sent(self, model: str, number: int) -> dict[str, Any]:
        """Return what is sent to the model behind, for one of the candidates."""
        ours = {"useralign", "stream", "stream_options", "model"}
        body = self.model_dump(exclude=ours, exclude_unset=True) | {"model": model}
        return body if self.seed is None else body | {"seed": self.seed + number}


class Feedback(Strict):
    """Which answer somebody took."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user": "ada", "session": "SESSION_ID", "choice": 2}]}
    )

    user: User = Field(description="As in the request.")
    session: Text = Field(max_length=200, description="As in the field `useralign` of the reply.")
    choice: int | None = Field(description="The index of the alternative; null: none would do.")
    remember: bool = Field(True, description="Whether the person lets their choices be remembered.")
    share: bool = Field(
        False, description="Whether what they choose may count for people who are unknown here."
    )


class FeedbackOut(BaseModel):
    """What was learnt."""

    session: str
    remembered: bool


class Upstreams:
    """The models behind, by the names under which they are asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[Generator, str]] = {}

    def find(self, name: str) -> tuple[Generator, str]:
        """Return a generator, and the model to ask it for.

        Only models that are at hand can be named: an address in a request leads nowhere.
        """
        if name not in self._known:
            named = name if name in {choice.name for choice in models.available()} else None
            generator = self._settings.generator(named or self._settings.upstream)
            passed = "" if named else name
            if len(self._known) >= MOST_NAMES:
                return generator, passed or generator.model
            self._known[name] = generator, passed or generator.model
        return self._known[name]

    async def close(self) -> None:
        """Close their connections."""
        for generator, _ in self._known.values():
            await generator.aclose()


@router.get("/models")
def list_models(request: Request, _: Caller) -> dict[str, Any]:
    """List the models that can be asked for, in OpenAI's format."""
    upstream = request.app.state.settings.upstream
    names = [*([upstream] if upstream else []), *(choice.name for choice in models.available())]
    rows = [
        {"id": name, "object": "model", "created": 0, "owned_by": "useralign"}
        for name in dict.fromkeys(names)
    ]
    return {"object": "list", "data": rows}


@router.post("/chat/completions", response_model=None)
async def complete(request: Request, caller: Caller, body: ChatRequest) -> Response:
    """Answer as the model behind does: with the one of its answers that fits the person."""
    state = request.app.state
    owner = person_owner(request, body.person) if body.person else None
    state.limits.answers.take(f"{caller} {owner}")
    generator, model = await run_in_threadpool(state.upstreams.find, body.model)
    try:
        replies = await _replies(generator, [body.sent(model, k) for k in range(body.candidates)])
    except UpstreamError as error:
        return Response(error.body, error.status, error.headers)
    alternatives = list({text: k for k, text in reversed(_texts(replies))}.items())[::-1]
    reply = replies[alternatives[0][1]] if alternatives else replies[0]
    extension: dict[str, Any] = {}
    if body.candidates > 1 and alternatives:
        texts = [text for text, _ in alternatives]
        extension = await run_in_threadpool(_choose, state, owner, _question(body), texts)
        reply = replies[alternatives[extension["choice"]][1]]
    result = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion",
        "created": int(state.settings.now()),
        **reply,
        "usage": _total([reply.get("usage") for reply in replies]),
        **({"useralign": extension} if extension else {}),
    }
    if not body.stream:
        return Response(json.dumps(result), media_type="application/json")
    counted = bool((body.stream_options or {}).get("include_usage"))
    return StreamingResponse(_chunks(result, counted), media_type="text/event-stream")


@router.post("/feedback")
def learn(request: Request, caller: Caller, body: Feedback) -> FeedbackOut:
    """Send which alternative somebody took; the same again changes nothing.

    From then on, unless `remember` is false, their choices decide which answers they get.
    """
    state, owner = request.app.state, person_owner(request, body.user)
    state.limits.answers.take(f"{caller} {owner}")
    stored = state.live.open(body.session, owner)
    shown = stored.candidates_at(0)
    if body.choice is not None and body.choice not in shown:
        raise AnswerError(f"choice {body.choice}: expected 0 to {len(shown) - 1}, or null")
    position = None if body.choice is None else shown.index(body.choice)
    kind = "neither" if position is None else "choice"
    stored.answer(0, UserResponse(kind, position=position))
    state.store.persons.visit(owner, state.settings.now())
    state.store.persons.allow(owner, remember=body.remember, share=body.share and body.remember)
    return FeedbackOut(session=stored.id, remembered=body.remember)


@router.delete("/people/{user}", status_code=204, dependencies=[Depends(caller_of)])
def forget(request: Request, user: Annotated[str, Path(min_length=1, max_length=1000)]) -> Response:
    """Forget somebody: all that was asked for them, and what they took."""
    request.app.state.store.persons.forget(person_owner(request, user))
    return Response(status_code=204)


async def _replies(
    generator: Generator, bodies: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Ask for all candidates at once; return those that came, or raise what the first failed by."""

    async def ask(body: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(generator, OpenAI):
            return await generator.relay(body)
        return chat.completion(await generator.text(chat.chat_request(body)))

    replies = await asyncio.gather(*map(ask, bodies), return_exceptions=True)
    good = [reply for reply in replies if isinstance(reply, dict) and _is_whole(reply)]
    if good:
        return good
    first = replies[0]
    if isinstance(first, BaseException):
        raise first
    raise ModelAnswerError("the model behind answered without any choices; expected one")


def _is_whole(reply: Mapping[str, Any]) -> bool:
    """Whether a reply has choices with messages: it comes from elsewhere, and may be anything."""
    choices = reply.get("choices")
    return (
        bool(choices)
        and isinstance(choices, list)
        and all(
            isinstance(choice, dict) and isinstance(choice.get("message"), dict)
            for choice in choices
        )
    )


def _texts(replies: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """Return the texts of replies, with their numbers; those without one are left out."""
    texts = []
    for number, reply in enumerate(replies):
        text = reply["choices"][0]["message"].get("content")
        if isinstance(text, str) and text.strip():
            texts.append((number, text))
    return texts


def _question(body: ChatRequest) -> str:
    """Return what was asked last."""
    said = [chat.content_text(m.get("content")) for m in body.messages if m.get("role") == "user"]
    return _clean(said[-1])[:4000] if said else ""


def _choose(state: Any, owner: str | None, question: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return which text fits somebody, in a session of theirs that waits for feedback.

    Of somebody who is not named nothing is stored.
    """
    alternatives = [{"index": k, "content": text} for k, text in enumerate(texts)]
    extension: dict[str, Any] = {"choice": 0, "by": "first", "alternatives": alternatives}
    if owner is None or len(texts) < 2:
        return extension | {"session": None}
    pool = Pool.from_texts(question, [_clean(text) for text in texts])
    state.store.persons.visit(owner, state.settings.now())
    options = {"method": start_session.QUICK, "shown": len(texts), "budget": 1, "epsilon": None}
    settings = start_session.settings_for(state.store, pool, owner, options | {"seed": None})
    screen = state.live.create(state.store.pools.add(pool, owner), owner, settings)
    state.live.trim(owner, UNANSWERED)
    extension["session"] = screen.session_id
    if known := settings["page"].get("known"):
        extension |= {"choice": screen.best, "by": known}
    return extension


def _clean(text: str) -> str:
    """Return a text that a database can hold."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "")


def _total(values: Sequence[Any]) -> Any:
    """Add up what several calls used, field by field."""
    tables = [value for value in values if isinstance(value, dict)]
    if tables:
        names = dict.fromkeys(name for table in tables for name in table)
        return {name: _total([table.get(name) for table in tables]) for name in names}
    return sum(value for value in values if isinstance(value, int | float))


def _chunks(result: Mapping[str, Any], counted: bool) -> Iterator[str]:
    """Return a completion as server-sent events, as a client that streams expects them."""
    head = {key: value for key, value in result.items() if key not in ("choices", "useralign")}
    head |= {"object": "chat.completion.chunk", "usage": None}
    last = {"useralign": result["useralign"]} if "useralign" in result else {}

    def event(choices: list[dict[str, Any]], **more: Any) -> str:
        return f"data: {json.dumps(head | {'choices': choices} | more)}\n\n"

    for choice in result["choices"]:
        message, index = dict(choice["message"]), choice.get("index", 0)
        text = str(message.pop("content", None) or "")
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
        start = {"index": index, "finish_reason": None}
        yield event([start | {"delta": message | {"content": "" if text else None}}])
        for place in range(0, len(text), PIECE):
            yield event([start | {"delta": {"content": text[place : place + PIECE]}}])
        end = {"index": index, "finish_reason": choice.get("finish_reason"), "delta": {}}
        yield event([end], **last)
    if counted:
        yield event([], usage=result["usage"])
    yield "data: [DONE]\n\n"
