"""An MCP server: an assistant asks its person a few screens, in the same sessions as the page.

`personalise` asks by itself, by a form per screen, where the client can show one (elicitation).
Elsewhere the assistant relays: `begin`, `choose`, `undo`, `result`. Who calls is the key of the
request, or this machine; what is remembered of them is a resource.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from mcp import MCPError
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import is_version_at_least
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from useralign import __version__
from useralign.errors import AnswerError, ModelUnavailableError, NotFoundError, UseralignError
from useralign.memory import describe
from useralign.memory.from_store import memory_of
from useralign.pool import Candidate, Pool
from useralign.pooling import PoolRequest, check_question
from useralign.reasons import leanings, why
from useralign.store import UserResponse, digest
from useralign.web import start_session, words
from useralign.web.api import MOST_CANDIDATES, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.datastructures import State
    from starlette.types import Receive, Scope, Send

    from useralign.store import PoolJob, Screen, StoredSession

T = TypeVar("T")
NONE, ENOUGH = "None of these", "Enough, take the best so far"
FORMLESS = "2026-07-28"  # from this protocol on a form is a reply, and no request of the server's
EXCERPT = 160  # characters of a candidate in a form's choices; its message has the whole of it
DAY = 24 * 3600.0  # how long somebody may look at a form
PAUSE = 0.2  # seconds between two looks at a job
SESSIONS = 10  # the newest of a person, from which their leanings are read
INSTRUCTIONS = (
    "Finds which of several answers fits the person best, in about three quick choices of theirs. "
    "Write 8 to 20 candidates that differ in kind and call `personalise`; never choose for the "
    "person. The resource useralign://memory says what they liked before, if they allow it."
)

Question = Annotated[Text, Field(max_length=4000, description="What the person asked.")]
Candidates = Annotated[
    list[Annotated[Text, Field(max_length=100_000)]] | None,
    Field(
        max_length=MOST_CANDIDATES,
        description="8 to 20 answers that differ, each complete in a sentence or two. Leave it out "
        "and a model of the server's writes them, if it has one.",
    ),
]
SessionId = Annotated[str, Field(max_length=200, description="As the first reply gave it.")]
Step = Annotated[int, Field(description="The step of the screen that the person saw.")]


class Assistant:
    """The tools and the resource, over the state of an application of `create_app`.

    Without an owner, who calls is whom each request comes from.
    """

    def __init__(self, state: State, owner: str | None = None) -> None:
        self._state = state
        self._owner = owner

    @property
    def owner(self) -> str:
        """Who calls now."""
        if self._owner is not None:
            return self._owner
        if (token := get_access_token()) is None:
            raise NotFoundError("nobody is known to have made this request")
        return token.client_id

    def server(self) -> MCPServer:
        """Build the server."""
        secret = digest(f"mcp {self._state.settings.secret}")
        server = MCPServer(
            "useralign",
            instructions=INSTRUCTIONS,
            version=__version__,
            log_level="WARNING",  # what it says below names sessions
            request_state_security=RequestStateSecurity(keys=[secret], ttl=DAY),
        )
        tools = (self.personalise, self.begin, self.choose, self.undo, self.result, self.remember)
        for tool in tools:
            reads = ToolAnnotations(read_only_hint=tool == self.result, destructive_hint=False)
            about = inspect.getdoc(tool)
            server.add_tool(tool, description=about, annotations=reads, structured_output=False)
        server.resource(
            "useralign://memory",
            name="memory",
            title="What the person liked before",
            mime_type="text/plain",
        )(self.memory)
        return server

    async def personalise(
        self, question: Question, ctx: Context, candidates: Candidates = None
    ) -> CallToolResult | InputRequiredResult:
        """Let the person choose among answers on a few screens, and return their shortlist.

        It shows the screens to the person itself where the client can; elsewhere it returns the
        first one, for you to relay.
        """
        with _as_tool_errors():
            owner = self.owner
            if ctx.request_state:
                session_id, _, step = ctx.request_state.partition(" ")
                stored = await self._compute(self._state.live.open, session_id, owner)
                reply = (ctx.input_responses or {}).get("choice")
                if (ending := await self._compute(_hear, stored, int(step), reply)) is not None:
                    return ending
            else:
                stored = await self._begin(ctx, owner, question, candidates)
            taste = await self._compute(self._known, owner)
            return await self._ask_by_forms(ctx, stored, taste)

    async def begin(
        self, question: Question, ctx: Context, candidates: Candidates = None
    ) -> CallToolResult:
        """Begin to ask the person, and return the first screen for you to relay to them."""
        with _as_tool_errors():
            stored = await self._begin(ctx, self.owner, question, candidates)
            taste = await self._compute(self._known, stored.owner)
            return await self._compute(_show, stored, taste)

    async def choose(
        self,
        session: SessionId,
        step: Step,
        choice: Annotated[
            str,
            Field(
                description='The number that the person chose, "none" or "enough".',
                coerce_numbers_to_str=True,  # assistants write numbers as they like
            ),
        ],
    ) -> CallToolResult:
        """Record what the person chose on a screen, and return the next one or the shortlist.

        After the end: the number of the one on the shortlist that the person takes.
        """
        with _as_tool_errors():
            return await self._compute(self._answer, session, step, choice)

    async def undo(self, session: SessionId, step: Step) -> CallToolResult:
        """Take back the person's last choice, and return its screen."""
        with _as_tool_errors():
            return await self._compute(self._answer, session, step, None)

    async def result(self, session: SessionId) -> CallToolResult:
        """Return where a session stands: its screen, or the shortlist and why."""
        with _as_tool_errors():
            return await self._compute(self._look, session)

    def remember(
        self, allow: Annotated[bool, Field(description="What the person said when asked.")]
    ) -> str:
        """Let the person's choices, earlier ones too, count for their next questions, or stop to.

        Only if the person said so. Nothing counts before.
        """
        with _as_tool_errors():
            persons, owner = self._state.store.persons, self.owner
            share = persons.visit(owner, self._state.settings.now()).share
            persons.allow(owner, remember=allow, share=share and allow)
            return "Their choices count from now on." if allow else "Nothing is remembered."

    async def memory(self) -> str:
        """Return what the person liked in earlier sessions, if they want it remembered."""
        with _as_tool_errors():
            return await self._compute(self._remembered)

    async def _compute(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread, one at once for who calls, as elsewhere on the server.

        It is not the whole request that waits for its turn, since a form may be open in it.
        """
        async with self._state.limits.turns.turn(self.owner):
            return await run_in_threadpool(function, *arguments)

    def _remembered(self) -> str:
        owner = self.owner
        self._state.limits.views.take(owner)
        if not self._state.store.persons.get(owner).remember:
            return "Nothing is remembered: the person has not allowed it."
        lines = [self._known(owner), describe(memory_of(self._state.store, owner))]
        return "\n".join(line for line in lines if line)

    def _known(self, owner: str) -> str:
        """Return somebody's taste in a few words, if they want it remembered and it is known."""
        if not self._state.store.persons.get(owner).remember:
            return ""
        live = self._state.live
        sessions = [one for one in live.all(owner, SESSIONS) if one.answered]
        taste = leanings([live.open(one.id, owner).session for one in sessions])
        return f"Known of the person, who allows it: {taste}." if taste else ""

    def _answer(self, session_id: str, step: int, choice: str | None) -> CallToolResult:
        """Record a choice, or take back the last one, and return where the session stands."""
        owner = self.owner
        self._state.limits.answers.take(f"{owner} {session_id}")
        stored: StoredSession = self._state.live.open(session_id, owner)
        response = UserResponse("undo") if choice is None else _response(stored, step, choice)
        stored.answer(step, response)
        return _show(stored)

    def _look(self, session_id: str) -> CallToolResult:
        self._state.limits.views.take(self.owner)
        return _show(self._state.live.open(session_id, self.owner))

    async def _ask_by_forms(
        self, ctx: Context, stored: StoredSession, note: str
    ) -> CallToolResult | InputRequiredResult:
        """Show one form per screen until it is over, or leave it to the assistant to relay."""
        while stored.screen.finished is None and _shows_forms(ctx):
            message, schema = await self._compute(_form, stored)
            step = stored.screen.step
            if is_version_at_least(ctx.protocol_version or "", FORMLESS):
                params = ElicitRequestFormParams(message=message, requested_schema=schema)
                return InputRequiredResult(
                    input_requests={"choice": ElicitRequest(params=params)},
                    request_state=f"{stored.id} {step}",
                )
            try:
                reply = await ctx.session.elicit_form(message, schema, ctx.request_id)
            except MCPError:  # it said that it could
                break
            if (ending := await self._compute(_hear, stored, step, reply)) is not None:
                return ending
        return await self._compute(_show, stored, note)

    async def _begin(
        self, ctx: Context, owner: str, question: str, candidates: list[str] | None
    ) -> StoredSession:
        state = self._state
        await run_in_threadpool(state.limits.asks.take, owner)
        pool_id = await self._compute(self._given, owner, question, candidates)
        pool_id = pool_id or await self._made(ctx, owner, question)

        def start() -> StoredSession:
            state.store.persons.visit(owner, state.settings.now())
            options = {"method": start_session.FEW, "seed": None}
            screen = start_session.begin(state.store, state.live, pool_id, owner, options)
            stored: StoredSession = state.live.open(screen.session_id, owner)
            return stored

        return await self._compute(start)

    def _given(self, owner: str, question: str, candidates: list[str] | None) -> str | None:
        """Store the candidates that came along or are here already; None if there are none."""
        pools, line = self._state.store.pools, check_question(question)
        if candidates is not None:
            different = dict.fromkeys(text.strip() for text in candidates)
            texts = [Candidate(text=text, source="given") for text in different]
            return str(pools.add(Pool.from_texts(line, texts), owner))
        ready: str | None = self._state.pool_jobs.find_ready(owner, PoolRequest(line))
        return ready

    async def _made(self, ctx: Context, owner: str, question: str) -> str:
        """Have a model write the candidates, and say how far it is."""
        jobs = self._state.pool_jobs
        job_id = await run_in_threadpool(jobs.start, owner, PoolRequest(question))
        while True:
            job: PoolJob = await run_in_threadpool(jobs.get, job_id, owner)
            if job.state == "ready" and job.pool_id is not None:
                return job.pool_id
            if not job.is_open:
                raise ModelUnavailableError(f"{job.note}; or pass candidates of your own")
            await ctx.report_progress(job.made, job.wanted, job.note)
            await asyncio.sleep(PAUSE)


class HttpServer:
    """The server over streamable HTTP, once `run` is entered.

    Several processes share no connections: there, clients of earlier protocols get no forms.
    """

    def __init__(self, state: State) -> None:
        server = Assistant(state).server()
        server.streamable_http_app(
            stateless_http=state.settings.workers > 1,
            max_request_body_size=state.settings.largest_body,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )  # hosts and origins are checked by ours
        self.run = server.session_manager.run
        self._app = AuthContextMiddleware(server.session_manager.handle_request)

    async def answer(self, scope: Scope, receive: Receive, send: Send, owner: str) -> None:
        """Answer a request of somebody; the SDK binds connections and forms to them."""
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        await self._app(scope, receive, send)


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Turn our errors into ones that the assistant can read."""
    try:
        yield
    except UseralignError as error:
        raise ToolError(str(error)) from None
    except HTTPException as error:
        raise ToolError(str(error.detail)) from None


def _shows_forms(ctx: Context) -> bool:
    capabilities = ctx.client_capabilities
    able = None if capabilities is None else capabilities.elicitation
    return able is not None and (able.form is not None or able.url is None)


def _form(stored: StoredSession) -> tuple[str, dict[str, Any]]:
    """Return the message of a screen's form, and its schema: one list to choose from."""
    texts = _numbered(stored, stored.screen.candidates)
    head = f"{stored.session.pool.question} ({words.progress(stored.screen, stored.session)})"
    field = {"type": "string", "title": "Which fits you best?", "enum": _choices(texts)}
    schema = {"type": "object", "properties": {"choice": field}, "required": ["choice"]}
    return "\n\n".join([head, *texts]), schema


def _choices(texts: list[str]) -> list[str]:
    lines = [" ".join(text.split()) for text in texts]
    excerpts = [line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…" for line in lines]
    return [*excerpts, NONE, ENOUGH]


def _hear(stored: StoredSession, step: int, reply: Any) -> CallToolResult | None:
    """Record what came back from a form; return a result if there is to be no other form.

    Who declines has had enough. Who closes the form has said nothing, and may go on later.
    """
    if isinstance(reply, ElicitResult) and reply.action == "accept":
        choices = _choices(_numbered(stored, stored.candidates_at(step)))
        choice = (reply.content or {}).get("choice")
        if choice not in choices:
            raise AnswerError(f"the form came back with {choice!r:.60}, none of its choices")
        kind = {NONE: "neither", ENOUGH: "stop"}.get(str(choice), "choice")
        position = choices.index(str(choice)) if kind == "choice" else None
        stored.answer(step, UserResponse(kind, position=position))
        return None
    if isinstance(reply, ElicitResult) and reply.action == "decline":
        stored.answer(step, UserResponse("stop"))
        return _show(stored, "The person does not want to be asked; this is the best guess so far.")
    return _show(stored, "The person closed the form without an answer. Ask before you go on.")


def _response(stored: StoredSession, step: int, choice: str) -> UserResponse:
    """Return what an assistant says that the person chose."""
    word = choice.strip().strip(".").lower()
    kind = {"none": "neither", "none of these": "neither", "enough": "stop"}.get(word)
    if kind is not None:
        return UserResponse(kind)
    candidates = stored.candidates_at(step)
    over = not candidates
    count = len(stored.session.shortlist) if over else len(candidates)
    if not (word.isdecimal() and len(word) < 9 and 1 <= int(word) <= count):
        raise AnswerError(f'choice {choice!r:.60}: expected 1 to {count}, "none" or "enough"')
    if over:
        return UserResponse("final", position=stored.session.shortlist[int(word) - 1].index)
    return UserResponse("choice", position=int(word) - 1)


def _show(stored: StoredSession, note: str = "") -> CallToolResult:
    """Return where a session stands, in words to relay and as data."""
    screen: Screen = stored.screen
    data = {"session": stored.id, "step": screen.step, "finished": screen.finished}
    indices = screen.candidates or [candidate.index for candidate in stored.session.shortlist]
    texts = _numbered(stored, indices)
    data["candidates"] = [stored.session.pool[k].text for k in indices]
    ids = f'session="{stored.id}" and step={screen.step}'
    if screen.finished is None:
        head = f"Screen {words.progress(screen, stored.session)}: which fits the person best?"
        then = (
            f"Show all of them to the person, word for word, and call `choose` with {ids} and the "
            'number they name, or "none" or "enough"; `undo` takes the last one back.'
        )
    else:
        reason, certainty = why(stored.session), words.ending(screen, stored.session)
        data |= {"answer": stored.session.best.text, "why": reason, "certainty": certainty}
        head = f"The person's shortlist, the best first. {reason} {certainty}".strip()
        then = f"If they take another than the first, call `choose` with {ids} and its number."
    lines = [*filter(None, [note]), head, *texts, then]
    content = TextContent(type="text", text="\n\n".join(lines))
    return CallToolResult(content=[content], structured_content=data)


def _numbered(stored: StoredSession, indices: Any) -> list[str]:
    pool = stored.session.pool
    return [f"{n}. {pool[k].text or pool[k].label}" for n, k in enumerate(indices, 1)]
