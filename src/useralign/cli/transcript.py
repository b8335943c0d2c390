"""What was said in a session: printed while a simulated person answers, and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from useralign.cli.screens import clean
from useralign.users import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from useralign.answers import Answer
    from useralign.pool import Candidate
    from useralign.session import Session
    from useralign.users import User


def run(
    session: Session,
    console: Console,
    user: User,
    name: str,
    *,
    rank: bool = False,
    between: Callable[[], object] = lambda: None,
) -> None:
    """Let a simulated user answer, and print what was said: best first, the rest dim.

    Parameters
    ----------
    session : Session
    console : Console
    user : User
    name : str
        Who answers, for the reader.
    rank : bool
        Whether all that are shown are put in order.
    between : callable
        Called after every answer.
    """
    console.print(clean(session.pool.question), style="bold", highlight=False, markup=False)
    console.print(f"Answering: {clean(name)}\n", style="dim", markup=False, highlight=False)
    for answer in simulate(session, user, rank=rank):
        order = answer.order or sorted(answer.candidates, key=lambda k: k != answer.winner)
        for position, index in enumerate(order):
            _line(console, session.cost, position, session.pool[index], rank=rank)
        between()
    console.print()


def _line(
    console: Console, number: int, position: int, candidate: Candidate, *, rank: bool
) -> None:
    sign = str(position + 1) if rank else "-" if position else "+"
    console.print(
        f"{'' if position else number:>2} {sign} {clean(str(candidate), 110)}",
        style="dim" if position else "",
        markup=False,
        highlight=False,
        no_wrap=True,
        overflow="ellipsis",
    )


def plain(session: Session) -> list[dict[str, Any]]:
    """Return the answers so far as plain data, candidates by their labels."""
    return [_entry(session, answer) for answer in session.answers]


def _entry(session: Session, answer: Answer) -> dict[str, Any]:
    if answer.kind == "remark":
        return {"kind": "remark", "text": answer.text}
    labels = [session.pool[k].label for k in answer.candidates]
    entry: dict[str, Any] = {"kind": answer.kind, "first": labels[0], "second": labels[1]}
    if answer.others:
        entry["shown"] = labels
    if answer.kind == "ranking":
        entry["order"] = [session.pool[k].label for k in answer.order]
    entry["winner"] = None if answer.winner is None else session.pool[answer.winner].label
    return entry
