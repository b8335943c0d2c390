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
    keep: Callable[[], None] = lambda: None,
) -> None:
    """Let a simulated user answer, and print what was said: best first, the rest dim.

    `keep` is called before an answer is printed, because what reads the transcript may go away;
    `between` is called after it.
    """
    console.print(clean(session.pool.question), style="bold")
    console.print(f"Answering: {clean(name)}\n", style="dim")
    for answer in simulate(session, user, rank=rank):
        keep()
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
        no_wrap=True,
        overflow="ellipsis",
    )


def plain(session: Session) -> list[dict[str, Any]]:
    """Return the answers so far as plain data, candidates by their labels."""
    return [_entry(session, answer) for answer in session.answers]


def _entry(session: Session, answer: Answer) -> dict[str, Any]:
    if not answer.candidates:  # said in words
        return {"kind": answer.kind, "text": answer.text}
    labels = [session.pool[k].label for k in answer.candidates]
    entry: dict[str, Any] = {"kind": answer.kind, "first": labels[0], "second": labels[1]}
    if answer.others:
        entry["shown"] = labels
    if answer.kind == "ranking":
        entry["order"] = [session.pool[k].label for k in answer.order]
    entry["winner"] = None if answer.winner is None else session.pool[answer.winner].label
    return entry
