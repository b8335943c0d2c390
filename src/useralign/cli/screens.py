"""What a person sees in the terminal: answers to choose from, how far it is, the result, a pool."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from useralign.geometry.features import principal_plane
from useralign.pooling import GrowthRecord
from useralign.reasons import indifferent_to, why

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from useralign.pool import Candidate, Pool
    from useralign.session import Session

NARROW = 72  # columns below which the answers stand one above the other
WIDE = 108  # columns from which three stand side by side, where there are more than four
LONGEST = 1200  # characters of an answer that a screen can hold
# Seen on dark and on light ground; what is to be read has the terminal's own colour.
BORDER = "cyan"
_SIGNS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
REASONS = {
    "bound": "that is as close to the best as you asked for",
    "budget": "that was the last screen",
    "limit": "that was the largest number of questions",
    "confident": "that is sure enough",
    "exhausted": "there is nothing left worth asking",
    "stopped": "you found it good enough",
    "chosen": "you chose it",
    "equal": "these are equally good for you",
    "neither": "none of those you saw was right for you",
}


def console(**options: Any) -> Console:
    """Return a console that prints texts as they are: a model's brackets are no markup."""
    return Console(markup=False, highlight=False, **options)


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
    return Text(clean(candidate.text or candidate.label), overflow="fold")


def card(candidate: Candidate, title: str) -> Panel:
    """Draw one answer."""
    return Panel(
        card_text(candidate),
        title=f"[bold default]{title}[/]",
        title_align="left",
        border_style=BORDER,
        box=box.ROUNDED,
        padding=(0, 1),
    )


def cards(candidates: Sequence[Candidate], width: int, first: int = 1) -> RenderableType:
    """Draw the answers with their numbers, side by side where there is room."""
    panels = [card(candidate, str(k)) for k, candidate in enumerate(candidates, start=first)]
    columns = 1 if width < NARROW else 3 if width >= WIDE and len(panels) > 4 else 2
    if columns == 1:
        return Group(*panels)
    table = Table.grid(expand=True, padding=(0, 1))
    for _ in range(columns):
        table.add_column(ratio=1)
    inside = (width - columns) // columns - 4
    for row in range(0, len(panels), columns):
        beside = panels[row : row + columns]
        texts = [card_text(c).wrap(Console(), inside) for c in candidates[row : row + columns]]
        for panel in beside:
            panel.height = max(map(len, texts)) + 2
        table.add_row(*beside)
    return table


def heading(session: Session) -> Text:
    """Return which screen it is, of about how many; with pairs, what is still open, too."""
    count = f"{session.cost + 1} of about {session.expected_screens}"
    rest = "which do you like best?" if session.per_screen > 2 else progress(session)
    return Text.assemble((count, "bold"), ("  ·  " + rest, "dim"))


def keys(session: Session, count: int, *, rank: bool = False, short: bool = False) -> str:
    """Return which keys do what, in a line of 80 columns, or of 40 where it must be short."""
    pick = f"1-{count} {'best to worst' if rank and not short else 'rank' if rank else 'pick'}"
    none = "n neither" if count == 2 else "n none" if short or rank else "n none of these"
    refusal = [none] if "neither" in session.takes else []
    if short:
        return "  ".join([pick, *refusal, "u undo", "q enough"])
    if count == 2 and not rank:
        pick = "1/← 2/→ pick"
    say = ["/ say"] if {"remark", "wish"} & session.takes else []
    return "  ".join([pick, *refusal, "= equal", *say, "u undo", "s skip", "q good enough"])


def wishes(proposed: Sequence[str], width: int) -> tuple[Text, list[str]]:
    """Return a line of wishes to choose from by number, and those that have room in it."""
    line, used = Text("What matters? Press / and ", "dim"), []
    if len(line) + 30 > width:
        line = Text("/ ", "dim")
    for number, wish in enumerate(proposed, start=1):
        label = Text.assemble((f"{number} ", "bold"), clean(wish, 40))
        if len(line) + len(label) + 2 + len("or words") > width:
            break
        line.append(label).append("  ")
        used.append(wish)
    return line.append("or words", "dim"), used


def result(session: Session, width: int) -> RenderableType:
    """Draw the end: the answer large, two more, why, and what it took."""
    best, *others = session.shortlist
    parts: list[RenderableType] = [winner(best)]
    if others:
        parts.append(cards(others, width, first=2))
    parts.append(Text(clean(why(session))))
    parts.append(Text(certainty(session)))
    parts += [Text(clean(line), style="dim") for line in spending(session)]
    return Group(*parts)


def winner(candidate: Candidate) -> Panel:
    """Draw the answer that a session ends with."""
    body = Text(clean(str(candidate), 20_000), style="bold")
    if candidate.image:
        body.append("\n" + clean(candidate.image), style="not bold dim")
    return Panel(
        body,
        title="[bold default]Your answer[/]",
        title_align="left",
        border_style="green",
        box=box.HEAVY,
        padding=(1, 2),
    )


def choices(session: Session, width: int) -> Text:
    """Draw what one can do at the end, each by one key."""
    count = len(session.shortlist)
    offers = [("Enter", "this one")]
    if count > 1:
        offers.append(("2" if count == 2 else "2/3", "that one"))
    offers += [("m", "two more screens"), ("a", "all, in your order")]
    if price := session.proof_price():
        questions = f"about {price} more question{'s' * (price != 1)}"
        offers.append(("p", f"prove it is the best ({questions})"))
    offers += [("u", "undo"), ("q", "quit")]
    text, column = Text(), 0
    for key, what in offers:
        label = Text.assemble((f"{key} ", "bold"), what)
        if column and column + 3 + len(label) > width:
            text.append("\n")
            column = 0
        text.append("   " if column else "").append(label)
        column += len(label) + (3 if column else 0)
    return text


def ordered(session: Session) -> RenderableType:
    """List all answers in the person's order."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="bold")
    table.add_column(overflow="fold")
    for number, candidate in enumerate(session.ranking, start=1):
        table.add_row(str(number), Text(clean(str(candidate), 300)))
    return table


def print_line(
    console: Console, number: int, position: int, candidate: Candidate, *, rank: bool
) -> None:
    """Print a line of a transcript, dim unless it is the first of its screen."""
    sign = str(position + 1) if rank else "-" if position else "+"
    console.print(
        f"{'' if position else number:>2} {sign} {clean(str(candidate), 110)}",
        style="dim" if position else "",
        no_wrap=True,
        overflow="ellipsis",
    )


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
    reason = REASONS.get(indifferent_to(session) or session.stop_reason or "", "")
    opening = reason[:1].upper() + reason[1:] + "." if reason else ""
    share = 100.0 * session.bound / session.method.norm_bound
    if session.stop_reason == "bound" and share == 0.0 and not session.cost:
        return "There was nothing to choose between."
    if session.stop_reason == "bound" and len(session.shortlist) == 1:
        return "It is the only one left."
    if sure := chance(session):
        return f"{opening} Your answer is {sure}.".strip()
    if session.stop_reason == "bound" and share == 0.0:
        return "By your answers, no other answer in the pool can be better."
    tail = f" Another answer could be better by at most {share:.0f}% of the scale."
    return opening + (tail if share else "")


def reading(session: Session) -> tuple[int, int]:
    """Return how many words were on the screens so far, and how many the pool has.

    A picture counts as one word, and what was shown twice counts once.
    """
    words = [1 if c.image else max(len(c.text.split()), 1) for c in session.pool]
    seen = {k for answer in session.answers for k in answer.candidates}
    return sum(words[k] for k in seen), sum(words)


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
