"""From what a form or a request says to what the store is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.errors import AnswerError
from useralign.store import Told

if TYPE_CHECKING:
    from useralign.session import Session

LONGEST_REMARK = 1000


def ranking(places: list[str]) -> Told:
    """Return a ranking from the place that each card was given, 1 the best.

    Parameters
    ----------
    places : list of str
        One a card, in the order on the page.

    Raises
    ------
    AnswerError
        Unless every place is given once.
    """
    if sorted(places) != [str(place + 1) for place in range(len(places))] or not places:
        raise AnswerError(f"each answer needs a place of its own, 1 to {len(places)}")
    order = sorted(range(len(places)), key=lambda position: places[position])
    return Told("ranking", order=tuple(order))


def remark(session: Session, text: str) -> Told:
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
    from useralign.remarks import direction_of  # noqa: PLC0415 - loads an embedder

    text = " ".join(text.split())
    if not 0 < len(text) <= LONGEST_REMARK:
        raise AnswerError(f"a remark has 1 to {LONGEST_REMARK} characters; got {len(text)}")
    if "remark" not in session.takes:
        raise AnswerError("this session cannot use remarks; choose between the answers instead")
    return Told("remark", text=text, direction=tuple(direction_of(text, session.pool).tolist()))
