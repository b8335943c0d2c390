"""Tables as plain rows, written as Markdown, CSV and JSON.

A cell is a text, a number, a mean with its standard error, or nothing. `tables_build` fills them
from results, each with the paper's number beside ours.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from useralign.files import write_atomically, write_json
from useralign.lab.paper import Mean

if TYPE_CHECKING:
    from pathlib import Path

Value = str | int | float | Mean | None
NOTHING = "-"


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
        for place, row in enumerate(self.texts()):
            shown = [f"**{text}**" for text in row] if place in self.marked else row
            lines.append("| " + " | ".join(shown) + " |")
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Return the table as CSV; a mean has its standard error in a column of its own."""
        paired = [
            any(isinstance(row[place], Mean) for row in self.rows)
            for place in range(len(self.columns))
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


def _fields(value: Value, paired: bool) -> list[Value]:
    if isinstance(value, Mean):
        return [round(value.mean, 6), round(value.sem, 6)]
    return [value, None] if paired else [value]


def _plain(value: Value) -> Any:
    if isinstance(value, Mean):
        return {"mean": round(value.mean, 6), "sem": round(value.sem, 6)}
    return value
