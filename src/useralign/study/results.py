"""Win-rates with standard errors, in the form of the paper's table of the study with people.

Only finished participants count. The Random candidate does not depend on the method that was
compared with, so its win-rate is over the participants of all methods, and the same at both steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, func, select

from useralign.lab import paper
from useralign.lab.paper import Mean
from useralign.lab.tables import Table
from useralign.store.schema import matchups, participants
from useralign.study import flow
from useralign.study.design import WITH_PERSONA

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from useralign.study.design import Design
    from useralign.study.studies import Study

LABELS = {"random": "Random", "iidbest": "iidBest", "useralign": "UserAlign"}
_ORDER = list(LABELS)


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


def outcomes(connection: Connection, study: Study) -> list[Outcome]:
    """Compute all numbers of the table, method by method, Random first."""
    counts = _counts(connection, study)
    design = study.design
    theirs = {
        (row.method, row.domain, row.persona, row.t): row.win for row in paper.load().human_study
    }
    found = []
    for method in methods_of(design):
        for domain, condition, step, role in _columns(design):
            wanted = flow.RANDOM if method == "random" else role
            cells = _cells(design, method, domain, condition)
            seen = [counts.get((number, wanted), (0, 0)) for number in cells]
            totals = (sum(wins for wins, _ in seen), sum(count for _, count in seen))
            key = (method, domain, condition == WITH_PERSONA, step)
            found.append(Outcome(method, domain, condition, step, *totals, theirs.get(key)))
    return found


def methods_of(design: Design) -> list[str]:
    """List the methods of the table in the paper's order, Random first."""
    known = [name for name in _ORDER if name in design.methods]
    return ["random", *known, *(name for name in design.methods if name not in _ORDER)]


def table(design: Design, found: list[Outcome]) -> Table:
    """Lay the numbers out as the paper does, each method's row with the paper's below it."""
    columns = tuple(
        f"{domain} {condition} t={step}" for domain, condition, step, _ in _columns(design)
    )
    rows: list[tuple[Any, ...]] = []
    for method in methods_of(design):
        row = [outcome for outcome in found if outcome.method == method]
        label = LABELS.get(method, method)
        rows.append((label, *(outcome.rate for outcome in row)))
        if any(outcome.paper for outcome in row):
            rows.append((f"{label}, paper", *(outcome.paper for outcome in row)))
    return Table(
        "study",
        "Win-rate against the zero-temperature baseline, in percent (standard error)",
        ("Method", *columns),
        rows,
        note=_note(found),
        digits=1,
    )


def _note(found: list[Outcome]) -> str:
    own = sorted({outcome.count for outcome in found if outcome.method != "random"})
    pooled = sorted({outcome.count for outcome in found if outcome.method == "random"})
    ours = f"Participants per number: {_span(own)}; Random {_span(pooled)}."
    return f"{ours} The paper: 120; Random 240."


def _span(counts: list[int]) -> str:
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _columns(design: Design) -> list[tuple[str, str, int, str]]:
    return [
        (entry.name, condition, step, role)
        for entry in design.domains
        for condition in design.conditions
        for step, role in zip(entry.checkpoints, (flow.EARLIER, flow.LATER), strict=True)
    ]


def _counts(connection: Connection, study: Study) -> dict[tuple[int, str], tuple[int, int]]:
    wins = func.sum(case((matchups.c.chosen == matchups.c.side, 1), else_=0))
    rows = connection.execute(
        select(participants.c.cell, matchups.c.role, wins, func.count())
        .join_from(participants, matchups)
        .where(participants.c.study_id == study.slug, participants.c.finished.is_not(None))
        .group_by(participants.c.cell, matchups.c.role)
    )
    return {(cell, role): (int(wins), count) for cell, role, wins, count in rows}


def _cells(design: Design, method: str, domain: str, condition: str) -> list[int]:
    """List the cells that a number is over: one, or for Random those of all methods."""
    return [
        number
        for number, cell in enumerate(design.cells)
        if (cell.domain, cell.condition) == (domain, condition)
        and method in ("random", cell.method)
    ]
