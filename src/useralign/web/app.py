"""The application: all its routes, and the files that pages refer to."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from useralign import __version__
from useralign.errors import UseralignError
from useralign.extras import import_extra
from useralign.store import Interactions
from useralign.web import admin, api, compare, completions, logs, pages, problems, study
from useralign.web.identity import caller_of, owners
from useralign.web.limits import Limits
from useralign.web.pool_jobs import JobRunner
from useralign.web.rendering import STATIC
from useralign.web.security import Guard
from useralign.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from useralign.store import Store
    from useralign.web.mcp import HttpServer

file_router = APIRouter(include_in_schema=False)
IMMUTABLE = "public, max-age=31536000, immutable"
PURGE_EVERY = 60.0  # seconds
_log = logging.getLogger(__name__)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
ABOUT = (
    "Ask a question, compare a few answers, get the one that fits you. Make a pool of candidate "
    "answers, begin a session over it, and answer its comparisons until it has found the best."
)


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Build the web application over a store, which is not closed here.

    Without settings it is for this machine alone. What handlers share is in `app.state`: `store`,
    `settings`, `live` (the sessions in the store), `limits`, `right_keys` (hashes of keys that this
    process has seen to be right), `trying` (held while another is tried), `pool_jobs` and
    `upstreams` (the models behind `/v1`).
    """
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        cleaning = asyncio.create_task(_purge_now_and_then(app))
        yield
        cleaning.cancel()
        await assistants.close()
        await app.state.upstreams.close()
        app.state.pool_jobs.close()

    app = FastAPI(
        title="useralign",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
    )
    app.state.store = store
    app.state.settings = settings
    app.state.live = Interactions(store, settings.now)
    app.state.limits = Limits(settings, store)
    app.state.right_keys = set()
    app.state.trying = threading.Lock()
    app.state.pool_jobs = JobRunner(store, settings)
    app.state.upstreams = completions.Upstreams(settings)
    app.state.health = CapacityLimiter(2)  # threads of its own
    for kind in (HTTPException, RequestValidationError, UseralignError):
        app.add_exception_handler(kind, _respond)
    app.router.routes.extend(_routes())
    api.describe(app)
    assistants = _Assistants()
    app.router.routes.append(Route("/mcp", assistants, methods=["GET", "POST", "DELETE"]))
    app.add_middleware(Guard, settings=settings, respond=problems.respond)
    return app


def _respond(request: Request, error: Exception) -> Response:
    """Answer an error, in the words of a study if it arose on a page of one."""
    in_study = request.url.path.startswith("/study/")
    return study.respond(request, error) if in_study else problems.respond(request, error)


@cache
def _routes() -> list[BaseRoute]:
    """Return all routes, which are read once, however many applications there are."""
    site = APIRouter()
    for router in (
        pages.router,
        compare.router,
        file_router,
        study.router,
        admin.router,
        completions.router,
        api.router,
        api.reference_router,
    ):
        site.include_router(router)
    return site.routes


async def _purge_now_and_then(app: FastAPI) -> None:
    """Delete for good what people deleted a while ago, also while nobody visits."""
    while True:
        try:
            await run_in_threadpool(app.state.store.personal.purge, app.state.settings.now())
            await run_in_threadpool(app.state.store.rate_limits.purge)
        except Exception as error:  # noqa: BLE001 - the database may be away for a while
            _log.warning("what was deleted is not removed for good yet: %s", logs.brief(error))
        await asyncio.sleep(PURGE_EVERY)


class _Assistants:
    """The MCP server at an address, for whoever may use the API.

    It starts with the first request: importing its SDK takes a second.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._server: HttpServer | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        owner = await run_in_threadpool(caller_of, request)
        await run_in_threadpool(import_extra, "mcp", "the MCP server", "mcp")
        from useralign.web import mcp  # noqa: PLC0415 - an extra

        async with self._lock:
            if self._server is None:
                self._server = mcp.HttpServer(request.app.state)
                started = asyncio.Event()
                self._running = asyncio.create_task(self._run(self._server, started))
                await started.wait()
        await self._server.answer(scope, receive, send, owner)

    @staticmethod
    async def _run(server: HttpServer, started: asyncio.Event) -> None:
        async with server.run():  # to be left by the task that entered it
            started.set()
            await asyncio.Event().wait()

    async def close(self) -> None:
        """End all connections."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])


@file_router.get("/static/{name}")
def static_file(name: str) -> Response:
    """Serve a file that comes with the package; its address changes with its content."""
    path = STATIC / name
    if path.suffix not in TYPES or path.parent != STATIC or path not in STATIC.iterdir():
        raise HTTPException(404, "There is no such file.")
    headers = {"Cache-Control": IMMUTABLE}
    return FileResponse(path, headers=headers, media_type=TYPES[path.suffix])


@file_router.get("/user-align.js")
def element() -> Response:
    """Serve the element for pages of other sites; its address stays, so that it is fetched anew."""
    return FileResponse(
        STATIC / "user-align.js",
        headers={"Cache-Control": "public, max-age=600"},
        media_type=TYPES[".js"],
    )


@file_router.get("/media/{media_id}")
def media_file(request: Request, media_id: str) -> Response:
    """Serve a picture; its id is the hash of its content, which we encoded ourselves."""
    picture = request.app.state.store.media.get(media_id, *owners(request))
    headers = {"Cache-Control": IMMUTABLE.replace("public", "private")}
    return Response(picture.content, media_type=picture.type, headers=headers)


@file_router.get("/favicon.ico")
def favicon() -> Response:
    """Serve the icon under the name that browsers guess."""
    return static_file("icon.svg")


@file_router.get("/robots.txt")
def robots() -> Response:
    """Ask search engines to stay away from what is personal."""
    lines = ["User-agent: *", "Disallow: /s/", "Disallow: /making/", "Disallow: /you"]
    return PlainTextResponse("\n".join(lines) + "\n", headers={"Cache-Control": "max-age=86400"})


@file_router.get("/healthz")
async def health(request: Request) -> Response:
    """Return whether this process and its database answer, however busy its threads are."""
    await to_thread.run_sync(_touch, request.app.state.store, limiter=request.app.state.health)
    return PlainTextResponse("ok")


def _touch(store: Store) -> None:
    with store.reading():
        pass
