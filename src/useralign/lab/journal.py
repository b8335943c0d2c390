"""What a run leaves in its folder: one trajectory per cell, and how to read it.

cells.jsonl    finished cells, in the order they were finished
timings.jsonl  the seconds that each took, apart from the results, which have no times
results.json   all cells, sorted, when the last one is finished

A finished cell of a plan is plain data:

    {"key": "food64d/mixed/food-01/HeatSeekingExplorer/useralign/epsilon/0",
     "domain": "food64d", "style": "mixed", "question": "food-01",
     "user": "HeatSeekingExplorer", "user_kind": "persona",
     "method": "useralign", "mode": "epsilon", "seed": 0, "pool_size": 20,
     "steps": [{"t": 0, "bound": 3.0, "best": "u03", "win": 0.0}, ...],
     "stopped_at": 19, "stop_reason": "bound"}

`steps` has, for a number t of answers, the id of the candidate recommended then (`best`), its
win-rate against the baseline p_u[best > baseline] (`win`), and B(t) (`bound`). Only the steps where
one of them differs from the step before are there, and the last; `at` and `at_epsilon` fill in the
others. In mode `epsilon` the session ran to epsilon = 0, so that every epsilon of the paper's
tables is read off one trajectory; in mode `budget` it ran for the whole budget (footnote 2).

Each finished cell is on disk before the next batch is looked at. A process that is killed can leave
at most its last line cut off; that line is dropped, and its cell computed anew.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

from useralign.errors import FileFormatError
from useralign.files import (
    append_lines,
    open_to_append,
    parse_object,
    read_json,
    write_atomically,
    write_json,
)
from useralign.geometry import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from useralign.lab.dispatch import CellOutcome

    Result = Mapping[str, Any]

FORMAT = "useralign-results/1"
CELLS, TIMINGS, RESULTS = "cells.jsonl", "timings.jsonl", "results.json"
_NEEDED = {"key", "steps", "stopped_at", "stop_reason", "pool_size"}


class Step(NamedTuple):
    """An interaction after `t` answers."""

    t: int  # how many answers were given: the interaction cost
    bound: float  # B(t)
    best: str  # the id of the candidate recommended
    win: float  # its win-rate against the baseline


def step_at(cell: Result, t: int) -> dict[str, Any]:
    """Return the step of a cell that holds after `t` answers, as it is stored."""
    index = bisect_right(cell["steps"], t, key=lambda step: step["t"]) - 1
    step: dict[str, Any] = cell["steps"][index]
    return step


def at(cell: Result, t: int) -> Step:
    """Return a plan's cell after `t` answers; its last step when it stopped before."""
    t = min(t, cell["stopped_at"])
    return Step(**{**step_at(cell, t), "t": t})


def at_epsilon(cell: Result, epsilon: float) -> Step:
    """Return the first step whose bound is at most epsilon; the last one if there is none.

    "At most" has the tolerance of a session's own stopping rule.
    """
    norm_bound = cell["steps"][0]["bound"]  # B(0) = S
    for step in cell["steps"]:
        if step["bound"] <= epsilon + ZERO * norm_bound:
            return Step(**step)
    return Step(**cell["steps"][-1])


