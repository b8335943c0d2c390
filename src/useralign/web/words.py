"""How a session stands, in words for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.answers import losers_to
from useralign.memory import saved_screens

if TYPE_CHECKING:
    from useralign.session import Session
    from useralign.store import Screen

REASONS = {
    "bound": "No other answer here can suit you better, by what you told us.",
    "confident": "",
    "budget": "",
    "limit": "That was the largest number of questions.",
    "exhausted": "There is nothing left worth asking.",
    "stopped": "",
    "chosen": "",
}
EQUAL = "These are equally good for you."
NONE = "None of those you saw was right for you."

ENOUGH = "Asking more would hardly help: if another one is better for you, then by little."
# Whose earlier answers a session began with.
KNOWN = {
    "you": "Started from what you liked before",
    "others": "Started from what others like",
    "both": "Started from what you liked before, and what others like",
}


def origin(screen: Screen, session: Session, known: str) -> str:
    """Return whose earlier answers a session began with, and at its end what that saved."""
    start = KNOWN.get(known, "")
    saved = saved_screens(session) if start and screen.finished == "confident" else 0
    if not saved:
        return start
    took, without = counted(screen.cost, "screen"), screen.cost + saved
    return f"{start}: {took} instead of about {without}"


def progress(screen: Screen, session: Session) -> str:
    """Return where a person is, such as "1 of about 3"."""
    last = session.expected_screens
    about = "" if screen.cost + 1 == last == session.budget else "about "
    return f"{screen.cost + 1} of {about}{last}"


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
    if screen.finished == "indifferent":
        answered = [answer.kind for answer in session.answers if answer.counts]
        return NONE if set(answered) == {"neither"} else EQUAL
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


def counted(count: int, thing: str) -> str:
    """Return a number of things, as words: 1 screen, 2 screens."""
    return f"{count} {thing}{'s' * (count != 1)}"


def beaten(session: Session, most: int = 5) -> list[int]:
    """Return the indices of the answers that the best was preferred to, the latest first."""
    return losers_to(session.best.index, session.answers)[:most]
