"""What a person sees in the terminal: a few to choose from, and the answer at the end."""

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

NARROW = 72  # columns below which the answers stand one above the other
LONGEST = 1200  # characters of an answer that a screen can hold
COLOURS = ("cyan", "magenta", "yellow", "blue")


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
        texts = [shown(c).wrap(Console(), inside) for c in comparison.candidates[row : row + 2]]
        for panel in beside:
            panel.height = max(map(len, texts)) + 4
        table.add_row(*beside)
    return table


def question(
    session: Session, comparison: Comparison, width: int, *, rank: bool = False
) -> RenderableType:
    """Draw a whole question: where we are, the answers, the keys."""
    head = Text.assemble(
        (f"Question {session.cost + 1}", "bold"), ("  ·  " + words.progress(session), "dim")
    )
    line = keys(session, len(comparison.candidates), rank=rank, short=width < NARROW)
    return Group(head, cards(comparison, width), Text(line, "dim"))


def keys(session: Session, count: int, *, rank: bool = False, short: bool = False) -> str:
    """Say which keys do what, in a line of 80 columns, or of 40 where it must be short."""
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
