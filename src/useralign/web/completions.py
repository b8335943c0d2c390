"""An endpoint in OpenAI's format: of several answers of a model, the one that fits the person.

An application changes its base URL and nothing else. The model behind writes several candidates;
the one is returned that fits the person named in `user`, by what is remembered of them. The others
come with it in the field `useralign`, so that an interface may show them and send back which was
taken: that is what memory learns from.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from useralign import models
from useralign.errors import AnswerError, ModelAnswerError, UpstreamError, UseralignError
from useralign.models.generator import as_chunks, content_text
from useralign.pool import Pool
from useralign.store import UserResponse
from useralign.web import start_session
from useralign.web.api import Strict, Text
from useralign.web.identity import Caller, caller_of, person_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from useralign.models import Generator
    from useralign.web.settings import Settings

    Replies = asyncio.Task[list[dict[str, Any]]]
    Chunks = AsyncIterator[dict[str, Any]]

router = APIRouter(prefix="/v1", tags=["completions"])
CANDIDATES = 4
MOST_CANDIDATES = 9
UNANSWERED = 20  # the newest sessions of a person that wait for feedback
MOST_NAMES = 100  # names of models that are remembered
_END = "data: [DONE]\n\n"
# Requests in which another answer is no alternative are passed on as they are.
_PASSED_ON = ("tools", "functions", "response_format", "logprobs", "audio", "modalities")
_USUAL = ({"type": "text"}, ["text"])  # what is asked for where nothing else is

User = Annotated[Text, Field(min_length=1, max_length=1000)]
Named = Annotated[User | None, BeforeValidator(lambda name: None if name == "" else name)]


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
    user: Named = Field(None, description="Who it is for: a name that only you can link.")
    safety_identifier: Named = Field(None, description="The same under its newer name.")
    n: int | None = Field(None, ge=1, le=128)
    seed: int | None = Field(None, ge=-(2**53), le=2**53)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    useralign: Annotated[Options, Field(default_factory=Options)]

    @model_validator(mode="before")
    @classmethod
    def _is_sendable(cls, data: Any) -> Any:
        """Refuse what cannot be passed on: most of it is looked at by the model behind alone."""
        try:
            json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError:
            raise ValueError("must not contain half a character (a lone surrogate)") from None
        except ValueError:
            raise ValueError("must not contain numbers that JSON has not, such as NaN") from None
        except RecursionError:
            raise ValueError("must not be nested so deeply") from None
        return data

    @property
    def person(self) -> str | None:
        """Who it is for."""
        return self.user or self.safety_identifier

    @property
    def candidates(self) -> int:
        """How many answers to choose from; 1 where it is to be passed on as it is."""
        others = self.model_extra or {}
        special = [others[name] for name in _PASSED_ON if others.get(name)]
        plain = any(value not in _USUAL for value in special) or (self.n or 1) > 1
        alike = others.get("temperature") == 0
        return 1 if plain or alike else self.useralign.candidates

    @property
    def counted(self) -> bool:
        """Whether a stream is to end with what was used."""
        return bool((self.stream_options or {}).get("include_usage"))

    def sent(self, model: str, number: int) -> dict[str, Any]:
        """Return what is sent to the model behind, for one of the candidates."""
        ours = {"useralign", "stream", "stream_options", "model"}
        body = self.model_dump(exclude=ours, exclude_unset=True) | {"model": model}
        return body if self.seed is None else body | {"seed": self.seed + number}

    def streamed(self, model: str) -> dict[str, Any]:
        """Return the same for the first candidate, to be streamed."""
        options = self.stream_options if self.candidates == 1 else {"include_usage": True}
        return self.sent(model, 0) | ({"stream_options": options} if options else {})


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


@dataclass
class Upstream:
    """A model behind, and under which name to ask for it."""

    generator: Generator
    model: str
    several: bool = True  # whether it writes several answers to one call, as far as is known

    async def ask(self, body: ChatRequest, numbers: range) -> list[dict[str, Any]]:
        """Return the replies to some of the candidates' requests that came, each with one choice.

        One call has them all, so that the prompt is paid for once, if the model knows `n` and needs
        no seed. Raises what the first failed by if none came.
        """
        replies: list[dict[str, Any]] = []
        if len(numbers) > 1 and self.several and body.seed is None:
            replies = await self._ask_at_once(body.sent(self.model, numbers[0]), len(numbers))
            self.several = len(replies) == len(numbers)
        missing = [body.sent(self.model, number) for number in numbers[len(replies) :]]
        calls = (self.generator.relay(request) for request in missing)
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        replies += [reply for reply in outcomes if isinstance(reply, dict) and _is_whole(reply)]
        for failure in outcomes:
            if isinstance(failure, BaseException) and not replies:
                raise failure
        if numbers and not replies:
            raise ModelAnswerError("the model behind answered without any choices; expected one")
        return replies

    async def _ask_at_once(self, request: dict[str, Any], count: int) -> list[dict[str, Any]]:
        """Ask for several in one call; fewer come from a model that does not know how."""
        try:
            reply = await self.generator.relay(request | {"n": count})
        except UpstreamError as error:
            if error.status not in (400, 422):
                raise
            reply = await self.generator.relay(request)  # it may mind something else
        if not _is_whole(reply):
            return []
        first, *others = reply["choices"]
        return [
            reply | {"choices": [first]},
            *({**reply, "choices": [c], "usage": None} for c in others),
        ]


class Upstreams:
    """The models behind, by the names under which they are asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, Upstream] = {}

    def find(self, name: str) -> Upstream:
        """Return the model behind a name: one that is at hand; an address leads nowhere."""
        if name in self._known:
            return self._known[name]
        local = name if name in {choice.name for choice in models.available()} else None
        generator = self._settings.generator(local or self._settings.upstream)
        upstream = Upstream(generator, ("" if local else name) or generator.model)
        if len(self._known) < MOST_NAMES:
            self._known[name] = upstream
        return upstream

    async def close(self) -> None:
        """Close their connections."""
        for upstream in self._known.values():
            await upstream.generator.aclose()


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
    upstream, live = await run_in_threadpool(_prepare, state, caller, owner, body)
    rest = asyncio.create_task(upstream.ask(body, range(live, body.candidates)))
    try:
        if live:
            try:
                chunks = await _begun(upstream.generator.stream(body.streamed(upstream.model)))
                events = _live(state, owner, body, chunks, rest)
                return StreamingResponse(events, media_type="text/event-stream")
            except UseralignError:
                if body.candidates == 1:
                    raise
        replies = await rest
    except UpstreamError as error:
        return Response(error.body, error.status, error.headers)
    result = await run_in_threadpool(_result, state, owner, body, replies)
    if not body.stream:
        return Response(json.dumps(result), media_type="application/json")
    return StreamingResponse(_events(result, body.counted), media_type="text/event-stream")


