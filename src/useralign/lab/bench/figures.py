"""A figure a pool: each metric against the number of answers, a row a kind of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.lab.bench.cells import TIMES
from useralign.lab.bench.summary import METRICS, TITLES
from useralign.lab.figures import new_figure, save, styled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from useralign.lab.bench.summary import Group

# Okabe and Ito's palette and two greys; markers differ as well.
_LOOKS = {
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
        mine = [group for group in groups if group.pool == pool]
        paths += save(pool_figure(mine), folder, pool)
    return paths


def _draw(axes: Axes, group: Group, metric: str) -> None:
    others = iter(_OTHERS * len(group.lines))
    for line in group.lines:
        colour, marker = _LOOKS.get(line.method) or next(others)
        means = [line.means[metric][t].mean for t in TIMES]
        errors = [line.means[metric][t].sem for t in TIMES]
        axes.plot(TIMES, means, color=colour, marker=marker, label=line.method, markersize=4)
        low = [mean - error for mean, error in zip(means, errors, strict=True)]
        high = [mean + error for mean, error in zip(means, errors, strict=True)]
        axes.fill_between(TIMES, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks(TIMES, [str(t) for t in TIMES])
