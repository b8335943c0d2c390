"""Tables as plain rows, written as Markdown, CSV and JSON, and the paper's tables.

A value is a text, a number, a mean with its standard error, or nothing. The paper's tables are
filled from results, with the paper's numbers beside ours.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from useralign.files import write_atomically, write_json
from useralign.lab import paper
from useralign.lab.journal import Results, select
from useralign.lab.metrics import Cells, at_budget, at_threshold, head_to_head
from useralign.lab.paper import BUDGETS, EPSILONS, MATCHED, Mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Value = str | int | float | Mean | None
NOTHING = "-"
NAMES = {
    "useralign": "UserAlign",
    "useralign_loss": "UserAlign_loss",
    "iidbest": "iidBest",
    "oracle": "Oracle",
    "random": "Random",
}
_OURS_AND_PAPER = ("win % (sem)", "paper", "cost (sem)", "paper's cost")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results.

    Parameters
    ----------
    name : str
        What its files are called.
    title : str
    columns : tuple of str
    rows : list of tuple of Value
        As long as `columns` each.
    note : str
        What a reader must know to read it.
    marked : frozenset of int
        Rows to highlight: the paper's main configurations.
    digits : int
        Decimals of numbers that are not whole.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    note: str = ""
    marked: frozenset[int] = field(default_factory=frozenset)
    digits: int = 2

    def texts(self) -> list[list[str]]:
        """Return the rows as they are shown."""
        return [[self.text(value) for value in row] for row in self.rows]

    def text(self, value: Value) -> str:
        """Return a value as it is shown."""
        match value:
            case None:
                return NOTHING
            case Mean(mean, sem):
                return f"{mean:.{self.digits}f} ({sem:.{self.digits}f})"
            case float():
                return f"{value:,.{self.digits}f}"
            case _:
                return str(value)

    def to_markdown(self) -> str:
        """Return the table with its title and note."""
        lines = [f"### {self.title}", ""]
        lines.append("| " + " | ".join(self.columns) + " |")
        lines.append("|" + "|".join([" --- ", *[" ---: "] * (len(self.columns) - 1)]) + "|")
        for index, row in enumerate(self.texts()):
            texts = [f"**{text}**" for text in row] if index in self.marked else row
            lines.append("| " + " | ".join(texts) + " |")
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Return the table as CSV; a mean has its standard error in a column of its own."""
        paired = [
            any(isinstance(row[column], Mean) for row in self.rows)
            for column in range(len(self.columns))
        ]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        titles = [
            [name, f"{name} sem"] if two else [name]
            for name, two in zip(self.columns, paired, strict=True)
        ]
        writer.writerow([title for group in titles for title in group])
        for row in self.rows:
            fields = [_fields(value, two) for value, two in zip(row, paired, strict=True)]
            writer.writerow([text for group in fields for text in group])
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data, a row being a mapping from column to value."""
        rows = [
            {name: _plain(value) for name, value in zip(self.columns, row, strict=True)}
            for row in self.rows
        ]
        return {"name": self.name, "title": self.title, "note": self.note, "rows": rows}

    def write(self, folder: Path) -> list[Path]:
        """Write the three forms into a folder and return their paths."""
        return [
            write_atomically(folder / f"{self.name}.md", self.to_markdown()),
            write_atomically(folder / f"{self.name}.csv", self.to_csv()),
            write_json(folder / f"{self.name}.json", self.to_dict()),
        ]


def trade_off(cells: Cells, domain: str, style: str = "mixed", *, kind: str = "persona") -> Table:
    """Build a domain's table of win-rate and cost, at every threshold and budget of the paper.

    Parameters
    ----------
    cells : list of dict
    domain : str
    style : {"mixed", "unbiased"}
        The paper has numbers for the first alone.
    kind : str
        The kind of users.
    """
    cells = select(cells, domain=domain, style=style, user_kind=kind)
    rows: list[tuple[Value, ...]] = []
    marked = []
    for method in ("useralign", "useralign_loss"):
        for epsilon in EPSILONS:
            ours = at_threshold(cells, method, epsilon)
            theirs = paper.load().row(domain, method, epsilon=epsilon)
            rows.append(_row(f"{NAMES[method]} (ε = {epsilon:.1f})", ours, theirs, style))
        marked.append(len(rows) - 1)
    for t in BUDGETS:
        win = at_budget(cells, "iidbest", t)
        ours = None if win is None else (win, Mean(float(t), 0.0))
        if t in MATCHED:
            marked.append(len(rows))
        rows.append(
            _row(f"iidBest (t = {t})", ours, paper.load().row(domain, "iidbest", t=t), style)
        )
    for method in ("oracle", "random"):
        win = at_budget(cells, method, 0)
        ours = None if win is None else (win, Mean(0.0, 0.0))
        rows.append(_row(NAMES[method], ours, paper.load().row(domain, method), style))
    extra = [f"{style} pools"] * (style != "mixed") + [f"{kind} users"] * (kind != "persona")
    return Table(
        "-".join(["trade-off", domain, *(text.split()[0] for text in extra)]),
        ", ".join([domain, *extra]) + ": win-rate and cost",
        ("Method", *_OURS_AND_PAPER),
        rows,
        _counted(cells),
        frozenset(marked),
    )


def head_to_heads(results: Results, domains: Sequence[str] = paper.DOMAINS) -> Table:
    """Build the table of UserAlign at epsilon 0 against iidBest at t, one to one."""
    rows: list[tuple[Value, ...]] = []
    for domain in domains:
        for t in MATCHED:
            ours = duel(results, domain, t)
            rows.append((domain, t, ours, paper.load().head_to_head.get((domain, t))))
    return Table(
        "head-to-head",
        "UserAlign (ε = 0) against iidBest, head to head",
        ("Domain", "iidBest's t", "UserAlign wins % (sem)", "paper"),
        rows,
        "The same answer from both counts as half a win here. The paper does not say how it "
        "counted those; its standard errors are those of wins and losses alone.",
    )


def duel(results: Results, domain: str, t: int) -> Mean | None:
    """Return how often UserAlign at epsilon 0 wins against iidBest at t, in percent."""
    cells = results.select(domain=domain, style="mixed", user_kind="persona")
    ours = select(cells, method="useralign", mode="epsilon")
    theirs = select(cells, method="iidbest", mode="budget")
    if not ours or not theirs:
        return None
    won = head_to_head(ours, theirs, t, embedders=results.embedders)
    return Mean(100.0 * won.mean, 100.0 * won.sem)


def large_pool(cells: Cells) -> Table:
    """Build the table of win-rates with N = 1,000."""
    rows: list[tuple[Value, ...]] = []
    for method in ("random", "iidbest", "useralign"):
        for t in (0, 5, 10, 20):
            theirs = paper.load().large_pool[method, t]
            rows.append((NAMES[method], t, at_budget(cells, method, t), theirs))
    sizes = sorted({cell["pool_size"] for cell in cells})
    return Table(
        "large-pool",
        "A large pool: N = 1,000",
        ("Method", "t", "win % (sem)", "paper"),
        rows,
        f"{_counted(cells)} Pool size: {', '.join(map(str, sizes)) or 'not run'}.",
    )


def _fields(value: Value, paired: bool) -> list[Value]:
    if isinstance(value, Mean):
        return [round(value.mean, 6), round(value.sem, 6)]
    return [value, None] if paired else [value]


def _plain(value: Value) -> Any:
    if isinstance(value, Mean):
        return {"mean": round(value.mean, 6), "sem": round(value.sem, 6)}
    return value


def _row(
    name: str,
    ours: tuple[Mean, Mean] | None,
    theirs: paper.TradeOff | None,
    style: str,
) -> tuple[Value, ...]:
    win, cost = ours or (None, None)
    if theirs is None or style != "mixed":
        return name, win, None, cost, None
    return name, win, theirs.win, cost, theirs.cost


def _counted(cells: Cells) -> str:
    """Return how many interactions each mean is over, as a sentence."""
    runs = {(c["question"], c["user"], c["seed"]) for c in cells}
    if not runs:
        return "Not run."
    parts = [len({run[index] for run in runs}) for index in (0, 2)]
    return (
        f"Mean (standard error) over {len(runs)} interactions: {parts[0]} "
        f"question{'s' if parts[0] != 1 else ''} and their users, {parts[1]} "
        f"seed{'s' if parts[1] != 1 else ''}."
    )