@router.post("/feedback")
def learn(request: Request, caller: Caller, body: Feedback) -> FeedbackOut:
    """Send which alternative somebody took; the same again changes nothing.

    From then on, unless `remember` is false, their choices decide which answers they get.
    """
    state, owner = request.app.state, person_owner(request, body.user)
    state.limits.answers.take(f"{caller} {owner}")
    stored = state.live.open(body.session, owner)
    candidates = stored.candidates_at(0)
    if body.choice is not None and body.choice not in candidates:
        raise AnswerError(f"choice {body.choice}: expected 0 to {len(candidates) - 1}, or null")
    position = None if body.choice is None else candidates.index(body.choice)
    kind = "neither" if position is None else "choice"
    stored.answer(0, UserResponse(kind, position=position))
    state.store.persons.visit(owner, state.settings.now())
    state.store.persons.allow(owner, remember=body.remember, share=body.share and body.remember)
    return FeedbackOut(session=stored.id, remembered=body.remember)


@router.delete("/people/{user:path}", status_code=204, dependencies=[Depends(caller_of)])
def forget(request: Request, user: Annotated[str, Path(min_length=1, max_length=1000)]) -> Response:
    """Forget somebody: all that was asked for them, and what they took."""
    request.app.state.store.persons.forget(person_owner(request, user))
    return Response(status_code=204)


