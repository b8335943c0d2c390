"""Sessions and their answers over HTTP."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from useralign.errors import AnswerError, OptionError, UseralignError
from useralign.store import Told
from useralign.web import telling
from useralign.web.api.caller import Caller
from useralign.web.api.models import ComparisonOut, NewAnswer, NewSession, ResultOut, SessionOut
from useralign.web.api.views import comparison_out, result_out, session_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from useralign.pool import Pool
    from useralign.session import Session

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
    return session_out(*request.app.state.live.look(session_id, caller))


@router.get("/{session_id}/comparison")
def get_the_comparison(request: Request, caller: Caller, session_id: str) -> ComparisonOut:
    """Return what to show now: always the same candidates in the same order, until answered."""
    return comparison_out(*request.app.state.live.look(session_id, caller))


@router.post("/{session_id}/answers")
def answer(request: Request, caller: Caller, session_id: str, body: NewAnswer) -> ComparisonOut:
    """Tell what the person did, and get what to show next.

    The same answer to the same step again changes nothing and returns the same reply, so it is
    safe to send it until it is answered. A different answer to an answered step is a conflict.
    """
    state = request.app.state
    session: Session = state.live.session(session_id, caller)
    told = _told(body, session, partial(state.live.shown, session_id, caller, body.step))
    state.limits.answers.take(f"{caller} {session_id}")
    screen = state.live.answer(session_id, caller, body.step, told, milliseconds=body.milliseconds)
    return comparison_out(screen, session)


@router.get("/{session_id}/result")
def get_the_result(request: Request, caller: Caller, session_id: str) -> ResultOut:
    """Return the answer that fits; before the end, the favourite so far."""
    return result_out(*request.app.state.live.look(session_id, caller))


@router.delete("/{session_id}", status_code=204)
def delete_a_session(request: Request, caller: Caller, session_id: str) -> Response:
    """Delete a session with everything that was told in it."""
    request.app.state.live.forget(session_id, caller)
    return Response(status_code=204)


def _told(body: NewAnswer, session: Session, shown: Callable[[], Sequence[int]]) -> Told:
    """Return what the store is told; candidates are named by their places on that screen."""
    if body.kind == "remark":
        return telling.remark(session, body.text or "")
    if body.kind == "choice":
        if body.winner is None:
            raise AnswerError("a choice needs winner, the index or id of one of those shown")
        return Told("choice", position=_position(body.winner, shown(), session.pool))
    if body.kind == "ranking":
        on_it = shown()
        order = [_position(which, on_it, session.pool) for which in body.ranking or []]
        return Told("ranking", order=tuple(order))
    return Told(body.kind)


def _position(which: int | str, shown: Sequence[int], pool: Pool) -> int:
    for position, k in enumerate(shown):
        if which == (k if isinstance(which, int) else pool[k].label):
            return position
    names = ", ".join(f"{k} ({pool[k].label})" for k in shown) or "none: the session is over"
    raise AnswerError(f"{which!r:.60} is not on that screen; expected one of {names}")
