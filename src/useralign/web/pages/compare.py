"""Comparing, and the answer at the end. A session has one address, which shows where it stands."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from starlette.responses import PlainTextResponse

from useralign.errors import AnswerError, ConflictError, ModelError, SessionStateError
from useralign.store import Told
from useralign.web import beginning, telling, words
from useralign.web import map as maps
from useralign.web.identity import Here
from useralign.web.rendering import page, to

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "places": "Give each answer a place of its own. What you have chosen is still there.",
}


@router.get("")
def show(
    request: Request, who: Here, session_id: str, note: str = "", placed: str = ""
) -> Response:
    """Show the comparison that is due, or the answer."""
    live = request.app.state.live
    look: tuple[Screen, Session] = live.look(session_id, who.owner)
    screen, session = look
    template = "compare.html" if screen.finished is None else "result.html"
    about = live.page(session_id, who.owner)
    shared: dict[str, Any] = {"screen": screen, "session": session, "note": NOTES.get(note, "")}
    shared["known"] = words.KNOWN.get(about.get("known", ""), "")
    if screen.finished is None:
        shared |= {
            "standing": words.standing(screen, session),
            "candidates": [session.pool[k] for k in screen.shown],
            "takes": session.takes,
            "ranks": about.get("rank", False) and len(screen.shown) > 2,
            "placed": _placed(placed, len(screen.shown)),
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
    place: Annotated[list[str] | None, Form(max_length=4)] = None,
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
        session = partial(state.live.session, session_id, who.owner)
        said = _told(told, remark, place or [], session)
        state.live.answer(
            session_id, who.owner, step, said, milliseconds=_milliseconds(milliseconds)
        )
    except ConflictError:
        return to(request, f"{here}?note=moved")
    except SessionStateError:
        return to(request, f"{here}?note={'nothing' if told == 'undo' else 'moved'}")
    except (AnswerError, ModelError):
        if told == "ranking" and state.live.screen(session_id, who.owner).step == step:
            return to(request, f"{here}?note=places&placed={_places(place or [])}")
        note = {"remark": "unclear", "ranking": "moved"}.get(told, "unused")
        return to(request, f"{here}?note={note}")
    note = {"undo": "?note=undone", "remark": "?note=remark"}.get(told, "")
    return to(request, here + note)


@router.post("/again")
def again(request: Request, who: Here, session_id: str) -> Response:
    """Start over with the same answers, from another beginning."""
    state = request.app.state
    state.limits.asks.take(state.limits.visitor(request))
    pool_id = state.live.screen(session_id, who.owner).pool_id
    wish = beginning.again(state.live, session_id, who.owner)
    screen = beginning.begin(state.store, state.live, pool_id, who.owner, wish)
    return to(request, f"/s/{screen.session_id}")


@router.post("/delete")
def delete(request: Request, who: Here, session_id: str) -> Response:
    """Delete the session."""
    request.app.state.live.forget(session_id, who.owner)
    request.app.state.store.rinse()
    return to(request, "/you")


@router.get("/answer.txt")
def download(request: Request, who: Here, session_id: str) -> Response:
    """Give the answer as a file, whole."""
    session: Session = request.app.state.live.session(session_id, who.owner)
    text = f"{session.pool.question}\n\n{session.best.text}\n"
    name = re.sub(r"[^a-z0-9]+", "-", session.pool.question.lower())[:40].strip("-") or "answer"
    headers = {"Content-Disposition": f'attachment; filename="{name}.txt"'}
    return PlainTextResponse(text.encode("utf-8", "replace"), headers=headers)


def _told(told: str, remark: str, place: list[str], session: Callable[[], Session]) -> Told:
    """Read a button: a number is the position of the chosen card, else the kind of answer."""
    if re.fullmatch(r"[0-3]", told):
        return Told("choice", position=int(told))
    if told == "ranking":
        return telling.ranking(place)
    if told == "remark":
        return telling.remark(session(), remark)
    return Told(told)


def _places(given: list[str]) -> str:
    """Write the places that cards were given, for the address of the page that asks again."""
    return ",".join(place if re.fullmatch(r"[1-4]", place) else "" for place in given)


def _placed(written: str, count: int) -> list[str]:
    """Read what `_places` wrote; anything else is no place at all."""
    given = written.split(",")
    fits = len(given) == count and all(re.fullmatch(r"[1-4]?", place) for place in given)
    return given if fits else [""] * count


def _milliseconds(given: str) -> int | None:
    return min(int(given), LONGEST_TIME) if re.fullmatch(r"\d{1,12}", given) else None
