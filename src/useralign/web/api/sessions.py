"""Sessions and their answers over HTTP."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from useralign.errors import AnswerError, ConflictError, OptionError, UseralignError
from useralign.store import Told
from useralign.store.schema import steps
from useralign.web import telling
from useralign.web.api.caller import Caller
from useralign.web.api.models import ComparisonOut, NewAnswer, NewSession, ResultOut, SessionOut
from useralign.web.api.views import comparison_out, result_out, session_out

if TYPE_CHECKING:
    from useralign.pool import Pool
    from useralign.session import Session
    from useralign.store import Screen

router = APIRouter(prefix="/sessions", tags=["sessions"])


@router.post("", status_code=201)
def begin_a_session(
    request: Request, response: Response, caller: Caller, body: NewSession
) -> SessionOut:
    """Begin a session over a pool."""
    state = request.app.state
    state.limits.asks.take(caller)
    settings = body.model_dump(exclude={"pool"})
    try:
        screen = state.live.create(body.pool, caller, settings)
    except UseralignError:
        raise
    except (TypeError, ValueError, OverflowError) as error:  # an option of a wrong kind
        raise OptionError(f"the options do not fit the method: {error}") from error
    response.headers["Location"] = f"/api/sessions/{screen.session_id}"
    return session_out(screen, state.live.session(screen.session_id, caller))


@router.get("/{session_id}")
def get_a_session(request: Request, caller: Caller, session_id: str) -> SessionOut:
    """Return a session and what to show now."""
    return session_out(*_both(request, caller, session_id))


@router.get("/{session_id}/comparison")
def get_the_comparison(request: Request, caller: Caller, session_id: str) -> ComparisonOut:
    """Return what to show now: always the same candidates in the same order, until answered."""
    return comparison_out(*_both(request, caller, session_id))


@router.post("/{session_id}/answers")
def answer(request: Request, caller: Caller, session_id: str, body: NewAnswer) -> ComparisonOut:
    """Tell what the person did, and get what to show next.

    The same answer to the same step again changes nothing and returns the same reply, so it is
    safe to send it until it is answered. A different answer to an answered step is a conflict.
    """
    state = request.app.state
    session: Session = state.live.session(session_id, caller)
    told = _told(request, session_id, body, session)
    state.limits.answers.take(f"{caller} {session_id}")
    screen = state.live.answer(session_id, caller, body.step, told, milliseconds=body.milliseconds)
    return comparison_out(screen, state.live.session(session_id, caller))


@router.get("/{session_id}/result")
def get_the_result(request: Request, caller: Caller, session_id: str) -> ResultOut:
    """Return the answer that fits; before the end, the favourite so far."""
    return result_out(*_both(request, caller, session_id))


@router.delete("/{session_id}", status_code=204)
def delete_a_session(request: Request, caller: Caller, session_id: str) -> Response:
    """Delete a session with everything that was told in it."""
    request.app.state.live.forget(session_id, caller)
    return Response(status_code=204)


def _both(request: Request, caller: str, session_id: str) -> tuple[Screen, Session]:
    live = request.app.state.live
    return live.screen(session_id, caller), live.session(session_id, caller)


def _told(request: Request, session_id: str, body: NewAnswer, session: Session) -> Told:
    """Return what the store is told; candidates are named by their places on that screen."""
    if body.kind == "remark":
        return telling.remark(session, body.text or "")
    if body.kind == "choice":
        if body.winner is None:
            raise AnswerError("a choice needs winner, the index or id of one of those shown")
        shown = _shown(request, session_id, body.step)
        return Told("choice", position=_position(body.winner, shown, session.pool))
    if body.kind == "ranking":
        shown = _shown(request, session_id, body.step)
        order = [_position(which, shown, session.pool) for which in body.ranking or []]
        return Told("ranking", order=tuple(order))
    return Told(body.kind)


def _shown(request: Request, session_id: str, step: int) -> list[int]:
    """Return what was on a screen of a session that is the caller's."""
    here = steps.c.session_id == session_id
    with request.app.state.store.reading() as connection:
        rows: list[Any] = list(
            connection.execute(select(steps.c.shown).where(here).order_by(steps.c.number))
        )
    if not 0 <= step < len(rows):
        raise ConflictError(f"screen {step} was not shown yet; the current one is {len(rows) - 1}")
    return [int(k) for k in rows[step].shown]


def _position(which: int | str, shown: list[int], pool: Pool) -> int:
    for position, k in enumerate(shown):
        if which == (k if isinstance(which, int) else pool[k].label):
            return position
    names = ", ".join(f"{k} ({pool[k].label})" for k in shown) or "none: the session is over"
    raise AnswerError(f"{which!r:.60} is not on that screen; expected one of {names}")
