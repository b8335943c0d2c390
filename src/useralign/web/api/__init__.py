"""The HTTP API: pools, sessions, answers."""

from fastapi import APIRouter

from useralign.web.api import pools, sessions

__all__ = ["router"]

router = APIRouter(prefix="/api")
router.include_router(pools.router)
router.include_router(sessions.router)
