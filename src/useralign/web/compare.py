"""Comparing, and the answer at the end. A session has one address, which shows where it stands.

The answer to a screen is sent to that same address, and the reply is the next screen. Sending it
again (a retry) changes nothing and shows where the person is. A browser that sends the form itself,
without our script, is sent on to the address once the answer is recorded: what it then has in its
history is a page that it may load again, so that reloading and going back ask nothing.
"""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from starlette.responses import PlainTextResponse

from useralign.errors import AnswerError, ConflictError, ModelError, SessionStateError
from useralign.web import form_answers, start_session, words
from useralign.web import map as maps
from useralign.web.identity import CurrentVisitor
from useralign.web.rendering import page, to

if TYPE_CHECKING:
    from useralign.session import Session
    from useralign.store import StoredSession

router = APIRouter(prefix="/s/{session_id}", include_in_schema=False)
MOVED = "You had answered that one already. Here is where you are now."
NOTHING = "There is nothing to take back yet."
PLACES = "Give each answer a place of its own. What you have chosen is still there."
UNUSED = "That could not be used here. Choose between the answers instead."
UNCLEAR = "That gave nothing to go by. Say what there should be more or less of."
DONE = {"undo": "Taken back.", "remark": "Thank you, that was taken into account."}


@router.get("")
def show(request: Request, who: CurrentVisitor, session_id: str, note: str = "") -> Response:
    """Show the comparison that is due, or the answer."""
    return _show(request, request.app.state.live.open(session_id, who.owner), DONE.get(note, ""))


@router.post("")
def answer(
    request: Request,
    who: CurrentVisitor,
    session_id: str,
    *,
    step: Annotated[int, Form()],
    response: Annotated[str, Form(max_length=20)],
    place: Annotated[list[str] | None, Form(max_length=4)] = None,
    remark: Annotated[str, Form(max_length=4000)] = "",
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
    try:
        parsed = form_answers.parse(response, remark, places, lambda: stored.session)
        stored.answer(step, parsed, milliseconds=form_answers.milliseconds(milliseconds))
    except ConflictError:
        return _show(request, stored, MOVED)
    except SessionStateError:
        return _show(request, stored, NOTHING if response == "undo" else MOVED)
    except (AnswerError, ModelError):
        if response == "ranking" and is_current:
            return _show(request, stored, PLACES, places)
        note = {"remark": UNCLEAR, "ranking": MOVED}.get(response, UNUSED)
        return _show(request, stored, note)
    if request.headers.get("sec-fetch-mode") == "navigate":
        return to(request, f"/s/{session_id}" + f"?note={response}" * (response in DONE))
    return _show(request, stored, DONE.get(response, ""))


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
    """Delete the session."""
    request.app.state.live.forget(session_id, who.owner)
    request.app.state.store.rinse()
    return to(request, "/you")


@router.get("/answer.txt")
def download(request: Request, who: CurrentVisitor, session_id: str) -> Response:
    """Return the answer as a file, whole."""
    session: Session = request.app.state.live.session(session_id, who.owner)
    text = f"{session.pool.question}\n\n{session.best.text}\n"
    name = re.sub(r"[^a-z0-9]+", "-", session.pool.question.lower())[:40].strip("-") or "answer"
    headers = {"Content-Disposition": f'attachment; filename="{name}.txt"'}
    return PlainTextResponse(text.encode("utf-8", "replace"), headers=headers)


def _show(
    request: Request, stored: StoredSession, note: str = "", places: list[str] | None = None
) -> Response:
    """Return the page of a session as it stands.

    Parameters
    ----------
    request : Request
    stored : StoredSession
    note : str
        Shown once, at the top.
    places : list of str, optional
        The places that the cards of a ranking were given, to be shown again.
    """
    screen, session = stored.screen, stored.session
    values: dict[str, Any] = {"screen": screen, "session": session, "note": note}
    values["known"] = words.KNOWN.get(stored.page.get("known", ""), "")
    if screen.finished is not None:
        values |= {
            "best": session.pool[screen.best],
            "ending": words.ending(screen, session),
            "asked": words.questions(screen.cost),
            "beaten": [session.pool[k] for k in words.beaten(session)],
            "map": maps.draw(session) if len(session.pool) > 2 else None,
        }
        return page(request, "result.html", **values)
    count = len(screen.candidates)
    values |= {
        "standing": words.standing(screen, session),
        "candidates": [session.pool[k] for k in screen.candidates],
        "takes": session.takes,
        "ranks": stored.page.get("rank", False) and count > 2,
        "placed": places if places and len(places) == count else [""] * count,
    }
    return page(request, "compare.html", **values)
