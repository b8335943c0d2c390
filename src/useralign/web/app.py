"""The application: all routes under one roof."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from useralign import __version__
from useralign.store import Interactions
from useralign.web import files, problems
from useralign.web.admin import router as admin_router
from useralign.web.api import router as api_router
from useralign.web.api import schema
from useralign.web.guard import Guard
from useralign.web.limits import Limits
from useralign.web.makings import Makings
from useralign.web.pages import router as page_router
from useralign.web.settings import Settings
from useralign.web.study import router as study_router

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from useralign.store import Store

ABOUT = (
    "Ask a question, compare a few answers, get the one that fits you. Make a pool of candidate "
    "answers, begin a session over it, and answer its comparisons until it has found the best."
)


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Build the web application over a store.

    What handlers share is in `app.state`: `store`, `settings`, `live` (the sessions in the store),
    `limits` and `makings`.

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
        app.state.makings.close()

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
    app.state.makings = Makings(store, settings)
    problems.install(app)
    app.include_router(page_router)
    app.include_router(api_router)
    app.include_router(files.router)
    app.include_router(study_router)
    app.include_router(admin_router)
    schema.install(app)
    app.add_middleware(Guard, settings=settings)
    return app
