"""What matters to a person, on a page: wishes to propose, and the model that judges them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from useralign.errors import UseralignError
from useralign.wishes import chips

if TYPE_CHECKING:
    from starlette.requests import Request

    from useralign.models import Generator
    from useralign.session import Session
    from useralign.wishes import Chip

MOST = 12


def proposals(session: Session) -> list[Chip]:
    """Return wishes to propose: those of the pool that would change something now."""
    if "wish" not in session.takes:
        return []
    own = {wish.text.casefold() for wish in session.wishes}
    return [
        chip
        for chip in chips(session.pool, MOST)
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