def _prepare(
    state: Any, caller: str, owner: str | None, body: ChatRequest
) -> tuple[Upstream, bool]:
    """Return the model behind, and whether to stream its first answer: if none may fit better."""
    has_memory = False
    if owner is not None:
        state.limits.answers.take(f"{caller} {owner}")
        persons = state.store.persons
        has_memory = persons.get(owner).remember or persons.others_share(owner)
    live = bool(body.stream) and (body.candidates == 1 or not has_memory)
    return state.upstreams.find(body.model), live


async def _begun(chunks: Chunks) -> Chunks:
    """Return chunks of which the first is there; raise what it failed by."""
    try:
        first = await anext(chunks)
    except StopAsyncIteration:
        raise ModelAnswerError("the model behind answered with nothing; expected chunks") from None

    async def whole() -> Chunks:
        yield first
        async for chunk in chunks:
            yield chunk

    return whole()


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


def _result(
    state: Any, owner: str | None, body: ChatRequest, replies: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the reply that fits, with the alternatives beside it."""
    numbers: dict[str, int] = {}  # of the first reply with a text
    for number, reply in enumerate(replies):
        text = reply["choices"][0]["message"].get("content")
        if isinstance(text, str) and text.strip():
            numbers.setdefault(text, number)
    choice, extension = next(iter(numbers.values()), 0), {}
    if body.candidates > 1 and numbers:
        extension = _choose(state, owner, _question(body), list(numbers))
        choice = list(numbers.values())[extension["choice"]]
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion",
        "created": int(state.settings.now()),
        **replies[choice],
        "usage": _total([reply.get("usage") for reply in replies]),
        **({"useralign": extension} if extension else {}),
    }


def _events(result: dict[str, Any], counted: bool) -> Iterator[str]:
    """Return a completion as server-sent events; what is ours comes with its end."""
    ours = result.pop("useralign", None)
    for chunk in as_chunks(result):
        if chunk["choices"] and chunk["choices"][0]["finish_reason"] and ours:
            chunk["useralign"] = ours
        if chunk["choices"] or counted:
            yield _event(chunk)
    yield _END


async def _live(
    state: Any, owner: str | None, body: ChatRequest, chunks: Chunks, rest: Replies
) -> AsyncIterator[str]:
    """Stream the first answer as it is written; the alternatives come with its end."""
    text, usage, end = "", None, None
    try:
        async for chunk in chunks:
            piece, over = _read(chunk)
            end = chunk if over else end
            if body.candidates > 1 and "error" not in chunk:
                text += piece
                usage = chunk.pop("usage", None) or usage
                if over or not chunk.get("choices"):
                    continue
            yield _event(chunk)
            if "error" in chunk:
                return
        if end is None:
            yield _event({"error": {"message": "The model behind broke off its answer."}})
            return
        if body.candidates > 1:
            replies = [{"choices": [{"message": {"content": text}}], "usage": usage}]
            with contextlib.suppress(UseralignError):
                replies += await rest
            result = await run_in_threadpool(_result, state, owner, body, replies)
            if text.strip():  # else it is no alternative
                end["useralign"] = result["useralign"] | {"choice": 0, "by": "first"}
            yield _event(end)
            if body.counted:
                yield _event(end | {"choices": [], "usage": result["usage"]})
        yield _END
    finally:
        rest.cancel()
        await asyncio.wait([rest])


def _read(chunk: Mapping[str, Any]) -> tuple[str, bool]:
    """Return what a chunk adds to the text, and whether it is the end of it."""
    match chunk:
        case {"choices": [{"delta": dict() as delta, **rest}, *_]}:
            return str(delta.get("content") or ""), bool(rest.get("finish_reason"))
    return "", False


def _event(chunk: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def _question(body: ChatRequest) -> str:
    """Return what was asked last."""
    turns = [content_text(m.get("content")) for m in body.messages if m.get("role") == "user"]
    return _clean(turns[-1])[:4000] if turns else ""


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
    if source := settings["page"].get("known"):
        extension |= {"choice": screen.best, "by": source}
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
