"""Tables as plain rows, written as Markdown, CSV and JSON, and the paper's tables.

A value is a text, a number, a mean with its standard error, or nothing. The paper's tables are
filled from results, with the paper's numbers beside ours.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from useralign.domains import near
from useralign.files import write_atomically, write_json
from useralign.lab import paper
from useralign.lab.journal import Results, at, select
from useralign.lab.metrics import (
    Cells,
    at_budget,
    at_threshold,
    clustered,
    favourites,
    head_to_head,
    interaction,
)
from useralign.lab.paper import BUDGETS, CAP, EPSILONS, MATCHED, Mean
from useralign.lab.wording import load_words, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Value = str | int | float | Mean | None
NOTHING = "-"
NAMES: dict[str, str] = load_words()["methods"]
EARLY = (5, 10)  # questions after which a person may well have had enough
_BESIDE = ("useralign", "useralign_once", "tournament", "iidbest", "random", "oracle")
MIDDLE = (1.0, 0.5, 0.3)  # thresholds between "at once" and "to the end"
_VARIANTS = {
    "": ("different", "alone"),
    near.PAIRED: ("different", "with the question"),
    near.NEAR: ("near-duplicates", "alone"),
    near.NEAR + near.PAIRED: ("near-duplicates", "with the question"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results."""

    name: str  # what its files are called
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Value, ...]]  # as long as `columns` each
    note: str = ""  # what a reader must know to read it
    # rows to highlight: the paper's main configurations
    marked: frozenset[int] = frozenset()
    digits: int = 2  # decimals of numbers that are not whole

    @classmethod
    def worded(
        cls, entry: str, rows: Sequence[tuple[Value, ...]], *, name: str = "", **values: Any
    ) -> Table:
        """Build a table of the report; its title, columns and note are those of an entry there."""
        layout = load_words()["tables"][entry]
        title, note = (words("tables", entry, key, **values) for key in ("title", "note"))
        digits = layout.get("digits", 2)
        return cls(name or entry, title, tuple(layout["columns"]), rows, note, digits=digits)

    def texts(self) -> list[list[str]]:
        """Return the rows as they are shown."""
        return [[self.text(value) for value in row] for row in self.rows]

    def filled(self) -> list[int]:
        """Return the places of the columns in which there is something."""
        return [
            column
            for column in range(len(self.columns))
            if not self.rows or any(row[column] is not None for row in self.rows)
        ]

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
        columns: list[list[Value]] = []
        for title, *values in zip(self.columns, *self.rows, strict=True):
            pairs = [v.to_dict() if isinstance(v, Mean) else {"mean": v} for v in values]
            columns.append([title, *(pair["mean"] for pair in pairs)])
            if any("sem" in pair for pair in pairs):
                columns.append([f"{title} sem", *(pair.get("sem") for pair in pairs)])
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data, a row being a mapping from column to value."""
        rows = [
            {
                name: value.to_dict() if isinstance(value, Mean) else value
                for name, value in zip(self.columns, row, strict=True)
            }
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

    The paper has numbers for mixed pools alone, not for `unbiased` ones.
    """
    cells = select(cells, domain=domain, style=style, user_kind=kind)
    lines: list[tuple[str, str, dict[str, Any], tuple[Mean, Mean] | None]] = [
        *(
            (f"{NAMES[m]} (ε = {e:.1f})", m, {"epsilon": e}, at_threshold(cells, m, e))
            for m in ("useralign", "useralign_loss")
            for e in EPSILONS
        ),
        *(
            (f"iidBest (t = {t})", "iidbest", {"t": t}, _after(cells, "iidbest", t))
            for t in BUDGETS
        ),
        *((NAMES[m], m, {}, _after(cells, m, 0)) for m in ("oracle", "random")),
    ]
    rows: list[tuple[Value, ...]] = []
    marked: list[int] = []
    for name, method, stop, ours in lines:
        win, cost = ours or (None, None)
        row = paper.row(domain, method, **stop) if style == "mixed" else None
        if ours or row:
            marked += [len(rows)] * (stop.get("epsilon") == 0.0 or stop.get("t") in MATCHED)
            rows.append((name, win, row.win if row else None, cost, row.cost if row else None))
    extra = [f"{style} pools"] * (style != "mixed") + [f"{kind} users"] * (kind != "persona")
    name = "-".join(["trade-off", domain, *(text.split()[0] for text in extra)])
    where = ", ".join([domain, *extra])
    table = Table.worded("trade-off", rows, name=name, where=where, counted=_counted(cells))
    return replace(table, marked=frozenset(marked))


def _after(cells: Cells, method: str, t: int) -> tuple[Mean, Mean] | None:
    """Return the win-rate after t questions, and t as the cost; None where none were so long."""
    win = at_budget(cells, method, t)
    reached = any(cell["stopped_at"] >= t for cell in select(cells, method=method))
    return (win, Mean(float(t), 0.0)) if win is not None and reached else None


