"""What came out: means over the people of a group, with their tables and figures.

A group is a pool with a kind of users. Means are over people and seeds, with the standard error as
the paper's tables have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.lab.bench.contest import BUDGET, TIMES, state_at
from useralign.lab.figures import draw_band, new_figure, save, styled
from useralign.lab.metrics import mean_sem
from useralign.lab.tables import Table, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from useralign.lab.bench.contest import Contest
    from useralign.lab.paper import Mean

    Cells = Sequence[Mapping[str, Any]]

METRICS = {
    "win": "Win-rate against the baseline",
    "top": "Probability of the best",
    "regret": "Normalised regret",
}
SCREENS = {"top3": "Probability of the best three", "words": "Share of words read"}
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
# Okabe and Ito's palette and two greys; markers differ as well.
_LOOKS = {
    "few": ("#882255", "p"),
    "frugal": ("#D55E00", "D"),
    "useralign": ("#009E73", "o"),
    "iidbest": ("#E69F00", "^"),
    "random": ("#7F7F7F", ""),
    "tournament": ("#000000", "s"),
    "uncertainty": ("#56B4E9", "v"),
    "thompson": ("#CC79A7", "P"),
    "eubo": ("#0072B2", "X"),
}
_OTHERS = (("#B8A400", "<"), ("#555555", ">"), ("#8C564B", "*"))


class End(NamedTuple):
    """How the interactions of one method ended."""

    per_screen: int
    screens: float  # the median
    words: Mean
    top3: Mean
    regret: Mean

    def to_dict(self) -> dict[str, float]:
        """Return it as plain data."""
        means = {name: round(getattr(self, name).mean, 6) for name in ("words", "top3", "regret")}
        return {"per_screen": self.per_screen, "screens": self.screens, **means}


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
    end : End or None
        How it ended, where screens are measured.
    """

    method: str
    count: int
    means: dict[str, dict[int, Mean]]
    to_level: int | None
    milliseconds: float | None
    end: End | None = None

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
            **({} if self.end is None else {"end": self.end.to_dict()}),
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


def summarise(cells: Cells, milliseconds: Mapping[str, float], comparison: Contest) -> list[Group]:
    """Return the groups, and the methods in each, in the order of the contest.

    Parameters
    ----------
    cells : list of dict
    milliseconds : mapping of str to float
        What a step took, by key; cells that are not there are left out of that mean.
    comparison : Contest
    """
    groups: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for cell in cells:
        group = groups.setdefault((cell["pool"], cell["users"]), {})
        group.setdefault(cell["method"], []).append(cell)
    order = [(pool, users) for pool in comparison.pools for users in (*comparison.users, *TITLES)]
    return [
        Group(*names, tuple(_line(m, groups[names][m], milliseconds) for m in comparison.methods))
        for names in dict.fromkeys(order)
        if names in groups
    ]


def _line(method: str, cells: Cells, milliseconds: Mapping[str, float]) -> Line:
    states = {t: [state_at(cell, t) for cell in cells] for t in range(BUDGET + 1)}
    means = {
        metric: {t: mean_sem(getattr(state, metric) for state in states[t]) for t in TIMES}
        for metric in _metrics(cells)
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
        _end(cells) if "read" in cells[0] else None,
    )


def _metrics(cells: Cells) -> dict[str, str]:
    return {**METRICS, **SCREENS} if "read" in cells[0] else METRICS


def _end(cells: Cells) -> End:
    states = [state_at(cell, cell["stopped_at"]) for cell in cells]
    return End(
        max(cell["show"] for cell in cells),
        float(np.median([cell["stopped_at"] for cell in cells])),
        *(mean_sem(getattr(state, name) for state in states) for name in End._fields[2:]),
    )


def metric_tables(groups: Sequence[Group]) -> list[Table]:
    """Build a table per group and metric: a row per method, a column per number of answers."""
    return [
        Table(
            f"{group.pool}-{group.users}-{metric}",
            f"{title}: {group.title}",
            ("Method", *(f"t = {t}" for t in TIMES)),
            [(line.method, *line.means[metric].values()) for line in group.lines],
            f"Mean (standard error) of {group.lines[0].count} interactions after t answers.",
        )
        for group in groups
        for metric, title in {**METRICS, **SCREENS}.items()
        if metric in group.lines[0].means
    ]


