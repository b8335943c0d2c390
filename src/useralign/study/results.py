"""How a study is going, and its win-rates in the form of the paper's table.

Only finished participants count for win-rates. The Random candidate does not depend on the method
that was compared with, so its win-rate is over the participants of all methods, and the same at
both steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from useralign.lab import paper
from useralign.lab.paper import Mean
from useralign.lab.tables import Table
from useralign.store import studies
from useralign.store.studies import ATTENTION, EARLIER, LATER, RANDOM, CellCounts
from useralign.study.design import WITH_PERSONA
from useralign.study.flow import DONE, QUERY, STAGES

if TYPE_CHECKING:
    from useralign.store import Store
    from useralign.study.design import Cell, Design
    from useralign.study.studies import Study

LABELS = {"random": "Random", "iidbest": "iidBest", "useralign": "UserAlign"}
_ORDER = list(LABELS)


@dataclass(frozen=True, slots=True)
class CellStatus:
    """How many there are of one cell.

    Parameters
    ----------
    cell : Cell
    wanted, finished, active : int
    dropped : int
        Who began and has done nothing for longer than the window.
    attentive, inattentive : int
        How many attention checks were passed and failed by those who finished.
    """

    cell: Cell
    wanted: int
    finished: int
    active: int
    dropped: int
    attentive: int
    inattentive: int


@dataclass(frozen=True, slots=True)
class Status:
    """A study at one moment.

    Parameters
    ----------
    slug, title : str
    open : bool
    cells : list of CellStatus
    seconds : dict of str to float
        The median time that finished participants spent in each stage, and in all.
    left_share : float or None
        How often the left option was chosen in stage 3.
    selection_left : float or None
        How often the selection stood on the left in stage 3.
    coinciding : int
        How many finished participants had the same candidate in two of the three roles.
    """

    slug: str
    title: str
    open: bool
    cells: list[CellStatus]
    seconds: dict[str, float]
    left_share: float | None
    selection_left: float | None
    coinciding: int

    def total(self, name: str) -> int:
        """Return a count over all cells."""
        return sum(getattr(cell, name) for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("wanted", "finished", "active", "dropped", "attentive", "inattentive")
        return {
            "slug": self.slug,
            "title": self.title,
            "open": self.open,
            **{name: self.total(name) for name in names},
            "seconds": self.seconds,
            "left_chosen": self.left_share,
            "selection_left": self.selection_left,
            "coinciding": self.coinciding,
            "cells": [
                {**cell.cell._asdict(), **{name: getattr(cell, name) for name in names}}
                for cell in self.cells
            ],
        }


def status(store: Store, study: Study, now: float) -> Status:
    """Count and time the participants of a study.

    Parameters
    ----------
    store : Store
    study : Study
    now : float
        Seconds since 1970.
    """
    design = study.design
    with studies.reading(store, study.slug) as records:
        counts = records.count_cells(now, design.window)
        wins = records.count_wins()
        times = list(records.stage_times().values())
        chosen_left, side_left, matchups = records.count_sides()
        coinciding = records.count_coinciding()
    cells = []
    for number, cell in enumerate(design.cells):
        count = counts.get(number, CellCounts())
        passed, checks = wins.get((number, ATTENTION), (0, 0))
        people = (count.finished, count.active, count.dropped)
        cells.append(CellStatus(cell, design.places, *people, passed, checks - passed))
    return Status(
        study.slug,
        design.title,
        study.open,
        cells,
        _median_seconds(times),
        left_share=chosen_left / matchups if matchups else None,
        selection_left=side_left / matchups if matchups else None,
        coinciding=coinciding,
    )


def _median_seconds(times: list[dict[str, float]]) -> dict[str, float]:
    """Return the median time in each stage, and in all; `times` says who entered which when."""
    if not times:
        return {}
    seconds = {
        stage: median(entered[after] - entered[stage] for entered in times)
        for stage, after in pairwise(STAGES)
    }
    return seconds | {"all": median(entered[DONE] - entered[QUERY] for entered in times)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One number of the table.

    Parameters
    ----------
    method, domain, condition : str
    step : int
        After how many comparisons the selection was made.
    wins, count : int
        How often it was preferred to the baseline, of how many times.
    paper : Mean or None
        The paper's number, in percent, where it has one.
    """

    method: str
    domain: str
    condition: str
    step: int
    wins: int
    count: int
    paper: Mean | None

    @property
    def rate(self) -> Mean | None:
        """The win-rate in percent with its standard error, as the paper computes it."""
        if not self.count:
            return None
        share = self.wins / self.count
        return Mean(100 * share, 100 * math.sqrt(share * (1 - share) / self.count))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "method": self.method,
            "domain": self.domain,
            "condition": self.condition,
            "step": self.step,
            "wins": self.wins,
            "count": self.count,
            "win_rate": None if self.rate is None else self.rate._asdict(),
            "paper": None if self.paper is None else self.paper._asdict(),
        }


