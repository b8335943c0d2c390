"""From what a form or a request holds to a response that the store records; and its wishes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from useralign.errors import AnswerError, UseralignError
from useralign.store import UserResponse
from useralign.wishes import chips
from useralign.wishes.judge import tidy

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from useralign.models import Generator
    from useralign.session import Session
    from useralign.wishes import Chip

MOST_WISHES = 8  # that are proposed: two lines of chips
LONGEST_REMARK = 1000
LONGEST_TIME = 24 * 3600 * 1000


def parse(
    button: str, text: str, places: list[str], model: Callable[[], Generator | None]
) -> UserResponse:
    """Return the response of a form.

    The button is the position of the chosen card, `final-7` for the final choice of candidate 7, or
    the kind of response. The text is that of a wish, or of one that is taken back; `model` is
    called for a wish alone, and returns a model that judges it, or None.
    """
    if re.fullmatch(r"[0-8]", button):
        return UserResponse("choice", position=int(button))
    if number := re.fullmatch(r"final-(\d{1,9})", button):
        return UserResponse("final", position=int(number[1]))
    if button == "ranking":  # of the places that the cards were given; 1 is the best
        if sorted(places) != [str(position + 1) for position in range(len(places))] or not places:
            raise AnswerError(f"each answer needs a place of its own, 1 to {len(places)}")
        order = sorted(range(len(places)), key=lambda position: places[position])
        return UserResponse("ranking", order=tuple(order))
    if button in ("wish", "withdraw"):
        return wish(button, text, model)
    return UserResponse(button)


def remark_on(session: Session, text: str) -> UserResponse:
    """Return a remark with where it points among the answers of a session.

    Raises `AnswerError` if there is nothing in it, it is too long, or the method takes no remarks.
    """
    from useralign.wishes import direction_of  # noqa: PLC0415 - loads an embedder

    text = " ".join(text.split())
    if not 0 < len(text) <= LONGEST_REMARK:
        raise AnswerError(f"a remark has 1 to {LONGEST_REMARK} characters; got {len(text)}")
    if "remark" not in session.takes:
        raise AnswerError("this session cannot use remarks; choose between the answers instead")
    direction = tuple(direction_of(text, session.pool).tolist())
    return UserResponse("remark", text=text, direction=direction)


def wish(kind: str, text: str, model: Callable[[], Generator | None]) -> UserResponse:
    """Return a wish, or that one is taken back; `model` returns a model that judges it, or None."""
    line = tidy(text)
    return UserResponse(kind, text=line, model=model() if kind == "wish" else None)


def proposals(session: Session) -> list[Chip]:
    """Return wishes to propose: those of the pool that would change something now."""
    if "wish" not in session.takes:
        return []
    own = {wish.text.casefold() for wish in session.wishes}
    return [
        chip
        for chip in chips(session.pool, MOST_WISHES)
        if chip.text.casefold() not in own
        and not session.hidden.issuperset(chip.hidden | chip.favoured)
    ]


def judge_for(request: Request, key: str, *, may_ask: bool) -> Generator | None:
    """Return a model to judge a wish with, or None: then words do.

    One on this machine would take longer than a person waits. A question to a model counts as one
    of those that `key` may put in an hour; `may_ask` is whether they may ask at the server's
    expense.
    """
    if not may_ask:
        return None
    state = request.app.state
    try:
        model: Generator = state.settings.generator(None)
        if model.name == "local":
            return None
        state.limits.asks.take(key)
    except (UseralignError, HTTPException):
        return None
    return model


def milliseconds(field: str) -> int | None:
    """Return how long an answer took, as the page measured it; None if it did not."""
    return min(int(field), LONGEST_TIME) if re.fullmatch(r"\d{1,12}", field) else None
