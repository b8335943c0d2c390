"""Pages for a person: the question, the wait while answers are made, and what is stored of them."""

# ruff: noqa: TC002 - the framework reads annotations when it runs
from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from starlette.datastructures import UploadFile

from useralign import domains, models
from useralign.errors import ConflictError, InputError, ModelUnavailableError, OptionError
from useralign.memory import summary
from useralign.memory.from_store import memory_of
from useralign.pooling import PoolRequest, check_question, nearest_shipped
from useralign.store import GRACE
from useralign.web import pool_jobs, start_session, uploads
from useralign.web.identity import COOKIE, CurrentVisitor, set_cookie
from useralign.web.limits import in_turn
from useralign.web.rendering import as_file, brief, page, to

if TYPE_CHECKING:
    from useralign.store import PoolJob, Store

router = APIRouter(include_in_schema=False, dependencies=[Depends(in_turn)])
METHODS = (start_session.FEW, start_session.CERTAIN, start_session.QUICK)
# Offered on the start page, in this order, with a heading.
EXAMPLE_DOMAINS = (
    ("food64d", "Food"),
    ("travel64d", "Travel"),
    ("visual512d", "Pictures"),
    ("dsp64d", "Anything"),
)
FEW = 3  # questions of a shelf that are shown at once
MOST_UNFINISHED = 3  # sessions offered to go on with
BUSY = (
    f"Answers to {pool_jobs.MOST_OPEN} of your questions are still being written. Wait for one of "
    "them, or cancel it; what you typed is still here."
)
CLOSED = "New answers are not made for visitors here."


@router.get("/")
def start(request: Request, who: CurrentVisitor) -> Response:
    """Show the question box, the examples, and what was left unfinished."""
    return show_start(request, who.owner)


@router.post("/ask")
def ask(
    request: Request,
    who: CurrentVisitor,
    *,
    files: Annotated[list[UploadFile], Depends(uploads.files)],
    question: Annotated[str, Form()] = "",
    listed: Annotated[str, Form(alias="list")] = "",
    kind: Annotated[str, Form(pattern="^(text|image)$")] = "text",
    model: Annotated[str, Form(max_length=200)] = "",
    shown: Annotated[str, Form(pattern="^[2-9]?$")] = "",
    rank: Annotated[bool, Form()] = False,
    method: Annotated[str, Form(pattern=f"^({'|'.join(METHODS)})$")] = start_session.FEW,
    fresh: Annotated[bool, Form()] = False,
    small: Annotated[bool, Form()] = False,
) -> Response:
    """Begin: at once if the answers are there or were brought along, else by having them made."""
    state, agent = request.app.state, request.headers.get("user-agent", "")
    state.limits.asks.take(state.limits.visitor(request))
    begin = {
        "method": method,
        "shown": int(shown) if shown else None,
        "rank": rank,
        "fresh": fresh,
        "phone": small or request.headers.get("sec-ch-ua-mobile") == "?1" or "Mobi" in agent,
        "seed": None,
    }
    own = uploads.OwnAnswers()
    ready: str | None
    try:
        own.add(listed, files)
        if own:
            text = check_question(question) if question.strip() else ""
            ready = own.store(state.store.pools, text, who.owner)
        else:
            pool_request = _parse_request(question, kind, model)
            ready = state.pool_jobs.find_ready(who.owner, pool_request)
            if ready is None:
                _check_makable(pool_request, allowed=state.settings.visitors_may_make)
    except ModelUnavailableError as error:
        return show_start(request, who.owner, str(error), question, own.listed, helpless=True)
    except InputError as error:
        return show_start(request, who.owner, str(error), question, own.listed)
    state.store.persons.visit(who.owner, state.settings.now())
    if ready is not None:
        screen = start_session.begin(state.store, state.live, ready, who.owner, begin)
        return to(request, f"/s/{screen.session_id}")
    try:
        job_id = state.pool_jobs.start(who.owner, pool_request, begin, pool_jobs.MOST_OPEN)
    except ConflictError:
        return show_start(request, who.owner, BUSY, question, own.listed)
    return to(request, f"/making/{job_id}")


@router.get("/making/{making_id}")
def making(request: Request, who: CurrentVisitor, making_id: str) -> Response:
    """Show how far it is; without JavaScript the page comes again by itself."""
    job: PoolJob = request.app.state.pool_jobs.get(making_id, who.owner)
    if following := _following(job):
        return to(request, following)
    return page(request, "making.html", making=job, fewest=pool_jobs.FEWEST)


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
        "can_begin": job.pool_id is not None,
        "next": _following(job),
    }


def _following(job: PoolJob) -> str | None:
    """Return the page to go on to: the session, once it has begun or has got what it waits for."""
    waits = "grow" in job.request and job.state != "ready"
    return None if job.session_id is None or waits else f"/s/{job.session_id}"


@router.post("/making/{making_id}/begin")
def begin(request: Request, who: CurrentVisitor, making_id: str) -> Response:
    """Begin with the answers that are there; the rest joins."""
    return to(request, f"/s/{request.app.state.pool_jobs.begin(making_id, who.owner)}")


@router.post("/making/{making_id}/cancel")
def cancel(request: Request, who: CurrentVisitor, making_id: str) -> Response:
    """Stop making answers; those that are there stay."""
    request.app.state.pool_jobs.cancel(making_id, who.owner)
    return to(request, f"/making/{making_id}")