def screen_tables(groups: Sequence[Group]) -> list[Table]:
    """Build a table per group of how each method ended, where screens are measured."""
    return [
        Table(
            f"{group.pool}-{group.users}-screens",
            f"Screens: {group.title}",
            ("Method", "per screen", "screens", "words read", "best three", "regret"),
            [(line.method, *line.end) for line in group.lines if line.end is not None],
            "At the end: `few` stops by itself, others ask for the whole budget. Screens are the "
            "median; the rest is mean (standard error).",
        )
        for group in groups
        if any(line.end is not None for line in group.lines)
    ]


def overviews(groups: Sequence[Group], times: tuple[int, int] = (5, 10)) -> list[Table]:
    """Build a table per metric: a row per group, a column per method, two numbers of answers."""
    methods = list(dict.fromkeys(line.method for group in groups for line in group.lines))
    after = " and ".join(map(str, times))
    tables = []
    for metric, title in METRICS.items():
        rows: list[tuple[Value, ...]] = []
        errors = [0.0]
        for group in groups:
            lines = {line.method: line.means[metric] for line in group.lines}
            errors += [lines[m][t].sem for m in lines for t in times]
            texts = [_both(lines[m], times) if m in lines else None for m in methods]
            rows.append((f"{group.title} ({group.lines[0].count})", *texts))
        note = f"Standard errors are at most {max(errors):.2f}."
        name = f"overview-{metric}"
        tables.append(Table(name, f"{title} after {after} answers", ("On", *methods), rows, note))
    return tables


def _both(means: Mapping[int, Mean], times: tuple[int, int]) -> str:
    return " / ".join(f"{means[t].mean:.2f}" for t in times)


def short_tables(groups: Sequence[Group], times: tuple[int, int] = (5, 10)) -> list[Table]:
    """Build a table per group that fits a page: all metrics after 5 and 10 answers."""
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
    """Build the table of milliseconds per step: a row per method, a column per pool."""
    methods = list(dict.fromkeys(line.method for group in groups for line in group.lines))
    pools = list(dict.fromkeys(group.pool for group in groups))

    def mean(method: str, pool: str) -> float | None:
        means = [
            line.milliseconds
            for group in groups
            for line in group.lines
            if group.pool == pool and line.method == method and line.milliseconds is not None
        ]
        return float(np.mean(means)) if means else None

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


@styled
def pool_figure(groups: Sequence[Group]) -> Figure:
    """Draw the groups of one pool."""
    figure = new_figure(9.6, 2.5 * len(groups) + 0.6)
    for row, group in enumerate(groups):
        for column, (metric, title) in enumerate(METRICS.items()):
            axes = figure.add_subplot(len(groups), 3, 3 * row + column + 1)
            _draw(axes, group, metric)
            axes.set_title(TITLES[group.users] if column == 0 else "")
            axes.set_ylabel(title)
            if row == len(groups) - 1:
                axes.set_xlabel("questions")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 8))
    return figure


def write_figures(groups: Sequence[Group], folder: Path) -> list[Path]:
    """Draw every pool; return the paths of the files.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    paths = []
    for pool in dict.fromkeys(group.pool for group in groups):
        own = [group for group in groups if group.pool == pool]
        paths += save(pool_figure(own), folder, pool)
    return paths


def _draw(axes: Axes, group: Group, metric: str) -> None:
    others = iter(_OTHERS * len(group.lines))
    for line in group.lines:
        colour, marker = _LOOKS.get(line.method) or next(others)
        points = [(t, line.means[metric][t]) for t in TIMES]
        look = {"color": colour, "marker": marker, "label": line.method, "markersize": 4}
        draw_band(axes, points, 0.12, **look)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks(TIMES, [str(t) for t in TIMES])
