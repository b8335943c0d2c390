"""How a study is going, and its win-rates in the form of the paper's table.

Only finished participants count for win-rates. The Random candidate does not depend on the method
that was compared with, so its win-rate is over the participants of all methods, and the same at
both steps.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.lab import paper
from useralign.lab.paper import Mean
from useralign.lab.tables import Table
from useralign.store import studies
from useralign.store.studies import ATTENTION, EARLIER, LATER, RANDOM, CellCounts
from useralign.study.design import WITH_PERSONA, StudyCell
from useralign.study.pages import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from useralign.store import Store
    from useralign.store.studies import MatchupCount
    from useralign.study.analysis import PairedTest, Rate
    from useralign.study.design import Design
    from useralign.study.studies import Study

T = TypeVar("T")

LABELS = {"random": "Random", "iidbest": "iidBest", "useralign": "UserAlign"}  # in order
_COUNTS = ("wanted", "finished", "active", "dropped", "attentive", "inattentive")


@dataclass(frozen=True, slots=True)
class CellStatus:
    """How many there are of one cell."""

    cell: StudyCell
    wanted: int
    finished: int
    active: int
    dropped: int  # who began and has done nothing for longer than the window
    attentive: int  # how many attention checks those who finished passed
    inattentive: int  # and failed

    @property
    def people(self) -> int:
        """How many have begun."""
        return self.finished + self.active + self.dropped


@dataclass(frozen=True, slots=True)
class Status:
    """A study at one moment."""

    slug: str
    title: str
    state: str  # open, paused or closed
    data: str  # study, pilot or simulated
    cells: list[CellStatus]
    # The median time that finished participants spent in each stage, and in all.
    seconds: dict[str, float]
    left_share: float | None  # how often the left option was chosen in stage 3
    selection_left: float | None  # how often the selection stood on the left in stage 3
    judged: int  # of how many choices that is
    # How many finished participants had the same candidate in two of the three roles.
    coinciding: int
    # How the parts of those ended who did not complete: screened out, say, and how many just left.
    ends: dict[str, int]

    def total(self, name: str) -> int:
        """Return a count over all cells."""
        return sum(getattr(cell, name) for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "slug": self.slug,
            "title": self.title,
            "open": self.state == "open",
            "state": self.state,
            "data": self.data,
            **{name: self.total(name) for name in _COUNTS},
            "seconds": self.seconds,
            "left_chosen": self.left_share,
            "selection_left": self.selection_left,
            "coinciding": self.coinciding,
            "ends": self.ends,
            "cells": [
                {**cell.cell._asdict(), **{name: getattr(cell, name) for name in _COUNTS}}
                for cell in self.cells
            ],
        }


def status(store: Store, study: Study, now: float) -> Status:
    """Count and time the participants of a study; `now` is in seconds since 1970."""
    design = study.design
    with studies.reading(store, study.slug) as records:
        counts = records.count_cells(now, design.window)
        matchups = records.count_matchups()
        times = list(records.stage_times().values())
        coinciding = records.count_coinciding()
        ends = records.count_outcomes()
    attention = _added((one.cell, one) for one in matchups if one.role == ATTENTION)
    judged = [one for one in matchups if one.role != ATTENTION]
    cells = []
    for number, (cell, wanted) in enumerate(zip(design.cells, design.quota, strict=True)):
        count = counts.get(number, CellCounts())
        passed, checks = attention.get(number, (0, 0))
        people = (count.finished, count.active, count.dropped)
        cells.append(CellStatus(cell, wanted, *people, passed, checks - passed))
    return Status(
        study.slug,
        design.heading,
        study.state,
        design.data,
        cells,
        _median_seconds(times),
        left_share=_share_left(judged, "chosen"),
        selection_left=_share_left(judged, "side"),
        judged=sum(one.total for one in judged),
        coinciding=coinciding,
        ends=_ends(ends, sum(cell.dropped for cell in cells)),
    )


def _ends(outcomes: Mapping[str, int], dropped: int) -> dict[str, int]:
    """Return how those ended who dropped out; who said nothing has left."""
    ends = {name: count for name, count in outcomes.items() if name != COMPLETED}
    silent = dropped - sum(ends.values())
    return ends | ({"left": silent} if silent else {})


def _median_seconds(times: list[dict[str, float]]) -> dict[str, float]:
    """Return the median time in each stage, and in all; `times` says who entered which when."""
    spans: dict[str, list[float]] = {}
    for entered in times:
        order = sorted(entered, key=lambda stage: entered[stage])
        for stage, after in pairwise(order):
            spans.setdefault(stage, []).append(entered[after] - entered[stage])
        spans.setdefault("all", []).append(entered[order[-1]] - entered[order[0]])
    whole = {"all": spans.pop("all")} if spans else {}
    return {stage: median(seconds) for stage, seconds in (spans | whole).items()}


def _share_left(matchups: Sequence[MatchupCount], name: str) -> float | None:
    """Return in which share of matchups something is on the left."""
    left = sum(one.total for one in matchups if getattr(one, name) == "left")
    return left / sum(one.total for one in matchups) if matchups else None


def _added(pairs: Iterable[tuple[T, MatchupCount]]) -> dict[T, tuple[int, int]]:
    """Add up wins and evaluations by key."""
    totals: dict[T, tuple[int, int]] = {}
    for key, one in pairs:
        wins, count = totals.get(key, (0, 0))
        totals[key] = (wins + one.wins, count + one.total)
    return totals


@dataclass(frozen=True, slots=True)
class Outcome:
    """One number of the table."""

    method: str
    domain: str
    condition: str
    step: int  # after how many comparisons the selection was made
    wins: int  # how often it was preferred to the baseline
    count: int  # of how many times
    paper: Mean | None  # the paper's number, in percent, where it has one

    @property
    def rate(self) -> Mean | None:
        """The win-rate in percent with its standard error, as the paper computes it."""
        if not self.count:
            return None
        share = self.wins / self.count
        return Mean(100 * share, 100 * math.sqrt(share * (1 - share) / self.count))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = asdict(self)
        del plain["paper"]
        numbers = {"win_rate": self.rate, "paper": self.paper}
        return plain | {name: value and value._asdict() for name, value in numbers.items()}

    def __str__(self) -> str:
        """Return the win-rate as a table shows it; where all agree there is no standard error."""
        if self.rate is None:
            return "-"
        error = f" ({self.rate.sem:.1f})" if self.rate.sem else ""
        return f"{self.rate.mean:.1f}{error}, n = {self.count}"


def outcomes(store: Store, study: Study) -> list[Outcome]:
    """Compute all numbers of the table, method by method, Random first."""
    with studies.reading(store, study.slug) as records:
        matchups = records.count_matchups()
    design = study.design
    published = {
        (row.method, row.domain, row.persona, row.t): row.win for row in paper.load().human_study
    }
    met = [
        design.sequence(number, len(study.questions[cell.domain]))
        for number, cell in enumerate(design.cells)
    ]
    totals = _added((_selection(met[one.cell][one.round], one.role), one) for one in matchups)
    result = []
    for method in methods_of(design):
        for domain, condition, position, role in _columns(design):
            arm = design.arm_names[0] if method == RANDOM else method
            step = design.checkpoints(domain, arm)[position]
            selection = StudyCell(domain, method, condition), RANDOM if method == RANDOM else role
            wins, count = totals.get(selection, (0, 0))
            printed = published.get((method, domain, condition == WITH_PERSONA, step))
            result.append(Outcome(method, domain, condition, step, wins, count, printed))
    return result


def _selection(cell: StudyCell, role: str) -> tuple[StudyCell, str]:
    """Return whose selection was judged: the random one is that of no arm."""
    return cell._replace(method=RANDOM) if role == RANDOM else cell, role


def methods_of(design: Design) -> list[str]:
    """List the methods of the table in the paper's order, Random first."""
    in_paper = [name for name in LABELS if name in design.arm_names]
    return [RANDOM, *in_paper, *(name for name in design.arm_names if name not in LABELS)]


