"""Comparing, and the answer at the end. A session has one address, which shows where it stands.

The answer to a screen is sent to that same address, and the reply is the next screen. Sending it
again (a retry) changes nothing and shows where the person is. A browser that sends the form itself,
without our script, is sent on to the address once the answer is recorded: what it then has in its
history is a page that it may load again, so that reloading and going back ask nothing.
"""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from starlette.responses import PlainTextResponse

from useralign.errors import AnswerError, ConflictError, ModelError, SessionStateError
from useralign.reasons import why
from useralign.session import PROVABLE
from useralign.store.interactions import MOST_STEPS
from useralign.web import form_answers, start_session, words
from useralign.web import map as maps
from useralign.web.identity import CurrentVisitor
from useralign.web.limits import in_turn
from useralign.web.rendering import as_file, page, to

if TYPE_CHECKING:
    from useralign.session import Session
    from useralign.store import StoredSession
    from useralign.web.pool_jobs import JobRunner

router = APIRouter(
    prefix="/s/{session_id}", include_in_schema=False, dependencies=[Depends(in_turn)]
)
MOVED = "You had answered that one already. Here is where you are now."
NOTHING = "There is nothing to take back yet."
PLACES = "Give each answer a place of its own. What you have chosen is still there."
UNUSED = "That could not be used here. Choose between the answers instead."
LONG = "This has become as long as it may be. Take the best so far, or start over."
UNCLEAR = "That gave nothing to go by. Say what there should be, or should not be."
DONE = {"undo": "Taken back.", "withdraw": "Taken back.", "wish": ""}
MOST_RANKED = 100  # candidates that are listed in the person's order


@router.get("")
def show(request: Request, who: CurrentVisitor, session_id: str, note: str = "") -> Response:
    """Show the comparison that is due, or the answer."""
    request.app.state.limits.views.take(who.owner)
    stored: StoredSession = request.app.state.live.open(session_id, who.owner)
    return _show(request, stored, _done(note, stored))


