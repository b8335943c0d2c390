"""What came out: means over the people of a group, and the tables of them.

A group is a pool with a kind of users. Means are over people and seeds, with the standard error as
the paper's tables have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.lab.bench.cells import BUDGET, TIMES, state_at
from useralign.lab.metrics import mean_sem
from useralign.lab.tables import Table, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from useralign.lab.bench.contest import Contest
    from useralign.lab.paper import Mean

    Cells = Sequence[Mapping[str, Any]]

METRICS = {
    "win": "Win-rate against the baseline",
    "top": "Probability of the best",
    "regret": "Normalised regret",
}
LEVEL = 0.9
TITLES = {
    "persona": "personas",
    "recorded": "recorded people",
    "consistent": "consistent users",
    "btl": "BTL users",
    "flip10": "consistent but for 10% of clicks",
    "flip20": "consistent but for 20% of clicks",
    "unexplained": "utilities that features say nothing of",
    "ranking": "a ranking at random",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One method in one group.

    Parameters
    ----------
    method : str
    count : int
        How many interactions.
    means : dict of str to dict of int to Mean
        By metric and number of answers.
    to_level : int or None
        After how many answers the mean win-rate is at least 90%; None if it is not within the
        budget.
    milliseconds : float or None
        What a step took on average.
    """

    method: str
    count: int
    means: dict[str, dict[int, Mean]]
    to_level: int | None
    milliseconds: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        means = {
            metric: {
                str(t): {"mean": round(m.mean, 6), "sem": round(m.sem, 6)} for t, m in row.items()
            }
            for metric, row in self.means.items()
        }
        return {
            "method": self.method,
            "interactions": self.count,
            **means,
            "questions_to_90": self.to_level,
            "milliseconds": None if self.milliseconds is None else round(self.milliseconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Group:
    """All methods on the people of one kind and one pool."""

    pool: str
    users: str
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.pool}, {TITLES[self.users]}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        lines = [line.to_dict() for line in self.lines]
        return {"pool": self.pool, "users": self.users, "methods": lines}


def summarise(cells: Cells, milliseconds: Mapping[str, float], asked: Contest) -> list[Group]:
    """Return the groups, and the methods in each, in the order of the contest.

    Parameters
    ----------
    cells : list of dict
    milliseconds : mapping of str to float
        What a step took, by key; cells that are not there are left out of that mean.
    asked : Contest
    """
    groups: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for cell in cells:
        group = groups.setdefault((cell["pool"], cell["users"]), {})
        group.setdefault(cell["method"], []).append(cell)
    places = [(pool, users) for pool in asked.pools for users in (*asked.users, *TITLES)]
    return [
        Group(*place, tuple(_line(m, groups[place][m], milliseconds) for m in asked.methods))
        for place in dict.fromkeys(places)
        if place in groups
    ]


def _line(method: str, cells: Cells, milliseconds: Mapping[str, float]) -> Line:
    states = {t: [state_at(cell, t) for cell in cells] for t in range(BUDGET + 1)}
    means = {
        metric: {t: mean_sem(getattr(state, metric) for state in states[t]) for t in TIMES}
        for metric in METRICS
    }
    wins = [mean_sem(state.win for state in states[t]).mean for t in range(BUDGET + 1)]
    reached = [t for t, win in enumerate(wins) if win >= LEVEL]
    spent = [milliseconds[cell["key"]] for cell in cells if cell["key"] in milliseconds]
    asks = any(cell["stopped_at"] for cell in cells)
    return Line(
        method,
        len(cells),
        means,
        reached[0] if reached else None,
        float(np.mean(spent)) if spent and asks else None,
    )


def metric_tables(groups: Sequence[Group]) -> list[Table]:
    """Build a table a group and metric: a row a method, a column a number of answers."""
    return [
        Table(
            f"{group.pool}-{group.users}-{metric}",
            f"{title}: {group.title}",
            ("Method", *(f"t = {t}" for t in TIMES)),
            [(line.method, *line.means[metric].values()) for line in group.lines],
            f"Mean (standard error) of {group.lines[0].count} interactions after t answers.",
        )
        for group in groups
        for metric, title in METRICS.items()
    ]


def overviews(groups: Sequence[Group], times: tuple[int, int] = (5, 10)) -> list[Table]:
    """Build a table a metric: a row a group, a column a method, both numbers of answers each."""
    methods = list(dict.fromkeys(line.method for group in groups for line in group.lines))
    after = " and ".join(map(str, times))
    found = []
    for metric, title in METRICS.items():
        rows: list[tuple[Value, ...]] = []
        errors = [0.0]
        for group in groups:
            lines = {line.method: line.means[metric] for line in group.lines}
            errors += [lines[m][t].sem for m in lines for t in times]
            shown = [_both(lines[m], times) if m in lines else None for m in methods]
            rows.append((f"{group.title} ({group.lines[0].count})", *shown))
        note = f"Standard errors are at most {max(errors):.2f}."
        name = f"overview-{metric}"
        found.append(Table(name, f"{title} after {after} answers", ("On", *methods), rows, note))
    return found


def _both(means: Mapping[int, Mean], times: tuple[int, int]) -> str:
    return " / ".join(f"{means[t].mean:.2f}" for t in times)


def short_tables(groups: Sequence[Group], times: tuple[int, int] = (5, 10)) -> list[Table]:
    """Build a table a group that fits a page: all metrics after 5 and 10 answers."""
    named = (("best", "top"), ("regret", "regret"), ("win", "win"))
    columns = tuple(f"{name}, t = {t}" for name, _ in named for t in times)
    return [
        Table(
            f"{group.pool}-{group.users}",
            f"{group.title}: {group.lines[0].count} interactions",
            ("Method", *columns, "to 90%"),
            [(line.method, *_short(line, times), line.to_level) for line in group.lines],
        )
        for group in groups
    ]


def _short(line: Line, times: tuple[int, int]) -> tuple[Value, ...]:
    return tuple(line.means[metric][t] for metric in ("top", "regret", "win") for t in times)


def clock_table(groups: Sequence[Group]) -> Table:
    """Build the table of milliseconds a step: a row a method, a column a pool."""
    methods = list(dict.fromkeys(line.method for group in groups for line in group.lines))
    pools = list(dict.fromkeys(group.pool for group in groups))

    def mean(method: str, pool: str) -> float | None:
        found = [
            line.milliseconds
            for group in groups
            for line in group.lines
            if group.pool == pool and line.method == method and line.milliseconds is not None
        ]
        return float(np.mean(found)) if found else None

    rows: list[tuple[Value, ...]] = [
        (method, *(mean(method, pool) for pool in pools)) for method in methods
    ]
    return Table(
        "milliseconds",
        "Milliseconds a step",
        ("Method", *pools),
        rows,
        "As measured when the cells were computed; times depend on the machine.",
    )
