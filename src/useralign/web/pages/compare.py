"""Comparing, and the answer at the end. A session has one address, which shows where it stands."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from starlette.responses import PlainTextResponse

from useralign.errors import AnswerError, ConflictError, ModelError, SessionStateError
from useralign.store import Told
from useralign.web import map as maps
from useralign.web import telling, words
from useralign.web.identity import Here
from useralign.web.rendering import page, to

if TYPE_CHECKING:
    from useralign.session import Session
    from useralign.store import Screen

router = APIRouter(prefix="/s/{session_id}")
LONGEST_TIME = 24 * 3600 * 1000
# What the address may carry to be said once at the top of the page.
NOTES = {
    "moved": "You had answered that one already. Here is where you are now.",
    "undone": "Taken back.",
    "nothing": "There is nothing to take back yet.",
    "remark": "Thank you, that was taken into account.",
    "unused": "That could not be used here. Choose between the answers instead.",
    "unclear": "That gave nothing to go by. Say what there should be more or less of.",
}


@router.get("")
def show(request: Request, who: Here, session_id: str, note: str = "") -> Response:
    """Show the comparison that is due, or the answer."""
    live = request.app.state.live
    screen: Screen = live.screen(session_id, who.owner)
    session: Session = live.session(session_id, who.owner)
    template = "compare.html" if screen.finished is None else "result.html"
    shared: dict[str, Any] = {"screen": screen, "session": session, "note": NOTES.get(note, "")}
    if screen.finished is None:
        shared |= {
            "standing": words.standing(screen, session),
            "candidates": [session.pool[k] for k in screen.shown],
            "takes": session.takes,
        }
    else:
        shared |= {
            "best": session.pool[screen.best],
            "ending": words.ending(screen, session),
            "asked": words.questions(screen.cost),
            "beaten": [session.pool[k] for k in words.beaten(session)],
            "map": maps.draw(session) if len(session.pool) > 2 else None,
        }
    return page(request, template, **shared)


@router.post("/answer")
def answer(
    request: Request,
    who: Here,
    session_id: str,
    *,
    step: Annotated[int, Form()],
    told: Annotated[str, Form(max_length=20)],
    remark: Annotated[str, Form(max_length=4000)] = "",
    milliseconds: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """Record an answer and go on; the same one again changes nothing.

    A form that is out of date (sent twice in another way, from another tab, after going back)
    shows where the person is now and says so.
    """
    state = request.app.state
    state.limits.answers.take(who.owner)
    here = f"/s/{session_id}"
    try:
        said = _told(request, who.owner, session_id, told, remark)
        state.live.answer(
            session_id, who.owner, step, said, milliseconds=_milliseconds(milliseconds)
        )
    except ConflictError:
        return to(request, f"{here}?note=moved")
    except SessionStateError:
        return to(request, f"{here}?note={'nothing' if told == 'undo' else 'moved'}")
    except (AnswerError, ModelError):
        return to(request, f"{here}?note={'unclear' if told == 'remark' else 'unused'}")
    note = {"undo": "?note=undone", "remark": "?note=remark"}.get(told, "")
    return to(request, here + note)


@router.post("/again")
def again(request: Request, who: Here, session_id: str) -> Response:
    """Start over with the same answers, from another beginning."""
    state = request.app.state
    state.limits.asks.take(state.limits.visitor(request))
    old: Session = state.live.session(session_id, who.owner)
    pool_id = state.live.screen(session_id, who.owner).pool_id
    settings: dict[str, Any] = {
        "method": old.method.name,
        "options": old.method.options(),
        "seed": None,
    }
    settings |= {"epsilon": old.epsilon, "budget": old.budget, "shown": old.shown}
    return to(request, f"/s/{state.live.create(pool_id, who.owner, settings).session_id}")


@router.post("/delete")
def delete(request: Request, who: Here, session_id: str) -> Response:
    """Delete the session."""
    request.app.state.live.forget(session_id, who.owner)
    return to(request, "/you")


@router.get("/answer.txt")
def download(request: Request, who: Here, session_id: str) -> Response:
    """Give the answer as a file, whole."""
    session: Session = request.app.state.live.session(session_id, who.owner)
    text = f"{session.pool.question}\n\n{session.best.text}\n"
    name = re.sub(r"[^a-z0-9]+", "-", session.pool.question.lower())[:40].strip("-") or "answer"
    headers = {"Content-Disposition": f'attachment; filename="{name}.txt"'}
    return PlainTextResponse(text.encode("utf-8", "replace"), headers=headers)


def _told(request: Request, owner: str, session_id: str, told: str, remark: str) -> Told:
    """Read a button: a number is the place of the chosen card, else the kind of answer."""
    if re.fullmatch(r"[0-3]", told):
        return Told("choice", position=int(told))
    if told == "remark":
        return telling.remark(request.app.state.live.session(session_id, owner), remark)
    return Told(told)


def _milliseconds(given: str) -> int | None:
    return min(int(given), LONGEST_TIME) if re.fullmatch(r"\d{1,12}", given) else None