def headings(design: Design) -> list[str]:
    """Return what each column of the table is about: a step, or a role where arms differ in it."""
    names = []
    for domain, _, position, role in _columns(design):
        steps = {design.checkpoints(domain, arm)[position] for arm in design.arm_names}
        names.append(f"t={steps.pop()}" if len(steps) == 1 else role)
    return names


def label(design: Design, method: str) -> str:
    """Return what a row of the table is called, with the steps of an arm that has its own."""
    steps = design.arm(method).checkpoints if method in design.arm_names else None
    name = LABELS.get(method, method)
    return f"{name}, t={' and '.join(map(str, steps))}" if steps else name


def table(design: Design, numbers: list[Outcome]) -> Table:
    """Lay the numbers out as the paper does, each method's row with the paper's below it."""
    columns = tuple(
        f"{domain} {condition} {heading}"
        for (domain, condition, *_), heading in zip(_columns(design), headings(design), strict=True)
    )
    rows: list[tuple[Any, ...]] = []
    for method in methods_of(design):
        row = [outcome for outcome in numbers if outcome.method == method]
        rows.append((label(design, method), *map(str, row)))
        if any(outcome.paper for outcome in row):
            rows.append((f"{LABELS.get(method, method)}, paper", *(one.paper for one in row)))
    return Table(
        "study",
        "Win-rate against the baseline, in percent (standard error)",
        ("Method", *columns),
        rows,
        note=_note(numbers),
        digits=1,
    )


def statistics(rates: list[Rate], tests: list[PairedTest], left_out: int) -> list[Table]:
    """Lay out intervals and tests; nothing where nobody has judged anything yet."""
    intervals = Table(
        "intervals",
        "Win-rates in percent, 95% intervals by a bootstrap over people",
        ("domain", "condition", "method", "selection", "people", "win-rate", "interval"),
        [(r.domain, r.condition, r.method, r.role, r.people, r.rate, _interval(r)) for r in rates],
        note=f"Left out by flags: {left_out}.",
        digits=1,
    )
    compared = [f"{test.first} / {test.second}" for test in tests]
    paired = Table(
        "tests",
        "Within people, two-sided, not corrected for their number",
        ("domain", "condition", "compared", "people", "difference", "p", "test"),
        [
            (t.domain, t.condition, names, t.people, t.difference, f"{t.p:.3g}", t.test)
            for t, names in zip(tests, compared, strict=True)
        ],
        digits=1,
    )
    return [table for table in (intervals, paired) if table.rows]


def _interval(rate: Rate) -> str:
    return "-" if rate.low is None else f"{rate.low:.1f} to {rate.high:.1f}"


def _note(numbers: list[Outcome]) -> str:
    own = sorted({outcome.count for outcome in numbers if outcome.method != "random"})
    pooled = sorted({outcome.count for outcome in numbers if outcome.method == "random"})
    ours = f"Participants per number: {_span(own)}; Random {_span(pooled)}."
    return f"{ours} The paper: 120; Random 240." if any(o.paper for o in numbers) else ours


def _span(counts: list[int]) -> str:
    if not counts:
        return "none"
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _columns(design: Design) -> list[tuple[str, str, int, str]]:
    """List domain, condition, and for each checkpoint its position and role."""
    return [
        (entry.name, condition, position, role)
        for entry in design.domains
        for condition in design.conditions
        for position, role in enumerate((EARLIER, LATER)[2 - len(entry.checkpoints) :])
    ]