@router.post("/making/{making_id}/delete")
def discard(request: Request, who: CurrentVisitor, making_id: str) -> Response:
    """Delete what was made so far."""
    store = request.app.state.store
    store.pool_jobs.delete(making_id, who.owner)
    store.rinse()
    return to(request, "/")


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
    state, now = request.app.state, request.app.state.settings.now()
    state.store.personal.purge(now)
    deleted = None
    if waiting := state.store.personal.waiting(who.owner):
        count, until = waiting  # how many sessions can be brought back, and when no longer
        deleted = {"sessions": count, "minutes": max(1, round((until - now) / 60))}
    return page(
        request,
        "you.html",
        person=state.store.persons.get(who.owner),
        memory=_memory(state.store, who.owner),
        sessions=state.live.all(who.owner),
        deleted=deleted,
        done=done,
    )


def _memory(store: Store, owner: str) -> dict[str, Any] | None:
    """Return what is remembered of somebody who allows it."""
    return summary(memory_of(store, owner)) if store.persons.get(owner).remember else None


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


@router.get("/you/data.json")
def download(request: Request, who: CurrentVisitor) -> Response:
    """Return all that is stored of the person, as a file."""
    store = request.app.state.store
    data = {
        "format": "useralign-personal-data/1",
        "written": request.app.state.settings.now(),
        **store.personal.export(who.owner),
        "memory": _memory(store, who.owner),
    }
    text = json.dumps(data, ensure_ascii=False, indent=2)
    content, headers = text.encode("utf-8", "replace"), as_file("useralign-my-data.json")
    return Response(content, headers=headers, media_type="application/json")


@router.post("/you/forget")
def forget(request: Request, who: CurrentVisitor) -> Response:
    """Delete all sessions; memory rests on nothing else. For a while it can be undone."""
    state = request.app.state
    state.store.personal.delete_sessions(who.owner, state.settings.now())
    return to(request, "/you?done=forgotten")


@router.post("/you/delete")
def delete(
    request: Request, who: CurrentVisitor, *, at_once: Annotated[bool, Form()] = False
) -> Response:
    """Delete everything, the cookie included; unless at once, it can be undone for a while."""
    state = request.app.state
    state.store.personal.delete_all(who.owner, state.settings.now())
    if at_once:
        return purge(request, who)
    response = to(request, "/you?done=gone")
    set_cookie(request, response, who.token, seconds=int(GRACE))  # to be known if they undo it
    return response


@router.post("/you/restore")
def restore(request: Request, who: CurrentVisitor) -> Response:
    """Bring back what was deleted a while ago."""
    in_time = request.app.state.store.personal.restore(who.owner)
    response = to(request, "/you?done=" + ("restored" if in_time else "late"))
    set_cookie(request, response, who.token)
    return response


@router.post("/you/purge")
def purge(request: Request, who: CurrentVisitor) -> Response:
    """Delete for good what was deleted; where nothing else is left, the cookie, too."""
    state = request.app.state
    state.store.personal.purge(state.settings.now(), who.owner)
    response = to(request, "/you?done=purged")
    if not state.live.all(who.owner, 1):
        response.delete_cookie(COOKIE)
    return response


def show_start(
    request: Request,
    owner: str,
    trouble: str = "",
    question: str = "",
    listed: str = "",
    *,
    helpless: bool = False,
) -> Response:
    """Return the start page, with what went wrong, if anything, and with what was typed.

    `helpless` is whether no model can answer: then the page says what can be done instead.
    """
    store, live = request.app.state.store, request.app.state.live
    waiting = [session for session in live.all(owner, 20) if not session.finished]
    allowed = request.app.state.settings.visitors_may_make
    return page(
        request,
        "start.html",
        example_groups=example_groups(),
        few=FEW,
        choices=models.available() if allowed else [],
        remedies=models.remedies() if allowed else [],
        nearest=nearest_shipped(question) if helpless else [],
        unfinished=waiting[:MOST_UNFINISHED],
        remembers=store.persons.get(owner).remember,
        others_share=store.persons.others_share(owner),
        trouble=trouble,
        question=question,
        listed=listed,
        helpless=helpless,
        lists=",".join(uploads.LISTS),
        most_pictures=uploads.MOST_PICTURES,
        status_code=422 if trouble else 200,
    )


@cache
def example_groups() -> list[dict[str, Any]]:
    """Return the shipped questions by theme; those that ask for pictures say so."""
    groups = [(title, domains.load(name)) for name, title in EXAMPLE_DOMAINS]
    return [
        {"title": title, "kind": domain.kind, "questions": [q.text for q in domain.questions]}
        for title, domain in groups
    ]


def _parse_request(question: str, kind: str, model: str) -> PoolRequest:
    """Return what a person wants; a question that ships with its answers has its own kind."""
    if not question.strip():
        raise OptionError("Type a question first, paste a list, or take one of those below.")
    text = check_question(question)
    shipped = domains.find_question(text)
    if model or shipped is None:
        return PoolRequest(text, model=model or None, images=kind == "image")
    return PoolRequest(text, images=shipped[0].kind == "image")


def _check_makable(pool_request: PoolRequest, *, allowed: bool) -> None:
    """Raise if answers cannot be made."""
    if not allowed:
        raise ModelUnavailableError(CLOSED)
    offered = models.available()
    model = pool_request.model
    if model is not None and model not in {choice.name for choice in offered}:
        raise OptionError("That model is not at hand here; choose one of those offered.")
    named = [c for c in offered if (not c.too_small if model is None else c.name == model)]
    if not any(pool_request.kind in choice.makes for choice in named):
        what = "draw pictures" if pool_request.images else "write answers"
        which = "That model cannot" if model else "There is no model here that can"
        raise ModelUnavailableError(f"{which} {what}.")