def beside(
    cells: Cells,
    domains: Sequence[str] = paper.DOMAINS,
    *,
    kind: str = "persona",
    style: str = "mixed",
    name: str = "beside",
) -> Table:
    """Build the table of what stands beside a win-rate: favourites, early budgets, a knock-out.

    Oracle's cells must be among them: they tell the favourites.
    """
    cells = select(cells, style=style, user_kind=kind)
    rows = [
        row
        for domain in domains
        for method in _BESIDE
        if (row := _beside(select(cells, domain=domain), domain, method)) is not None
    ]
    slips = kind.partition("+")[2]
    who = "people played by a model" if kind == "judge" else "personas"
    if slips:
        who, name = f"personas who slip in {100 * float(slips):g}% of answers", f"{name}-slips"
    return Table.worded("beside", rows, name=name, who=who, ends=_what_ends(cells, kind))


def _what_ends(cells: Cells, kind: str) -> str:
    """Return what the end of an interaction is, and whether it could have been another."""
    favourite = words("ends", "favourite")
    if select(cells, mode="epsilon"):
        return f"{words('ends', kind)}{favourite} {words('ends', 'by_method')}"
    return f"{favourite} {words('ends', 'by_budget', t=max(c['stopped_at'] for c in cells))}"


def _beside(cells: Cells, domain: str, method: str) -> tuple[Value, ...] | None:
    ours = select(cells, method=method, mode="epsilon") or select(cells, method=method)
    best = favourites(cells)
    if not ours or not best:
        return None
    last = (50 if ours[0]["pool_size"] > 20 else 20) if method == "iidbest" else CAP
    stops: list[dict[str, Any]] = [{"epsilon": 0.0}, {"t": last}, {}]
    row = next(filter(None, (paper.row(domain, method, **stop) for stop in stops)), None)
    wins = [clustered(ours, (100.0 * at(c, t).win for c in ours)) for t in (*EARLY, last)]
    hits = [
        clustered(ours, (100.0 * (at(c, t).best == best[interaction(c)]) for c in ours))
        for t in (*EARLY, last)
    ]
    spent = clustered(ours, (float(at(c, last).t) for c in ours))
    return domain, NAMES[method], *wins, row.win if row else None, *hits, spent


def likeness(cells: Cells, distances: Mapping[str, tuple[float, float]]) -> Table:
    """Build the table of costs by how alike the answers are.

    `distances` has for each domain the mean distance within the unbiased half of a pool, and within
    all.
    """
    rows: list[tuple[Value, ...]] = []
    for base in near.BASES:
        for variant, (pool, embedded) in _VARIANTS.items():
            domain = base + variant
            if domain in distances:
                ends = [at_threshold(select(cells, domain=domain), "useralign", e) for e in MIDDLE]
                costs = [None if end is None else end[1] for end in ends]
                rows.append((base, pool, embedded, *distances[domain], *costs))
        if base == "food64d":
            rows += [
                (base, "those that the paper prints", one.embedded, *one.distances, *one.costs)
                for one in paper.load().printed
            ]
        theirs = [paper.row(base, "useralign", epsilon=e) for e in MIDDLE]
        blank = (None, None, None)
        rows.append((base, "the paper's", *blank, *(row.cost if row else None for row in theirs)))
    return Table.worded("likeness", rows)


def head_to_heads(results: Results, domains: Sequence[str] = paper.DOMAINS) -> Table:
    """Build the table of UserAlign at epsilon 0 against iidBest at t, one to one."""
    rows: list[tuple[Value, ...]] = []
    for domain in domains:
        cells = results.select(domain=domain, style="mixed", user_kind="persona")
        ours = select(cells, method="useralign", mode="epsilon")
        theirs = select(cells, method="iidbest", mode="budget")
        for t in MATCHED:
            percent = None
            if ours and theirs:
                won = head_to_head(ours, theirs, t, results.embedders)
                percent = Mean(100.0 * won.mean, 100.0 * won.sem)
            rows.append((domain, t, percent, paper.load().head_to_head.get((domain, t))))
    return Table.worded("head-to-head", rows)


def human_study(cells: Cells) -> Table:
    """Build the table of the study with people: the paper's, beside personas who slip.

    The cells are of users who slip; they stand in for people, and are marked so.
    """
    rows: list[tuple[Value, ...]] = []
    printed = paper.load().human_study
    own_taste = {(h.domain, h.method, h.t): h.win for h in printed if not h.persona}
    for human in sorted((h for h in printed if h.persona), key=lambda human: human.domain):
        ours = select(cells, domain=human.domain, style="mixed", method=human.method)
        wins = clustered(ours, (100.0 * at(c, human.t).win for c in ours)) if ours else None
        own = own_taste[human.domain, human.method, human.t]
        rows.append((human.domain, NAMES[human.method], human.t, wins, human.win, own))
    return Table.worded("human-study", rows)


def large_pool(cells: Cells, name: str = "large-pool") -> Table:
    """Build the table of win-rates with N = 1,000."""
    rows = [
        (NAMES[m], t, at_budget(cells, m, t), paper.load().large_pool[m, t])
        for m in ("random", "iidbest", "useralign")
        for t in (0, 5, 10, 20)
    ]
    sizes = ", ".join(map(str, sorted({cell["pool_size"] for cell in cells}))) or "not run"
    return Table.worded("large-pool", rows, name=name, counted=_counted(cells), sizes=sizes)


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
