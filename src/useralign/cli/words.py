"""What the figures mean, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.pooling import GrowthRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from useralign.session import Session

REASONS = {
    "bound": "that is as close to the best as you asked for",
    "budget": "that was the number of questions you allowed",
    "limit": "that was the largest number of questions",
    "confident": "that is sure enough",
    "exhausted": "there is nothing left worth asking",
    "stopped": "you found it good enough",
}


def progress(session: Session) -> str:
    """Say how far a session has come: what is still open, and how far off the favourite can be."""
    if not session.cost:
        return f"{len(session.pool)} answers, all still in the running"
    viable = len(session.viable)
    if viable <= 1:
        return "one answer is left in the running"
    share = 100.0 * session.bound / session.method.norm_bound
    sure = chance(session) or f"at most {share:.0f}% short of the best"
    return f"{viable} of {len(session.pool)} still in the running, {sure}"


def chance(session: Session) -> str:
    """Say how likely the favourite is the best; nothing if the method keeps no such account."""
    sure = session.confidence
    if sure is None:
        return ""
    what = "the best" if sure.top == 1 else f"among the best {sure.top}"
    return f"{100.0 * sure.probability:.0f}% sure to be {what}"


def certainty(session: Session) -> str:
    """Say what the end of a session guarantees."""
    reason = REASONS.get(session.stop_reason or "", "")
    opening = reason[:1].upper() + reason[1:] + "." if reason else ""
    share = 100.0 * session.bound / session.method.norm_bound
    if session.stop_reason == "bound" and share == 0.0 and not session.cost:
        return "There was nothing to choose between."
    if sure := chance(session):
        return f"{opening} Your answer is {sure}.".strip()
    if session.stop_reason == "bound" and share == 0.0:
        return "By your answers, no other answer in the pool can be better."
    tail = f" Another answer could be better by at most {share:.0f}% of the scale."
    return opening + (tail if share else "")


def why(session: Session, most: int = 3) -> list[str]:
    """Name the answers that the best one was preferred to, the latest first."""
    best = session.best.index
    beaten = [
        loser
        for answer in reversed(session.answers)
        for winner, loser in answer.wins
        if winner == best
    ]
    unique = list(dict.fromkeys(beaten))
    return [str(session.pool[k]) for k in unique[:most]]


def money(cost: float | None) -> str:
    """Write an amount of dollars; a price that is not known is said to be so."""
    if cost is None:
        return "unknown price"
    return f"${cost:.2f}" if cost == 0 or cost >= 0.005 else f"${cost:.4f}"


def spending(session: Session) -> list[str]:
    """Report what a session cost, in the form of the paper's cost section."""
    usage: Mapping[str, Any] = session.pool.meta.get("usage") or {}
    if summary := usage.get("summary"):
        lines = [str(summary)]
    else:
        size = len(session.pool)
        lines = [f"Pool of {size} answer{'s' * (size != 1)}: ready-made, {money(0.0)}."]
    if "growth" in session.pool.meta:
        grown = sum(candidate.source == "grown" for candidate in session.pool)
        cost = GrowthRecord.of(session.pool).usage.cost
        lines.append(f"Made while you compared: {grown} answer{'s' * (grown != 1)}, {money(cost)}.")
    asked = session.cost
    lines.append(f"Comparisons: {asked} question{'s' * (asked != 1)}, {money(0.0)}.")
    return lines
