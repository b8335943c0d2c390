"""How a session stands, in words for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.memory import saved_screens
from useralign.reasons import indifferent_to

if TYPE_CHECKING:
    from useralign.session import Session
    from useralign.store import Screen

# Of ends that are not here nothing needs to be said but what is certain.
REASONS = {
    "bound": "No other answer here can suit you better, by what you told us.",
    "limit": "That was the largest number of questions.",
    "exhausted": "There is nothing left worth asking.",
}
EQUAL = "These are equally good for you."
NONE = "None of those you saw was right for you."

ENOUGH = "Asking more would hardly help: if another one is better for you, then by little."
# Whose earlier answers a session began with.
ORIGINS = {
    "you": "Started from what you liked before",
    "others": "Started from what others like",
    "both": "Started from what you liked before, and what others like",
}


def origin(screen: Screen, session: Session, basis: str) -> str:
    """Return whose earlier answers a session began with, and at its end what that saved."""
    start = ORIGINS.get(basis, "")
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


def price(session: Session) -> str:
    """Return what it takes to prove which is the best: "about 7 more questions", or nothing."""
    count = session.proof_price()
    return f"about {counted(count, 'more question')}" if count else ""


def ending(screen: Screen, session: Session) -> str:
    """Return why a session is over and what is certain, as a sentence."""
    if indifference := indifferent_to(session):
        return NONE if indifference == "neither" else EQUAL
    over = not screen.cost and screen.finished in {"bound", "exhausted"}
    if over and (screen.sure is None or len(session.pool) < 2):
        return "There was nothing to choose between."
    if screen.finished == "bound" and len(session.shortlist) == 1:
        return "It is the only one left."
    reason = REASONS.get(screen.finished or "", "")
    if screen.finished == "bound" and session.epsilon:
        reason = "That is as close to your best as you asked for."
    elif screen.sure is not None and screen.finished in {"bound", "confident"}:
        enough = screen.sure[0] >= getattr(session.method, "sure", 1.0)
        reason = "" if enough else ENOUGH
    elif screen.finished == "bound":
        return reason
    return f"{reason} {_certainty(screen, session)}".strip()


def _certainty(screen: Screen, session: Session) -> str:
    if not screen.cost and getattr(session.method, "prior", None) is None:
        return ""  # nothing was answered, now or in earlier sessions
    if screen.sure is not None:
        probability, top = screen.sure
        what = "the best for you" if top == 1 else f"among your best {top}"
        return f"We are {min(99, int(100 * probability))}% sure that this is {what}."
    scale = session.method.norm_bound
    if not screen.bound > 1e-9 * scale:
        return ""
    share = min(100, -int(-100.0 * screen.bound // scale))  # rounded up: a promise must hold
    return f"Another answer could suit you better, by at most {share}% of the scale."


def counted(count: int, thing: str) -> str:
    """Return a number of things, as words: 1 screen, 2 screens."""
    return f"{count} {thing}{'s' * (count != 1)}"
