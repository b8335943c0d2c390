"""What a person sees in the terminal: answers to choose from, how far it is, the result, a pool."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from useralign.answers import losers_to
from useralign.geometry.features import principal_plane
from useralign.pooling import GrowthRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from useralign.answers import Comparison
    from useralign.pool import Candidate, Pool
    from useralign.session import Session

NARROW = 72  # columns below which the answers stand one above the other
LONGEST = 1200  # characters of an answer that a screen can hold
COLOURS = (
    "cyan", "magenta", "yellow", "blue", "green", "red", "bright_cyan", "bright_magenta",
    "bright_yellow",
)  # fmt: skip
_SIGNS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
REASONS = {
    "bound": "that is as close to the best as you asked for",
    "budget": "that was the number of questions you allowed",
    "limit": "that was the largest number of questions",
    "confident": "that is sure enough",
    "exhausted": "there is nothing left worth asking",
    "stopped": "you found it good enough",
}


def clean(text: str, longest: int = LONGEST) -> str:
    """Return a model's text without control characters, cut to a length a screen can hold.

    What a model says is data: an escape sequence in it must not reach the terminal.
    """
    printable = "".join(_printable(c) for c in text)
    return printable if len(printable) <= longest else printable[:longest].rstrip() + " …"


def _printable(char: str) -> str:
    if char.isprintable() or char in "\n\t\u200c\u200d":  # joiners hold scripts and emoji together
        return char
    return " " if unicodedata.category(char) == "Zs" else ""


def card_text(candidate: Candidate) -> Text:
    """Return an answer as it stands in its card."""
    body = Text(clean(candidate.text or candidate.label), overflow="fold")
    if candidate.image:
        body.append("\n" + clean(candidate.image), style="dim")
    return body


def card(candidate: Candidate, title: str, colour: str) -> Panel:
    """Draw one answer."""
    return Panel(
        card_text(candidate),
        title=f"[bold]{title}[/]",
        border_style=colour,
        box=box.ROUNDED,
        padding=(1, 2),
    )


def cards(comparison: Comparison, width: int) -> RenderableType:
    """Draw the answers, two side by side where there is room."""
    panels = [
        card(candidate, str(number), COLOURS[number - 1])
        for number, candidate in enumerate(comparison.candidates, start=1)
    ]
    if width < NARROW:
        return Group(*panels)
    table = Table.grid(expand=True, padding=(0, 1))
    for _ in range(2):
        table.add_column(ratio=1)
    inside = (width - 2) // 2 - 6
    for row in range(0, len(panels), 2):
        beside = panels[row : row + 2]
        texts = [card_text(c).wrap(Console(), inside) for c in comparison.candidates[row : row + 2]]
        for panel in beside:
            panel.height = max(map(len, texts)) + 4
        table.add_row(*beside)
    return table


def question(
    session: Session, comparison: Comparison, width: int, *, rank: bool = False
) -> RenderableType:
    """Draw a whole question: where we are, the answers, the keys."""
    head = Text.assemble(
        (f"Question {session.cost + 1}", "bold"), ("  ·  " + progress(session), "dim")
    )
    line = keys(session, len(comparison.candidates), rank=rank, short=width < NARROW)
    return Group(head, cards(comparison, width), Text(line, "dim"))


def keys(session: Session, count: int, *, rank: bool = False, short: bool = False) -> str:
    """Return which keys do what, in a line of 80 columns, or of 40 where it must be short."""
    if short:
        return f"{'rank' if rank else 'pick'} 1-{count}   u undo   s skip   q enough"
    if rank:
        pick = f"1-{count} best to worst"
    else:
        pick = "1/← 2/→ pick" if count == 2 else f"1-{count} pick"
    extra = [("neither", "n neither"), ("remark", "/ remark")]
    more = [name for kind, name in extra if kind in session.takes]
    return "  ".join([pick, "= equal", *more, "u undo", "s skip", "q good enough"])


def result(session: Session) -> RenderableType:
    """Draw the end: the answer, what it took, and why."""
    parts: list[RenderableType] = [
        Panel(
            Text(clean(str(session.best), 20_000)),
            title="[bold]Your answer[/]",
            border_style="green",
            box=box.HEAVY,
            padding=(1, 2),
        )
    ]
    if session.best.image:
        parts.append(Text(clean(session.best.image), style="dim"))
    reasons = why(session)
    if reasons:
        parts.append(Text("You preferred it to", style="bold"))
        bullets = Table.grid(padding=(0, 1))
        for text in reasons:
            bullets.add_row(" ·", Text(clean(text, 160)))
        parts.append(bullets)
    parts.append(Text(certainty(session)))
    parts += [Text(clean(line), style="dim") for line in spending(session)]
    return Group(*parts)


def progress(session: Session) -> str:
    """Return what is still open, and how far off the favourite can be."""
    if not session.cost:
        return f"{len(session.pool)} answers, all still in the running"
    viable = len(session.viable)
    if viable <= 1:
        return "one answer is left in the running"
    share = 100.0 * session.bound / session.method.norm_bound
    sure = chance(session) or f"at most {share:.0f}% short of the best"
    return f"{viable} of {len(session.pool)} still in the running, {sure}"


def chance(session: Session) -> str:
    """Return how likely the favourite is the best; empty if the method computes no such thing."""
    sure = session.confidence
    if sure is None:
        return ""
    what = "the best" if sure.top == 1 else f"among the best {sure.top}"
    return f"{100.0 * sure.probability:.0f}% sure to be {what}"


def certainty(session: Session) -> str:
    """Return what the end of a session guarantees."""
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
    losers = losers_to(session.best.index, session.answers)
    return [str(session.pool[k]) for k in losers[:most]]


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
    count = session.cost
    lines.append(f"Comparisons: {count} question{'s' * (count != 1)}, {money(0.0)}.")
    return lines


def listing(pool: Pool) -> Table:
    """List the answers with the signs they have on the map."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for candidate in pool:
        origin = candidate.interest or candidate.source or ""
        text = clean(str(candidate), 300)
        table.add_row(_sign(candidate.index), Text(clean(origin, 24)), Text(text))
    return table


def scatter(pool: Pool, width: int, height: int = 18) -> Panel:
    """Draw the candidates as signs on a map: near is alike."""
    points, _ = principal_plane(pool.features)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    cells = (points - low) / span * (width - 5, height - 1)
    grid = [[" "] * (width - 4) for _ in range(height)]
    for index, (x, y) in enumerate(np.rint(cells).astype(int)):
        grid[height - 1 - y][x] = "*" if grid[height - 1 - y][x] != " " else _sign(index)
    drawn = "\n".join("".join(row) for row in grid)
    return Panel(Text(drawn), title="near is alike", border_style="dim", width=width)


def _sign(index: int) -> str:
    return _SIGNS[index] if index < len(_SIGNS) else "+"
