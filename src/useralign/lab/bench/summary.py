"""What came out: means over the people of a group, with their tables and figures.

A group is a pool with a kind of users. Means are over people and seeds, with the standard error as
the paper's tables have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.lab.bench.contest import BUDGET, TIMES, state_at
from useralign.lab.cell import with_dimension
from useralign.lab.figures import LOOKS, draw_band, new_figure, save, styled
from useralign.lab.metrics import mean_sem
from useralign.lab.paper import Mean
from useralign.lab.tables import EARLY, Table
from useralign.lab.wording import load_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from useralign.lab.bench.contest import Contest

    Cells = Sequence[Mapping[str, Any]]

METRICS = {
    "win": "Win-rate against the baseline",
    "top": "Probability of the best",
    "regret": "Normalised regret",
}
SCREENS = {"top3": "Probability of the best three", "words": "Share of words read"}
LEVEL = 0.9
TITLES: dict[str, str] = load_words()["people"]  # by kind of users
# Of methods that have no look of their own.
_OTHERS = (("#B8A400", "<"), ("#555555", ">"), ("#8C564B", "*"))


class End(NamedTuple):
    """How the interactions of one method ended."""

    per_screen: int
    screens: float  # the median
    words: Mean
    top3: Mean
    regret: Mean


@dataclass(frozen=True, slots=True)
class Line:
    """One method in one group."""

    method: str
    count: int  # how many interactions
    means: dict[str, dict[int, Mean]]  # by metric and number of answers
    # after how many answers the mean win-rate is at least 90%; None if it is not within the budget
    to_level: int | None
    milliseconds: float | None  # what a step took on average
    end: End | None = None  # how it ended, where screens are measured

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        means = {
            metric: {str(t): mean.to_dict() for t, mean in row.items()}
            for metric, row in self.means.items()
        }
        data: dict[str, Any] = {
            "method": self.method,
            "interactions": self.count,
            **means,
            "questions_to_90": self.to_level,
            "milliseconds": None if self.milliseconds is None else round(self.milliseconds, 3),
        }
        if self.end is not None:
            ends = self.end._asdict().items()
            data["end"] = {k: round(v.mean, 6) if isinstance(v, Mean) else v for k, v in ends}
        return data


@dataclass(frozen=True, slots=True)
class Group:
    """All methods on the people of one kind and one pool."""

    pool: str
    users: str
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{with_dimension(self.pool)}, {TITLES[self.users]}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        lines = [line.to_dict() for line in self.lines]
        return {"pool": self.pool, "users": self.users, "methods": lines}


def summarise(cells: Cells, milliseconds: Mapping[str, float], comparison: Contest) -> list[Group]:
    """Return groups and the methods in each in the contest's order; milliseconds are by key."""
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
        metric: {t: mean_sem(state[metric] for state in states[t]) for t in TIMES}
        for metric in (*METRICS, *(SCREENS if "read" in cells[0] else ()))
    }
    wins = [mean_sem(state["win"] for state in states[t]).mean for t in range(BUDGET + 1)]
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


def _end(cells: Cells) -> End:
    states = [state_at(cell, cell["stopped_at"]) for cell in cells]
    return End(
        max(cell["show"] for cell in cells),
        float(np.median([cell["stopped_at"] for cell in cells])),
        *(mean_sem(state[name] for state in states) for name in End._fields[2:]),
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


def overviews(groups: Sequence[Group]) -> list[Table]:
    """Build a table per metric: a row per group, a column per method, two numbers of answers."""
    tables = []
    for metric, title in METRICS.items():
        rows, errors = [], [0.0]
        for group in groups:
            means = [[line.means[metric][t] for t in EARLY] for line in group.lines]
            errors += [mean.sem for pair in means for mean in pair]
            texts = [" / ".join(f"{mean.mean:.2f}" for mean in pair) for pair in means]
            rows.append((f"{group.title} ({group.lines[0].count})", *texts))
        heading = f"{title} after {' and '.join(map(str, EARLY))} answers"
        note = f"Standard errors are at most {max(errors):.2f}."
        columns = ("On", *_methods(groups))
        tables.append(Table(f"overview-{metric}", heading, columns, rows, note))
    return tables


def short_tables(groups: Sequence[Group]) -> list[Table]:
    """Build a table per group that fits a page: all metrics after 5 and 10 answers."""
    columns = [(name, t) for name in ("best", "regret", "win") for t in EARLY]
    keys = [("top" if name == "best" else name, t) for name, t in columns]
    return [
        Table(
            f"{group.pool}-{group.users}",
            f"{group.title}: {group.lines[0].count} interactions",
            ("Method", *(f"{name}, t = {t}" for name, t in columns), "to 90%"),
            [
                (line.method, *(line.means[key][t] for key, t in keys), line.to_level)
                for line in group.lines
            ],
        )
        for group in groups
    ]


def clock_table(groups: Sequence[Group]) -> Table:
    """Build the table of milliseconds per step: a row per method, a column per pool."""
    times: dict[str, dict[str, list[float]]] = {group.pool: {} for group in groups}
    for group in groups:
        for line in group.lines:
            if line.milliseconds is not None:
                times[group.pool].setdefault(line.method, []).append(line.milliseconds)
    means = [{m: float(np.mean(spent)) for m, spent in of.items()} for of in times.values()]
    return Table(
        "milliseconds",
        "Milliseconds per step",
        ("Method", *times),
        [(method, *(of.get(method) for of in means)) for method in _methods(groups)],
        "As measured when the cells were computed; times depend on the machine.",
    )


def _methods(groups: Sequence[Group]) -> list[str]:
    return [line.method for line in groups[0].lines] if groups else []


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

    Raises MissingExtraError if matplotlib is not installed.
    """
    paths = []
    for pool in dict.fromkeys(group.pool for group in groups):
        own = [group for group in groups if group.pool == pool]
        paths += save(pool_figure(own), folder, pool)
    return paths


def _draw(axes: Axes, group: Group, metric: str) -> None:
    others = iter(_OTHERS * len(group.lines))
    for line in group.lines:
        colour, marker = LOOKS.get(line.method) or next(others)
        points = [(t, line.means[metric][t]) for t in TIMES]
        look = {"color": colour, "marker": marker, "label": line.method, "markersize": 4}
        draw_band(axes, points, 0.12, **look)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks(TIMES, [str(t) for t in TIMES])