def outcomes(store: Store, study: Study) -> list[Outcome]:
    """Compute all numbers of the table, method by method, Random first."""
    with studies.reading(store, study.slug) as records:
        counts = records.count_wins()
    design = study.design
    published = {
        (row.method, row.domain, row.persona, row.t): row.win for row in paper.load().human_study
    }
    result = []
    for method in methods_of(design):
        for domain, condition, step, role in _columns(design):
            evaluated = RANDOM if method == "random" else role
            cells = _cells(design, method, domain, condition)
            pairs = [counts.get((number, evaluated), (0, 0)) for number in cells]
            totals = (sum(wins for wins, _ in pairs), sum(count for _, count in pairs))
            key = (method, domain, condition == WITH_PERSONA, step)
            result.append(Outcome(method, domain, condition, step, *totals, published.get(key)))
    return result


def methods_of(design: Design) -> list[str]:
    """List the methods of the table in the paper's order, Random first."""
    in_paper = [name for name in _ORDER if name in design.methods]
    return ["random", *in_paper, *(name for name in design.methods if name not in _ORDER)]


def table(design: Design, numbers: list[Outcome]) -> Table:
    """Lay the numbers out as the paper does, each method's row with the paper's below it."""
    columns = tuple(
        f"{domain} {condition} t={step}" for domain, condition, step, _ in _columns(design)
    )
    rows: list[tuple[Any, ...]] = []
    for method in methods_of(design):
        row = [outcome for outcome in numbers if outcome.method == method]
        label = LABELS.get(method, method)
        rows.append((label, *(outcome.rate for outcome in row)))
        if any(outcome.paper for outcome in row):
            rows.append((f"{label}, paper", *(outcome.paper for outcome in row)))
    return Table(
        "study",
        "Win-rate against the zero-temperature baseline, in percent (standard error)",
        ("Method", *columns),
        rows,
        note=_note(numbers),
        digits=1,
    )


def _note(numbers: list[Outcome]) -> str:
    own = sorted({outcome.count for outcome in numbers if outcome.method != "random"})
    pooled = sorted({outcome.count for outcome in numbers if outcome.method == "random"})
    ours = f"Participants per number: {_span(own)}; Random {_span(pooled)}."
    return f"{ours} The paper: 120; Random 240."


def _span(counts: list[int]) -> str:
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _columns(design: Design) -> list[tuple[str, str, int, str]]:
    return [
        (entry.name, condition, step, role)
        for entry in design.domains
        for condition in design.conditions
        for step, role in zip(entry.checkpoints, (EARLIER, LATER), strict=True)
    ]


def _cells(design: Design, method: str, domain: str, condition: str) -> list[int]:
    """List the cells that a number is over: one, or for Random those of all methods."""
    return [
        number
        for number, cell in enumerate(design.cells)
        if (cell.domain, cell.condition) == (domain, condition)
        and method in ("random", cell.method)
    ]
