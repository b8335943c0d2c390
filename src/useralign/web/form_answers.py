"""From what a form or a request holds to a response that the store records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from useralign.errors import AnswerError
from useralign.store import UserResponse
from useralign.wishes.judge import tidy

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.models import Generator
    from useralign.session import Session

LONGEST_REMARK = 1000
LONGEST_TIME = 24 * 3600 * 1000


def parse(
    button: str, text: str, places: list[str], model: Callable[[], Generator | None]
) -> UserResponse:
    """Return the response of a form.

    Parameters
    ----------
    button : str
        A number is the position of the chosen card, `final-7` the final choice of candidate 7;
        else it is the kind of response.
    text : str
        Of a wish, or of one that is taken back.
    places : list of str
        See `ranking`.
    model : callable
        Returns a model that judges wishes, or None; called for a wish alone.
    """
    if re.fullmatch(r"[0-8]", button):
        return UserResponse("choice", position=int(button))
    if number := re.fullmatch(r"final-(\d{1,9})", button):
        return UserResponse("final", position=int(number[1]))
    if button == "ranking":
        return ranking(places)
    if button in ("wish", "withdraw"):
        return wish(button, text, model)
    return UserResponse(button)


def ranking(places: list[str]) -> UserResponse:
    """Return a ranking from the place that each card was given, 1 the best.

    Parameters
    ----------
    places : list of str
        One per card, in the order on the page.

    Raises
    ------
    AnswerError
        Unless every place is given once.
    """
    if sorted(places) != [str(place + 1) for place in range(len(places))] or not places:
        raise AnswerError(f"each answer needs a place of its own, 1 to {len(places)}")
    order = sorted(range(len(places)), key=lambda position: places[position])
    return UserResponse("ranking", order=tuple(order))


def remark_on(session: Session, text: str) -> UserResponse:
    """Return a remark with where it points among the answers.

    Parameters
    ----------
    session : Session
        Whose pool it is about.
    text : str

    Raises
    ------
    AnswerError
        If there is nothing in it, or it is too long, or the method has no use for remarks.
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
    """Return a wish, or that one is taken back.

    Parameters
    ----------
    kind : {"wish", "withdraw"}
    text : str
    model : callable
        Returns a model that judges candidates against wishes, or None.

    Raises
    ------
    AnswerError
        If there is nothing in it, or it is too long.
    """
    line = tidy(text)
    return UserResponse(kind, text=line, model=model() if kind == "wish" else None)


def milliseconds(field: str) -> int | None:
    """Return how long an answer took, as the page measured it; None if it did not."""
    return min(int(field), LONGEST_TIME) if re.fullmatch(r"\d{1,12}", field) else None