@router.post("")
def answer(
    request: Request,
    who: CurrentVisitor,
    session_id: str,
    *,
    step: Annotated[int, Form()],
    response: Annotated[str, Form(max_length=20)],
    place: Annotated[list[str] | None, Form(max_length=9)] = None,
    text: Annotated[str, Form(max_length=4000)] = "",
    milliseconds: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """Record an answer and show what comes next; the same one again changes nothing.

    A form that is out of date (sent twice in another way, from another tab, after going back)
    shows where the person is now and says so.
    """
    state = request.app.state
    state.limits.answers.take(who.owner)
    stored: StoredSession = state.live.open(session_id, who.owner)
    is_current, places = stored.screen.step == step, place or []
    may_ask = state.settings.visitors_may_make
    judge = partial(form_answers.judge_for, request, who.owner, may_ask=may_ask)
    try:
        parsed = form_answers.parse(response, text, places, judge)
        stored.answer(step, parsed, milliseconds=form_answers.milliseconds(milliseconds))
        if is_current:  # nobody looks at the next screen yet, so it may still change
            state.pool_jobs.join(stored)
    except ConflictError:
        return _show(request, stored, MOVED)
    except SessionStateError:
        note = LONG if step >= MOST_STEPS else NOTHING if response == "undo" else MOVED
        return _show(request, stored, note)
    except (AnswerError, ModelError):
        if response == "ranking" and is_current:
            return _show(request, stored, PLACES, places)
        note = {"wish": UNCLEAR, "ranking": MOVED}.get(response, UNUSED)
        return _show(request, stored, note)
    if request.headers.get("sec-fetch-mode") == "navigate":
        return to(request, f"/s/{session_id}" + f"?note={response}" * (response in DONE))
    return _show(request, stored, _done(response, stored))


def _done(response: str, stored: StoredSession) -> str:
    """Return what to say after a response: of a wish what it does, unless that stands on top."""
    if response == "wish" and stored.screen.cost and (wishes := stored.session.wishes):
        return wishes[-1].effect[:1].upper() + wishes[-1].effect[1:] + "."
    return DONE.get(response, "")


@router.post("/more")
def more(request: Request, who: CurrentVisitor, session_id: str) -> Response:
    """Have a model make more answers like those that were liked, and show how far it is."""
    state = request.app.state
    state.limits.asks.take(state.limits.visitor(request))
    stored: StoredSession = state.live.open(session_id, who.owner)
    return to(request, f"/making/{state.pool_jobs.grow(stored)}")


@router.post("/include")
def include(request: Request, who: CurrentVisitor, session_id: str) -> Response:
    """Go on with what has arrived since the session ended."""
    stored: StoredSession = request.app.state.live.open(session_id, who.owner)
    request.app.state.pool_jobs.include(stored)
    return to(request, f"/s/{session_id}")


@router.post("/again")
def again(request: Request, who: CurrentVisitor, session_id: str) -> Response:
    """Start over with the same answers, from another beginning."""
    state = request.app.state
    state.limits.asks.take(state.limits.visitor(request))
    stored: StoredSession = state.live.open(session_id, who.owner)
    options, pool_id = start_session.options_of(stored), stored.screen.pool_id
    screen = start_session.begin(state.store, state.live, pool_id, who.owner, options)
    return to(request, f"/s/{screen.session_id}")


@router.post("/delete")
def delete(request: Request, who: CurrentVisitor, session_id: str) -> Response:
    """Delete the session; for a while it can be undone."""
    state = request.app.state
    state.store.personal.delete_session(session_id, who.owner, state.settings.now())
    return to(request, "/you")


@router.get("/answer.txt")
def download(request: Request, who: CurrentVisitor, session_id: str) -> Response:
    """Return the answer as a file, whole."""
    request.app.state.limits.views.take(who.owner)
    session: Session = request.app.state.live.open(session_id, who.owner).session
    text = f"{session.pool.question}\n\n{session.best.text}\n"
    name = re.sub(r"[^a-z0-9]+", "-", session.pool.question.lower())[:40].strip("-") or "answer"
    return PlainTextResponse(text.encode("utf-8", "replace"), headers=as_file(f"{name}.txt"))


def _show(
    request: Request, stored: StoredSession, note: str = "", places: list[str] | None = None
) -> Response:
    """Return the page of a session as it stands; the note is shown once, at the top.

    `places` are those that the cards of a ranking were given, to be shown again.
    """
    screen, session = stored.screen, stored.session
    values: dict[str, Any] = {"screen": screen, "session": session, "note": note}
    values["known"] = words.origin(screen, session, stored.page.get("known", ""))
    values |= {"wishes": session.wishes, "takes": session.takes}
    values["chips"] = form_answers.proposals(session)
    if screen.finished is not None:
        return page(request, "result.html", **values, **_ending(request, stored))
    count = len(screen.candidates)
    values |= {
        "progress": words.progress(screen, session),
        "candidates": [session.pool[k] for k in screen.candidates],
        "ranks": stored.page.get("rank", False) and count > 2,
        "placed": places if places and len(places) == count else [""] * count,
    }
    return page(request, "compare.html", **values)


def _ending(request: Request, stored: StoredSession) -> dict[str, Any]:
    """Return what the last page shows: the shortlist, the reason, and what may come next."""
    screen, session = stored.screen, stored.session
    proven = screen.finished == "bound" and screen.sure is None
    provable = not proven and 2 < len(session.pool) <= PROVABLE
    jobs: JobRunner = request.app.state.pool_jobs
    larger = jobs.arrivals(stored)
    return {
        "shortlist": session.shortlist,
        "ranking": session.ranking[:MOST_RANKED],
        "why": why(session),
        "ending": words.ending(screen, session),
        "asked": words.counted(screen.cost, "screen" if session.per_screen > 2 else "question"),
        "more": not proven and screen.finished != "exhausted" and len(session.pool) > 2,
        "price": words.price(session) if provable else "",
        "can_grow": jobs.can_grow(stored),
        "arrived": 0 if larger is None else len(larger) - len(session.pool),
        "map": maps.draw(session) if len(session.pool) > 2 else None,
    }
