"""How a session stands, in words for a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from useralign.answers import losers_to

if TYPE_CHECKING:
    from useralign.session import Session
    from useralign.store import Screen

REASONS = {
    "bound": "No other answer here can suit you better, by what you told us.",
    "confident": "That is as sure as it needs to be.",
    "budget": "That was the number of questions you allowed.",
    "limit": "That was the largest number of questions.",
    "exhausted": "There is nothing left worth asking.",
    "stopped": "You found it good enough.",
}

ENOUGH = "Asking more would hardly help: if another one is better for you, then by little."
# Whose earlier answers a session began with.
KNOWN = {
    "you": "Started from what you liked before",
    "others": "Started from what others like",
    "both": "Started from what you liked before, and what others like",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a person is.

    Parameters
    ----------
    heading : str
        The one thing to know, a few words.
    detail : str
        What it means, one sentence; may be empty.
    viable, total : int
        How many answers are in the running, of how many.
    """

    heading: str
    detail: str
    viable: int
    total: int


def standing(screen: Screen, session: Session) -> Standing:
    """Return how far a session has come.

    Parameters
    ----------
    screen : Screen
    session : Session
        The same, rebuilt.
    """
    total = len(session.pool)
    return Standing(_heading(screen, total), _detail(screen, session), screen.viable, total)


def _heading(screen: Screen, total: int) -> str:
    if screen.cost == 0 and screen.viable == total:
        return f"{total} answers, all in the running"
    if screen.viable == total:
        return f"{screen.cost} answered"
    return f"{screen.viable} of {total} {'still ' * bool(screen.cost)}in the running"


def _detail(screen: Screen, session: Session) -> str:
    parts = []
    if session.budget is not None:
        left = session.budget - screen.cost
        parts.append(f"At most {left} more question{'s' * (left != 1)}.")
    if screen.sure is not None and screen.cost:
        parts.append(sure(*screen.sure))
    elif screen.cost and screen.viable < len(session.pool):
        share = gap(screen.bound, session.method.norm_bound)
        if share:
            parts.append(f"Stopping now, you would be at most {share}% short of your best.")
    return " ".join(part for part in parts if part)


def sure(probability: float, top: int, which: str = "the favourite") -> str:
    """Return how likely the favourite is among the best few, as a sentence."""
    percent = min(99, int(100 * probability))
    what = "the best for you" if top == 1 else f"among your best {top}"
    return f"We are {percent}% sure that {which} is {what}."


def gap(bound: float, scale: float) -> int:
    """Return a bound in per cent of the scale, rounded up: a promise must hold."""
    return max(0, min(100, -int(-100.0 * bound // scale))) if bound > 1e-9 * scale else 0


def ending(screen: Screen, session: Session) -> str:
    """Return why a session is over and what is certain, as a sentence."""
    over = not screen.cost and screen.finished in {"bound", "exhausted"}
    if over and (screen.sure is None or len(session.pool) < 2):
        return "There was nothing to choose between."
    reason = REASONS.get(screen.finished or "", "")
    if screen.finished == "bound" and session.epsilon:
        reason = "That is as close to your best as you asked for."
    elif screen.sure is not None and screen.finished in {"bound", "confident"}:
        enough = screen.sure[0] >= getattr(session.method, "sure", 1.0)
        reason = REASONS["confident"] if enough else ENOUGH
    elif screen.finished == "bound":
        return reason
    return f"{reason} {_certainty(screen, session)}".strip()


def _certainty(screen: Screen, session: Session) -> str:
    if not _tells(screen, session):
        return ""
    if screen.sure is not None:
        return sure(*screen.sure, "this")
    share = gap(screen.bound, session.method.norm_bound)
    return f"Another answer could suit you better, by at most {share}% of the scale." * bool(share)


def _tells(screen: Screen, session: Session) -> bool:
    """Return whether anything is known: something was answered, now or in earlier sessions."""
    return screen.cost > 0 or getattr(session.method, "prior", None) is not None


def questions(count: int) -> str:
    """Return how many questions it took, as words."""
    return f"{count} question{'s' * (count != 1)}"


def beaten(session: Session, most: int = 5) -> list[int]:
    """Return the indices of the answers that the best was preferred to, the latest first."""
    return losers_to(session.best.index, session.answers)[:most]
