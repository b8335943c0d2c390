"""Figures: one clean style, colours that colour-blind people can tell apart, PNG and SVG.

matplotlib is imported when a figure is drawn, and never needs a screen.
"""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from useralign.errors import MissingExtraError
from useralign.files import write_atomically
from useralign.lab.paper import BUDGETS, EPSILONS, Mean
from useralign.lab.results import select
from useralign.lab.tables_build import NAMES, Cells, at_budget, at_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito's palette; markers differ as well.
COLOURS = {
    "useralign": "#009E73",
    "useralign_loss": "#0072B2",
    "iidbest": "#E69F00",
    "oracle": "#D55E00",
    "random": "#7F7F7F",
}
MARKERS = {"useralign": "o", "useralign_loss": "s", "iidbest": "^"}
STEPS = (*range(21), *range(25, 51, 5), *range(60, 200, 10), 199)
_STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#333333",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "svg.fonttype": "none",
    "svg.hashsalt": "useralign",
    "savefig.facecolor": "white",
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Make a function draw in this package's style, leaving matplotlib's settings as they are.

    Raises
    ------
    MissingExtraError
        When the function is called and matplotlib is not installed.
    """

    @functools.wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            from matplotlib import rc_context  # noqa: PLC0415 - an extra
        except ImportError:
            raise MissingExtraError("drawing figures", "plots") from None
        with rc_context(_STYLE):
            return draw(*args, **kwargs)

    return in_style


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches; to be called from a function that is `styled`."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    return Figure(figsize=(width, height), layout="constrained")


@styled
def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, the same bytes for the same figure; return the paths."""
    paths = []
    for kind, options in (("png", {"dpi": 160}), ("svg", {"metadata": {"Date": None}})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, **options)
        paths.append(write_atomically(folder / f"{name}.{kind}", buffer.getvalue()))
    return paths


@styled
def domains_figure(cells: Cells, domains: Sequence[str], style: str = "mixed") -> Figure:
    """Draw win-rate against cost on several domains: Figure 4, and the one of unbiased pools."""
    rows = (len(domains) + 1) // 2
    columns = min(len(domains), 2)
    figure = new_figure(4.6 * columns, 2.7 * rows + 0.5)
    for place, domain in enumerate(domains):
        axes = figure.add_subplot(rows, columns, place + 1)
        mine = select(cells, domain=domain, style=style, user_kind="persona")
        draw_trade_off(axes, mine)
        axes.set_title(domain)
    _shared_legend(figure)
    return figure


@styled
def users_figure(cells: Cells, domain: str, kinds: Sequence[str]) -> Figure:
    """Draw win-rate against cost and against steps for each kind of user: Figure 3."""
    rows, columns = (2, len(kinds)) if len(kinds) > 1 else (1, 2)
    figure = new_figure(4.6 * columns, 2.7 * rows + 0.5)
    for place, kind in enumerate(kinds):
        mine = select(cells, domain=domain, style="mixed", user_kind=kind)
        first = figure.add_subplot(rows, columns, place + 1)
        draw_trade_off(first, mine)
        first.set_title(f"{_USERS.get(kind, kind)}: stopping at ε")
        second = figure.add_subplot(rows, columns, len(kinds) + place + 1)
        draw_steps(second, mine)
        second.set_title(f"{_USERS.get(kind, kind)}: a fixed number of steps")
    _shared_legend(figure)
    return figure


_USERS = {"btl": "u = BTL", "consistent": "u = Consistent", "persona": "u = Persona"}


def draw_trade_off(axes: Axes, cells: Cells) -> None:
    """Draw win-rate against interaction cost, a point for each epsilon or budget."""
    for method in ("useralign_loss", "useralign"):
        points = [p for e in EPSILONS if (p := at_threshold(cells, method, e)) is not None]
        if points:
            _line(axes, method, [cost for _, cost in points], [win for win, _ in points])
    wins = [(t, w) for t in BUDGETS if (w := at_budget(cells, "iidbest", t)) is not None]
    if wins:
        _line(axes, "iidbest", [Mean(float(t), 0.0) for t, _ in wins], [w for _, w in wins])
    _levels(axes, cells)
    axes.set_xlabel("interaction cost (questions)")


def draw_steps(axes: Axes, cells: Cells) -> None:
    """Draw win-rate after a given number of steps, stopping at nothing (footnote 2)."""
    for method in ("useralign_loss", "iidbest", "useralign"):
        wins = [(t, w) for t in STEPS if (w := at_budget(cells, method, t)) is not None]
        means = [w.mean for _, w in wins]
        axes.plot([t for t, _ in wins], means, color=COLOURS[method], label=NAMES[method])
        axes.fill_between(
            [t for t, _ in wins],
            [w.mean - w.sem for _, w in wins],
            [w.mean + w.sem for _, w in wins],
            color=COLOURS[method],
            alpha=0.18,
            linewidth=0,
        )
    _levels(axes, cells)
    axes.set_xlabel("interaction steps")


def _line(axes: Axes, method: str, x: Sequence[Mean], y: Sequence[Mean]) -> None:
    """Draw a method's points with the standard errors of both coordinates."""
    across, up = [point.mean for point in x], [point.mean for point in y]
    joined = method == "iidbest"  # the others are points, one for each epsilon
    axes.plot(across, up, color=COLOURS[method], alpha=0.9 if joined else 0.3, zorder=2)
    axes.errorbar(
        across,
        up,
        yerr=[point.sem for point in y],
        xerr=[point.sem for point in x],
        linestyle="none",
        color=COLOURS[method],
        marker=MARKERS[method],
        markeredgecolor="white",
        markeredgewidth=0.6,
        elinewidth=0.9,
        alpha=0.95,
        label=NAMES[method],
        zorder=4 if method == "useralign" else 3,
    )


def _levels(axes: Axes, cells: Cells) -> None:
    """Draw Oracle and Random as flat lines, and set the scales."""
    for method, dashes in (("oracle", (5, 2)), ("random", (2, 2))):
        win = at_budget(cells, method, 0)
        if win is not None:
            axes.axhline(
                win.mean, color=COLOURS[method], dashes=dashes, linewidth=1.3, label=NAMES[method]
            )
    axes.set_xscale("symlog", linthresh=10, linscale=1.2)
    axes.set_xticks(
        [0, 2, 5, 10, 20, 50, 100, 199], ["0", "2", "5", "10", "20", "50", "100", "199"]
    )
    axes.set_xticks([], minor=True)
    axes.set_xlim(-0.4, 235)
    axes.set_ylabel("win-rate (%)")


def _shared_legend(figure: Figure) -> None:
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        shown = dict(zip(labels, handles, strict=True)) | shown
    names = [name for name in NAMES.values() if name in shown]
    figure.legend(
        [shown[n] for n in names],
        names,
        loc="outside upper center",
        ncols=len(names) if figure.get_figwidth() > 7 else 3,
    )
