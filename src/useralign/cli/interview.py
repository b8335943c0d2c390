"""A person answers in the terminal, one key a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.cli import keys, screens
from useralign.errors import SessionStateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from useralign.answers import Comparison
    from useralign.cli.saved import Saved
    from useralign.session import Session

FIRST, SECOND = ("1", "left", "a"), ("2", "right", "b")


def interview(
    session: Session,
    console: Console,
    saved: Saved | None,
    *,
    show: Callable[[Comparison], None] | None = None,
    read_key: Callable[[], str] = keys.read_key,
) -> None:
    """Ask until the session is over; every answer is on disk before the next question.

    Parameters
    ----------
    session : Session
    console : Console
    saved : Saved, optional
        Where the session is kept.
    show : callable, optional
        Shows a pair of pictures in its own way, after the cards.
    read_key : callable
        Returns the next key.
    """
    while (pair := session.ask()) is not None:
        console.print()
        console.print(screens.question(session, pair, console.width))
        if show is not None:
            show(pair)
        while not _act(session, pair, read_key(), console):
            pass
        if saved is not None:
            saved.write(session)


def _act(session: Session, pair: Comparison, key: str, console: Console) -> bool:
    """Do what a key says; False when it says nothing."""
    if key in FIRST or key in SECOND:
        number, winner = (1, pair.first) if key in FIRST else (2, pair.second)
        session.tell(winner)
        console.print(f"  you chose {number}", style=screens.COLOURS[number - 1])
    elif key == "s":
        session.skip()
        console.print("  skipped", style="dim")
    elif key == "q":
        session.stop()
    elif key == "u":
        return _undo(session, console)
    else:
        console.print("  press 1 or 2 (or an arrow); u undo, s skip, q good enough", style="dim")
        return False
    return True


def _undo(session: Session, console: Console) -> bool:
    try:
        session.undo()
    except SessionStateError:
        console.print("  nothing to undo yet", style="dim")
        return False
    console.print("  undone", style="dim")
    return True
