"""What is kept of a person, and how to delete it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from useralign.memory import summary
from useralign.memory.from_store import memory_of
from useralign.web.identity import COOKIE, Here
from useralign.web.kept import sessions_of
from useralign.web.rendering import page, to

router = APIRouter(prefix="/you")
NOTES = {
    "kept": "Your choice is kept.",
    "forgotten": "Forgotten.",
    "gone": "Everything was deleted.",
}


@router.get("")
def you(request: Request, who: Here, done: str = "") -> Response:
    """Show what is kept."""
    store = request.app.state.store
    person = store.persons.get(who.owner)
    return page(
        request,
        "you.html",
        person=person,
        memory=summary(memory_of(store, who.owner)) if person.remember else None,
        sessions=sessions_of(store, who.owner),
        note=NOTES.get(done, ""),
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


@router.post("/forget")
def forget(request: Request, who: Here) -> Response:
    """Delete all sessions; memory rests on nothing else."""
    store = request.app.state.store
    store.persons.forget_sessions(who.owner)
    store.rinse()
    return to(request, "/you?done=forgotten")


@router.post("/delete")
def delete(request: Request, who: Here) -> Response:
    """Delete everything, the cookie included."""
    store = request.app.state.store
    store.persons.forget(who.owner)
    store.rinse()
    response = to(request, "/you?done=gone")
    response.delete_cookie(COOKIE)
    return response
