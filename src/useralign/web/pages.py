"""Pages for a person: the question, the wait while answers are made, and what is stored of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from useralign import domains, models
from useralign.errors import ModelUnavailableError, OptionError
from useralign.memory import summary
from useralign.memory.from_store import memory_of
from useralign.models.weights import DEFAULT_TEXT_MODEL
from useralign.pooling import PoolRequest, check_question, find_pool
from useralign.web import start_session
from useralign.web.identity import COOKIE, CurrentVisitor
from useralign.web.rendering import brief, page, to

if TYPE_CHECKING:
    from useralign.domains import Domain
    from useralign.store import PoolJob

router = APIRouter(include_in_schema=False)
NO_MODEL = (
    "No model is set up here, so only the questions below can be answered. To ask anything, "
    f"run `useralign models pull {DEFAULT_TEXT_MODEL}`, or set OPENAI_API_KEY, and start the "
    "server again."
)
# Offered on the start page, in this order, with a heading.
EXAMPLE_DOMAINS = (
    ("food64d", "Food"),
    ("travel64d", "Travel"),
    ("visual512d", "Pictures"),
    ("dsp64d", "Anything"),
)
FEW = 3  # questions of a shelf that are shown at once
MOST_UNFINISHED = 3  # sessions offered to go on with
NOTES = {
    "kept": "Your choice is kept.",
    "forgotten": "Forgotten.",
    "gone": "Everything was deleted.",
}
CLOSED = "Here, the questions below can be answered. New answers are not made for visitors."


@router.get("/")
def start(request: Request, who: CurrentVisitor) -> Response:
    """Show the question box, the examples, and what was left unfinished."""
    return show_start(request, who.owner)


@router.post("/ask")
def ask(
    request: Request,
    who: CurrentVisitor,
    *,
    question: Annotated[str, Form()] = "",
    kind: Annotated[str, Form(pattern="^(text|image)$")] = "text",
    model: Annotated[str, Form(max_length=200)] = "",
    shown: Annotated[int, Form(ge=2, le=4)] = 2,
    rank: Annotated[bool, Form()] = False,
    budget: Annotated[str, Form(pattern=r"^\d{0,3}$")] = "",
    method: Annotated[
        str, Form(pattern=f"^({start_session.CERTAIN}|{start_session.QUICK})?$")
    ] = "",
    fresh: Annotated[bool, Form()] = False,
) -> Response:
    """Begin: at once if the answers are there, else by having them made."""
    state = request.app.state
    state.limits.asks.take(state.limits.visitor(request))
    begin = {
        "method": method or start_session.usual_method(state.store, who.owner),
        "shown": shown,
        "rank": rank,
        "budget": int(budget) if budget else None,
        "fresh": fresh,
        "seed": None,
    }
    try:
        pool_request = _parse_request(question, kind, model)
        ready = find_pool(pool_request) if pool_request.accepts_existing else None
        if ready is None:
            _check_makable(pool_request, allowed=state.settings.visitors_may_make)
    except (OptionError, ModelUnavailableError) as error:
        return show_start(request, who.owner, trouble=str(error), question=question, status=422)
    state.store.persons.visit(who.owner, state.settings.now())
    if ready is not None:
        pool_id = state.store.pools.add(ready[0], None if ready[1] else who.owner)
        screen = start_session.begin(state.store, state.live, pool_id, who.owner, begin)
        return to(request, f"/s/{screen.session_id}")
    job = {name: getattr(pool_request, name) for name in ("question", "kind", "model")}
    return to(request, f"/making/{state.pool_jobs.start(who.owner, job | {'begin': begin})}")


@router.get("/making/{making_id}")
def making(request: Request, who: CurrentVisitor, making_id: str) -> Response:
    """Show how far it is; without JavaScript the page comes again by itself."""
    job: PoolJob = request.app.state.pool_jobs.get(making_id, who.owner)
    if job.state == "ready" and job.session_id:
        return to(request, f"/s/{job.session_id}")
    return page(request, "making.html", making=job)


@router.get("/making/{making_id}/state")
def making_state(request: Request, who: CurrentVisitor, making_id: str) -> dict[str, Any]:
    """Return how far it is, for a script."""
    job: PoolJob = request.app.state.pool_jobs.get(making_id, who.owner)
    return {
        "state": job.state,
        "made": job.made,
        "wanted": job.wanted,
        "note": job.note,
        "arrived": [brief(text, 220) for text in job.arrived],
        "next": f"/s/{job.session_id}" if job.session_id else None,
    }


@router.post("/making/{making_id}/retry")
def retry(request: Request, who: CurrentVisitor, making_id: str) -> Response:
    """Try again; what the model said so far is not paid for twice."""
    limits = request.app.state.limits
    limits.asks.take(limits.visitor(request))
    request.app.state.pool_jobs.retry(making_id, who.owner)
    return to(request, f"/making/{making_id}")


@router.get("/you")
def you(request: Request, who: CurrentVisitor, done: str = "") -> Response:
    """Show what is stored of a person."""
    store = request.app.state.store
    person = store.persons.get(who.owner)
    return page(
        request,
        "you.html",
        person=person,
        memory=summary(memory_of(store, who.owner)) if person.remember else None,
        sessions=request.app.state.live.all(who.owner),
        note=NOTES.get(done, ""),
    )


@router.post("/you/allow")
def allow(
    request: Request,
    who: CurrentVisitor,
    remember: Annotated[bool, Form()] = False,
    share: Annotated[bool, Form()] = False,
) -> Response:
    """Change what the person allows."""
    state = request.app.state
    state.store.persons.visit(who.owner, state.settings.now())
    state.store.persons.allow(who.owner, remember=remember, share=share)
    return to(request, "/you?done=kept")


@router.post("/you/forget")
def forget(request: Request, who: CurrentVisitor) -> Response:
    """Delete all sessions; memory rests on nothing else."""
    store = request.app.state.store
    store.persons.forget_sessions(who.owner)
    store.rinse()
    return to(request, "/you?done=forgotten")


@router.post("/you/delete")
def delete(request: Request, who: CurrentVisitor) -> Response:
    """Delete everything, the cookie included."""
    store = request.app.state.store
    store.persons.forget(who.owner)
    store.rinse()
    response = to(request, "/you?done=gone")
    response.delete_cookie(COOKIE)
    return response


def show_start(
    request: Request, owner: str, *, trouble: str = "", question: str = "", status: int = 200
) -> Response:
    """Return the start page, with what went wrong and what was typed, if anything."""
    store, live = request.app.state.store, request.app.state.live
    waiting = [session for session in live.all(owner, 20) if not session.finished]
    allowed = request.app.state.settings.visitors_may_make
    return page(
        request,
        "start.html",
        example_groups=example_groups(),
        few=FEW,
        choices=models.available() if allowed else [],
        missing=NO_MODEL if allowed else CLOSED,
        unfinished=waiting[:MOST_UNFINISHED],
        remembers=store.persons.get(owner).remember,
        others_share=store.persons.others_share(owner),
        trouble=trouble,
        question=question,
        status_code=status,
    )


@cache
def example_groups() -> list[dict[str, Any]]:
    """Return the shipped questions by theme; those that ask for pictures say so."""
    return [
        {"title": title, "kind": _kind(name), "questions": _texts(domains.load(name))}
        for name, title in EXAMPLE_DOMAINS
    ]


def _kind(name: str) -> str:
    return domains.load(name).kind


def _texts(domain: Domain) -> list[str]:
    return [question.text for question in domain.questions]


def _parse_request(question: str, kind: str, model: str) -> PoolRequest:
    """Return what a person wants; a question that ships with its answers has its own kind."""
    if not question.strip():
        raise OptionError("Type a question first, or take one of those below.")
    text = check_question(question)
    shipped = domains.find_question(text)
    if model or shipped is None:
        return PoolRequest(text, model=model or None, images=kind == "image")
    return PoolRequest(text, images=shipped[0].kind == "image")


def _check_makable(pool_request: PoolRequest, *, allowed: bool) -> None:
    """Raise if answers would have to be made and cannot be."""
    if pool_request.accepts_existing and domains.find_question(pool_request.question) is not None:
        return
    if not allowed:
        raise ModelUnavailableError(CLOSED)
    offered = models.available()
    model = pool_request.model
    if model is not None and model not in {choice.name for choice in offered}:
        raise OptionError("That model is not at hand here; choose one of those offered.")
    named = [choice for choice in offered if model in (None, choice.name)]
    if not any(pool_request.kind in choice.makes for choice in named):
        what = "draw pictures" if pool_request.images else "write answers"
        which = "That model cannot" if model else "There is no model here that can"
        raise ModelUnavailableError(f"{which} {what}. {NO_MODEL}")
