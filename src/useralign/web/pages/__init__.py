"""Pages for a person: ask, watch, compare, and see what is kept."""

from fastapi import APIRouter

from useralign.web.pages import compare, data, making, reference, start

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for part in (start, making, compare, data, reference):
    router.include_router(part.router)
