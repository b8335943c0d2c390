"""The application: all its routes, and the files that pages refer to."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse, Response

from useralign import __version__
from useralign.store import Interactions
from useralign.web import api, compare, pages, problems
from useralign.web.admin import router as admin_router
from useralign.web.limits import Limits
from useralign.web.pool_jobs import JobRunner
from useralign.web.rendering import STATIC
from useralign.web.security import Guard
from useralign.web.settings import Settings
from useralign.web.study import router as study_router

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from useralign.store import Store

file_router = APIRouter(include_in_schema=False)
IMMUTABLE = "public, max-age=31536000, immutable"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
ABOUT = (
    "Ask a question, compare a few answers, get the one that fits you. Make a pool of candidate "
    "answers, begin a session over it, and answer its comparisons until it has found the best."
)


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Build the web application over a store.

    What handlers share is in `app.state`: `store`, `settings`, `live` (the sessions in the store),
    `limits` and `pool_jobs`.

    Parameters
    ----------
    store : Store
        It is not closed here.
    settings : Settings, optional
        Those for this machine alone when not given.
    """
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
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
    app.state.limits = Limits(settings)
    app.state.pool_jobs = JobRunner(store, settings)
    problems.install(app)
    for router in (pages.router, compare.router, file_router, study_router, admin_router):
        app.include_router(router)
    api.install(app)
    app.add_middleware(Guard, settings=settings, respond=problems.respond)
    return app


@file_router.get("/static/{name}")
def static_file(name: str) -> Response:
    """Serve a file that comes with the package; its address changes with its content."""
    path = STATIC / name
    if path.suffix not in TYPES or path.parent != STATIC or not path.is_file():
        raise HTTPException(404, "There is no such file.")
    headers = {"Cache-Control": IMMUTABLE}
    return FileResponse(path, headers=headers, media_type=TYPES[path.suffix])


@file_router.get("/media/{media_id}")
def media_file(request: Request, media_id: str) -> Response:
    """Serve a picture; its id is the hash of its content, which we encoded ourselves."""
    picture = request.app.state.store.media.get(media_id)
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
def health(request: Request) -> Response:
    """Return whether this process and its database answer."""
    with request.app.state.store.reading():
        return PlainTextResponse("ok")