@dataclass(frozen=True, slots=True)
class Results:
    """All cells of a plan's run."""

    plan: str  # the plan's name
    embedders: dict[str, str]  # what made the features of each domain
    cells: list[dict[str, Any]]  # sorted by key

    def select(self, **fields: Any) -> list[dict[str, Any]]:
        """Return the cells with these values, e.g. `select(domain="food64d", mode="budget")`."""
        return select(self.cells, **fields)

    def write(self, folder: str | Path) -> Path:
        """Write `results.json`; the same cells give the same bytes."""
        head = {"format": FORMAT, "plan": self.plan, "embedders": self.embedders}
        return write_results(folder, head, self.cells)

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """Read the results in a folder, or a results file.

        Raises FileFormatError if there are none yet, or the file is damaged.
        """
        path = Path(folder)
        path = path / RESULTS if path.is_dir() else path
        data = read_json(path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            got = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise FileFormatError(f"{path}: expected format {FORMAT!r}, got {got!r}; run it anew")
        try:
            return cls(data["plan"], data["embedders"], data["cells"])
        except KeyError as error:
            raise FileFormatError(f"{path}: {error} is missing; run it anew") from error


def write_results(folder: str | Path, head: Result, cells: Iterable[Result]) -> Path:
    """Write `results.json`: its first keys, and one cell per line, sorted by key."""
    lines = ",\n".join(_line(cell) for cell in sorted(cells, key=lambda cell: cell["key"]))
    text = f'{json.dumps(head)[:-1]}, "cells": [\n{lines}\n]}}\n'
    return write_atomically(Path(folder) / RESULTS, text)


def select(cells: Iterable[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    """Return the cells that have all these values."""
    return [cell for cell in cells if all(cell[key] == value for key, value in fields.items())]


class Journal:
    """The finished cells of a run, by key; `dropped` counts lines that could not be read."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.cells: dict[str, dict[str, Any]] = {}
        self.dropped = 0
        self._files: list[BinaryIO] = []

    def __enter__(self) -> Self:
        path = self.folder / CELLS
        self.cells, self.dropped = _read(path)
        if self.dropped:
            write_atomically(path, "".join(f"{_line(cell)}\n" for cell in self.cells.values()))
        self._files = [open_to_append(path), open_to_append(self.folder / TIMINGS)]
        return self

    def __exit__(self, *_: object) -> None:
        while self._files:
            self._files.pop().close()

    def add(self, outcomes: Iterable[CellOutcome]) -> None:
        """Add what is finished; it is on disk when this returns."""
        cells, timings = self._files
        lines, times = list[str](), list[str]()
        for outcome in outcomes:
            if outcome.cell is None:
                continue
            timing = {
                "key": outcome.key,
                "seconds": round(outcome.seconds, 6),
                "answers": outcome.cell["stopped_at"],
            }
            times.append(json.dumps(timing))
            lines.append(_line(outcome.cell))
            self.cells[outcome.key] = outcome.cell
        append_lines(timings, *times)
        append_lines(cells, *lines)


def read_timings(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Read the seconds and the number of answers of each cell, by key."""
    path = Path(folder) / TIMINGS
    lines = path.read_bytes().splitlines() if path.exists() else []
    entries = [parse_object(line) for line in lines]
    return {e["key"]: e for e in entries if {"key", "seconds", "answers"} <= e.keys()}


def check_conditions(path: Path, conditions: Mapping[str, Any], what: str) -> None:
    """Record what decides results beside their cells, or refuse to mix two such records.

    Conditions are `format`, `version`, the `embedders` of domains, to which others may be added
    later, and perhaps `seed` and `people`, the fingerprint of recorded ones. `what` is "run" or
    "comparison", for messages.
    """
    before = read_json(path) if path.exists() else dict(conditions)
    if not isinstance(before, dict) or before.get("format") != conditions["format"]:
        raise FileFormatError(f"{path}: is not the record of a {what}; choose another folder")
    for key, name in (("version", "useralign"), ("seed", "seed")):
        if before.get(key) != conditions.get(key):
            raise FileFormatError(
                f"{path.parent}: was begun with {name} {before.get(key)}, this is "
                f"{conditions.get(key)}; choose another folder"
            )
    people = before.get("people"), conditions.get("people")
    if all(people) and people[0] != people[1]:
        raise FileFormatError(
            f"{path.parent}: was begun with other records of people; choose another"
        )
    remedy = "name one as embedder in the plan, or " if what == "run" else ""
    for domain, embedder in conditions["embedders"].items():
        if (other := before["embedders"].get(domain, embedder)) != embedder:
            raise FileFormatError(
                f"{path.parent}: features of {domain} were made by {other!r}, now they would be "
                f"by {embedder!r}; {remedy}choose another folder"
            )
    merged = {**before, "embedders": {**before["embedders"], **conditions["embedders"]}}
    if "people" in conditions:
        merged["people"] = people[0] or people[1]
    write_json(path, merged)


def _line(cell: Result) -> str:
    return json.dumps(cell, ensure_ascii=False, separators=(",", ":"))


def _read(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the cells of a journal, and the number of lines that could not be read."""
    if not path.exists():
        return {}, 0
    *lines, rest = path.read_bytes().split(b"\n")
    entries = [parse_object(line) for line in lines]
    whole = [entry for entry in entries if entry.keys() >= _NEEDED]
    return {entry["key"]: entry for entry in whole}, len(entries) - len(whole) + bool(rest)
