"""A session in a notebook: cards to click on, or a text where nothing can be clicked on.

A session shows itself when it is the last line of a cell. What is clicked calls the session's own
methods in the kernel, so that `session.best` and the rest are there for the next cell.
"""

from __future__ import annotations

import base64
import io
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import AnswerError, UseralignError
from useralign.extras import install_hint
from useralign.reasons import why

if TYPE_CHECKING:
    from useralign.pool import Candidate
    from useralign.session import Session

SCRIPT = Path(__file__).parent / "web" / "static" / "user-align.js"
SIDE = 640  # pixels of a picture


def bundle(session: Session) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a front end may show of a session, by media type, and notes for it.

    Parameters
    ----------
    session : Session
        The same one shown twice is one set of cards, in two places.
    """
    text = describe(session)
    if not _in_kernel():
        return {"text/plain": text}, {}
    if hint := install_hint(("anywidget",), "notebook"):
        return {"text/plain": f"{text}\nTo click on cards instead: {hint}"}, {}
    data, notes = _cards(session).refreshed()._repr_mimebundle_()
    return {**data, "text/plain": text}, notes


def describe(session: Session) -> str:
    """Return a session as a text: what to compare and how to answer, or the shortlist."""
    comparison = session.ask()
    options = session.shortlist if comparison is None else comparison.candidates
    lines = [session.pool.question, *(f"  {one.index:>3}  {one}" for one in options)]
    if comparison is None:
        return "\n".join([*lines, why(session)])
    standing = f"{session.cost + 1} of about {session.expected_screens}"
    others = "neither() or " * ("neither" in session.takes)
    hint = f"{standing}: session.tell({options[0].index}) takes the first; or {others}stop()"
    return "\n".join([*lines, hint])


def screen(session: Session) -> dict[str, Any]:
    """Return what to show of a session, as the HTTP API describes it."""
    comparison = session.ask()
    result = {"shortlist": [_card(one) for one in session.shortlist], "why": why(session)}
    return {
        "step": len(session.answers),
        "question": session.pool.question,
        "candidates": [_card(one) for one in comparison.candidates] if comparison else [],
        "takes": sorted(session.takes),
        "cost": session.cost,
        "expected_screens": session.expected_screens,
        "sure": session.confidence is not None,
        "finished": session.stop_reason,
        "result": None if comparison else result,
    }


def act(session: Session, message: dict[str, Any]) -> None:
    """Apply a click to a session; a click on an earlier screen changes nothing.

    Parameters
    ----------
    session : Session
    message : dict
        `step`, `kind` and, for a choice or a final one, `winner`, a candidate's index.

    Raises
    ------
    AnswerError
        If it is not understood, or does not fit the session. Nothing has changed.
    """
    if message.get("step") != len(session.answers):
        return
    session.ask()
    kind, winner = message.get("kind"), message.get("winner")
    if kind in ("choice", "final") and isinstance(winner, int):
        (session.tell if kind == "choice" else session.choose)(winner)
    elif kind in ("neither", "undo", "stop", "go_on"):
        getattr(session, kind)()
    else:
        raise AnswerError(f"a click of the kind {kind!r:.40} with {winner!r:.40} is not understood")


def _in_kernel() -> bool:
    """Return whether a front end may be there: a notebook has one, a terminal has not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")


def _card(candidate: Candidate) -> dict[str, Any]:
    picture = _picture(candidate.image) if candidate.image else None
    return {
        "index": candidate.index,
        "id": candidate.label,
        "text": candidate.text,
        "picture": picture,
    }


@cache
def _picture(path: str) -> str | None:
    """Return a picture, no larger than a card needs, as a data address; None if it is none."""
    from useralign.models.image_embedders import open_picture  # noqa: PLC0415 - needs Pillow

    try:
        picture = open_picture(path)
    except (UseralignError, OSError):
        return None
    picture.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=85)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"


@cache
def _cards(session: Session) -> Any:
    """Return the widget of a session; a front end may ask for it as long as there is a kernel."""
    return _widget()(session)


@cache
def _widget() -> Any:
    """Build the widget's class, once there is something to build it from."""
    import anywidget  # noqa: PLC0415 - an extra
    import traitlets  # noqa: PLC0415 - it comes with anywidget

    class Cards(anywidget.AnyWidget):
        """A session that can be clicked on."""

        _esm = SCRIPT.read_text(encoding="utf-8")
        screen = traitlets.Dict().tag(sync=True)

        def __init__(self, session: Session) -> None:
            self._session = session
            self._clicks = 0
            super().__init__(screen=screen(session))
            self.on_msg(self._clicked)

        def _clicked(self, _: object, message: dict[str, Any], __: object) -> None:
            try:
                act(self._session, message)
            finally:  # also a click that changed nothing is answered
                self.refreshed()

        def refreshed(self) -> Cards:
            """Show where the session is, whoever told it something."""
            self._clicks += 1
            self.screen = screen(self._session) | {"clicks": self._clicks}
            return self

    return Cards
