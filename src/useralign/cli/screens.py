"""What a person sees in the terminal: a pair to choose from, and the answer at the end."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from useralign.cli import words

if TYPE_CHECKING:
    from useralign.answers import Comparison
    from useralign.pool import Candidate
    from useralign.session import Session

NARROW = 72  # columns below which the two answers stand one above the other
LONGEST = 1200  # characters of an answer that a screen can hold
KEYS = "[1/←] first   [2/→] second   [u] undo   [s] skip   [q] good enough"
COLOURS = ("cyan", "magenta")


def clean(text: str, longest: int = LONGEST) -> str:
    """Return a model's text without control characters, cut to a length a screen can hold.

    What a model says is data: an escape sequence in it must not reach the terminal.
    """
    kept = "".join(_kept(c) for c in text)
    return kept if len(kept) <= longest else kept[:longest].rstrip() + " …"


def _kept(char: str) -> str:
    if char.isprintable() or char in "\n\t\u200c\u200d":  # joiners hold scripts and emoji together
        return char
    return " " if unicodedata.category(char) == "Zs" else ""


def shown(candidate: Candidate) -> Text:
    """Return an answer as it stands in its card."""
    body = Text(clean(candidate.text or candidate.label), overflow="fold")
    if candidate.image:
        body.append("\n" + clean(candidate.image), style="dim")
    return body


def card(candidate: Candidate, title: str, colour: str) -> Panel:
    """Draw one answer."""
    return Panel(
        shown(candidate),
        title=f"[bold]{title}[/]",
        border_style=colour,
        box=box.ROUNDED,
        padding=(1, 2),
    )


def pair(comparison: Comparison, width: int) -> RenderableType:
    """Draw two answers, side by side where there is room."""
    both = (comparison.first, comparison.second)
    if width < NARROW:
        stacked = (card(c, str(n), COLOURS[n - 1]) for n, c in enumerate(both, start=1))
        return Group(*stacked)
    table = Table.grid(expand=True, padding=(0, 1))
    for _ in both:
        table.add_column(ratio=1)
    each = (width - 2) // 2
    tallest = max(len(shown(c).wrap(Console(), each - 6)) for c in both)
    cards = [card(c, str(n), COLOURS[n - 1]) for n, c in enumerate(both, start=1)]
    for panel in cards:
        panel.height = tallest + 4
    table.add_row(*cards)
    return table


def question(session: Session, comparison: Comparison, width: int) -> RenderableType:
    """Draw a whole question: where we are, the two answers, the keys."""
    head = Text.assemble(
        (f"Question {session.cost + 1}", "bold"), ("  ·  " + words.progress(session), "dim")
    )
    return Group(head, pair(comparison, width), Text(KEYS if width >= NARROW else _short(), "dim"))


def _short() -> str:
    return "1/2 choose   u undo   s skip   q enough"


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
    reasons = words.why(session)
    if reasons:
        parts.append(Text("You preferred it to", style="bold"))
        bullets = Table.grid(padding=(0, 1))
        for text in reasons:
            bullets.add_row(" ·", Text(clean(text, 160)))
        parts.append(bullets)
    parts.append(Text(words.certainty(session)))
    parts += [Text(clean(line), style="dim") for line in words.spending(session)]
    return Group(*parts)
