"""What is kept of a person, and how to delete it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from useralign.web.identity import COOKIE, Here
from useralign.web.kept import sessions_of
from useralign.web.rendering import page, to

router = APIRouter(prefix="/you")


@router.get("")
def you(request: Request, who: Here, done: str = "") -> Response:
    """Show what is kept."""
    store = request.app.state.store
    notes = {"kept": "Your choice is kept.", "gone": "Everything was deleted."}
    return page(
        request,
        "you.html",
        person=store.persons.get(who.owner),
        sessions=sessions_of(store, who.owner),
        note=notes.get(done, ""),
    )


@router.post("/allow")
def allow(
    request: Request,
    who: Here,
    remember: Annotated[bool, Form()] = False,
    share: Annotated[bool, Form()] = False,
) -> Response:
    """Change what the person allows."""
    state = request.app.state
    state.store.persons.visit(who.owner, state.settings.now())
    state.store.persons.allow(who.owner, remember=remember, share=share)
    return to(request, "/you?done=kept")


@router.post("/delete")
def delete(request: Request, who: Here) -> Response:
    """Delete everything, the cookie included."""
    request.app.state.store.persons.forget(who.owner)
    response = to(request, "/you?done=gone")
    response.delete_cookie(COOKIE)
    return response
