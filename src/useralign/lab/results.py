"""What a run of a plan leaves behind: one trajectory a cell, and how to read it.

A finished cell is plain data:

    {"key": "food64d/mixed/food-01/HeatSeekingExplorer/useralign/epsilon/0",
     "domain": "food64d", "style": "mixed", "question": "food-01",
     "user": "HeatSeekingExplorer", "user_kind": "persona",
     "method": "useralign", "mode": "epsilon", "seed": 0, "pool_size": 20,
     "steps": [{"t": 0, "bound": 3.0, "best": "u03", "win": 0.0}, ...],
     "stopped_at": 19, "stop_reason": "bound"}

`steps` tells, for a number t of answers, which candidate is recommended then (`best`, an id), its
win-rate against the baseline p_u[best > baseline] (`win`), and B(t) (`bound`). Only the steps where
one of them differs from the step before are kept, and the last; `at` and `at_epsilon` fill in the
others. In mode `epsilon` the session ran to epsilon = 0, so that every epsilon of the paper's
tables is read off one trajectory; in mode `budget` it ran for the whole budget (footnote 2).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.errors import FileFormatError
from useralign.files import read_json, write_atomically
from useralign.geometry import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Cell = Mapping[str, Any]

FORMAT = "useralign-results/1"
FILE = "results.json"


class Step(NamedTuple):
    """An interaction after `t` answers.

    Parameters
    ----------
    t : int
        How many answers were given: the interaction cost.
    bound : float
        B(t).
    best : str
        The id of the candidate recommended.
    win : float
        Its win-rate against the baseline.
    """

    t: int
    bound: float
    best: str
    win: float


def at(cell: Cell, t: int) -> Step:
    """Return a cell's step after `t` answers; the last one when it stopped before."""
    t = min(t, cell["stopped_at"])
    place = bisect_right(cell["steps"], t, key=lambda step: step["t"]) - 1
    return Step(**{**cell["steps"][place], "t": t})


def at_epsilon(cell: Cell, epsilon: float) -> Step:
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
    """All cells of a run.

    Parameters
    ----------
    plan : str
        The plan's name.
    embedders : dict of str to str
        What made the features of each domain.
    cells : list of dict
        Sorted by key.
    """

    plan: str
    embedders: dict[str, str]
    cells: list[dict[str, Any]]

    def select(self, **fields: Any) -> list[dict[str, Any]]:
        """Return the cells with these values, e.g. `select(domain="food64d", mode="budget")`."""
        return select(self.cells, **fields)

    def write(self, folder: str | Path) -> Path:
        """Write `results.json`, one cell a line; the same cells give the same bytes."""
        head = {"format": FORMAT, "plan": self.plan, "embedders": self.embedders}
        lines = ",\n".join(to_line(cell) for cell in sorted(self.cells, key=lambda c: c["key"]))
        text = f'{json.dumps(head)[:-1]}, "cells": [\n{lines}\n]}}\n'
        return write_atomically(Path(folder) / FILE, text)

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """Read the results in a folder, or a results file.

        Raises
        ------
        FileFormatError
            If there are none yet, or the file is damaged.
        """
        path = Path(folder)
        path = path / FILE if path.is_dir() else path
        data = read_json(path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            got = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise FileFormatError(f"{path}: expected format {FORMAT!r}, got {got!r}; run it anew")
        try:
            return cls(data["plan"], data["embedders"], data["cells"])
        except KeyError as error:
            raise FileFormatError(f"{path}: {error} is missing; run it anew") from error


def select(cells: Iterable[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    """Return the cells that have all these values."""
    return [cell for cell in cells if all(cell[key] == value for key, value in fields.items())]


def to_line(cell: Mapping[str, Any]) -> str:
    """Return a cell as one line of JSON."""
    return json.dumps(cell, ensure_ascii=False, separators=(",", ":"))
