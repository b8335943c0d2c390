"""Pictures of version spaces: one a step, strips of them, and how fast they shrink (Figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.lab.figures import COLOURS, new_figure, styled
from useralign.lab.versionspace_curves import SETS, Curves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from useralign.lab.versionspace import Step

_INCUMBENT, _CHALLENGER = "#0072B2", "#D55E00"
_SPREAD = 0.92  # the outermost candidate is drawn at this part of the radius
_TITLES = {
    "area": "area of the confidence set",
    "viable": "viable candidates",
    "bound": "bound B(t)",
}


def draw_step(
    axes: Axes,
    step: Step,
    features: NDArray[np.float64],
    *,
    colour: str = COLOURS["useralign"],
    truth: NDArray[np.float64] | None = None,
) -> None:
    """Draw one step: the disc, the half-planes, the confidence set and the candidates.

    Parameters
    ----------
    axes : Axes
    step : Step
    features : ndarray, shape (K, 2)
        Drawn as directions, stretched to the disc.
    colour : str
        Of the confidence set.
    truth : ndarray, shape (2,), optional
        The user's preference vector, drawn as a star.
    """
    radius = step.region.norm_bound
    angles = np.linspace(0.0, 2.0 * np.pi, 361)
    axes.fill(radius * np.cos(angles), radius * np.sin(angles), color="#F1F1F1", zorder=0)
    outline = step.region.outline()
    axes.fill(*outline.T, facecolor=colour, alpha=0.28, zorder=1)
    axes.plot(*np.vstack([outline, outline[:1]]).T, color=colour, linewidth=1.2, zorder=2)
    if step.region.cone:
        _draw_cuts(axes, step)
    axes.plot(radius * np.cos(angles), radius * np.sin(angles), color="#888888", linewidth=0.8)
    _draw_candidates(axes, step, features * (_SPREAD * radius / _reach(features)))
    if truth is not None:
        axes.plot(
            *truth, marker="*", color="black", markersize=11, markeredgecolor="white", zorder=7
        )
    axes.set_xlim(-1.08 * radius, 1.08 * radius)
    axes.set_ylim(-1.08 * radius, 1.08 * radius)
    axes.set_aspect("equal")
    axes.set_axis_off()


@styled
def strip(
    trails: Mapping[str, Sequence[Step]],
    features: NDArray[np.float64],
    steps: Mapping[str, Sequence[int]],
    truth: NDArray[np.float64] | None = None,
) -> Figure:
    """Draw several steps side by side, a row for each method: Figure 2a and 2b.

    Parameters
    ----------
    trails : mapping of str to sequence of Step
        By method.
    features : ndarray, shape (K, 2)
    steps : mapping of str to sequence of int
        The numbers of answers at which to draw, equally many for each method.
    truth : ndarray, shape (2,), optional
    """
    width = max(len(times) for times in steps.values())
    figure = new_figure(2.1 * width, 2.35 * len(trails) + 0.45)
    for row, (method, trail) in enumerate(trails.items()):
        for column, t in enumerate(steps[method]):
            axes = figure.add_subplot(len(trails), width, row * width + column + 1)
            step = next((s for s in trail if s.t == t), trail[-1])
            draw_step(axes, step, features, colour=COLOURS[method], truth=truth)
            left = f"{SETS[method]}, " if column == 0 else ""
            axes.set_title(f"{left}t = {t}", loc="center", fontweight="normal", fontsize=9)
    _legend(figure, truth is not None)
    return figure


@styled
def step_figure(
    step: Step, features: NDArray[np.float64], truth: NDArray[np.float64] | None = None
) -> Figure:
    """Draw one step alone; parameters as for `draw_step`."""
    figure = new_figure(4.2, 4.6)
    axes = figure.add_subplot()
    draw_step(axes, step, features, truth=truth)
    axes.set_title(f"t = {step.t}, B(t) = {step.bound:.2f}, {len(step.viable)} viable")
    return figure


@styled
def curves_figure(curves: Curves) -> Figure:
    """Draw what is left of the set, of the pool and of the bound after t answers: Figure 2c."""
    figure = new_figure(10.2, 2.9)
    for place, (measure, title) in enumerate(_TITLES.items()):
        axes = figure.add_subplot(1, 3, place + 1)
        for method, name in SETS.items():
            values = curves.values[method, measure]
            mean = np.array([value.mean for value in values])
            sem = np.array([value.sem for value in values])
            axes.plot(curves.steps, mean, color=COLOURS[method], label=name)
            axes.fill_between(
                curves.steps, mean - sem, mean + sem, color=COLOURS[method], alpha=0.2, linewidth=0
            )
        axes.set_title(title)
        axes.set_xlabel("interaction steps t")
        axes.set_ylim(bottom=0)
        axes.set_xscale("symlog", linthresh=10, linscale=1.2)
        axes.set_xticks([0, 2, 5, 10, 20, 50, 100], ["0", "2", "5", "10", "20", "50", "100"])
        axes.set_xticks([], minor=True)
        axes.set_xlim(0, curves.steps[-1])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def _draw_cuts(axes: Axes, step: Step) -> None:
    """Draw the border of each answer's half-plane, the newest strongest."""
    radius = step.region.norm_bound
    for place, row in enumerate(step.region.rows):
        along = np.array([-row[1], row[0]]) * (radius / (np.linalg.norm(row) or 1.0))
        newest = place == len(step.region.rows) - 1
        axes.plot(
            [-along[0], along[0]],
            [-along[1], along[1]],
            color="#444444" if newest else "#B5B5B5",
            linewidth=1.0 if newest else 0.7,
            linestyle="--",
            zorder=2,
        )


def _draw_candidates(axes: Axes, step: Step, points: NDArray[np.float64]) -> None:
    viable = np.zeros(len(points), dtype=bool)
    viable[list(step.viable)] = True
    out, left = points[~viable], points[viable]
    axes.plot(out[:, 0], out[:, 1], "o", color="#A0A0A0", markerfacecolor="none", markersize=3.6)
    axes.plot(left[:, 0], left[:, 1], "o", color="#333333", markersize=4)
    marks = [(step.incumbent, "o", _INCUMBENT)]
    if step.challenger is not None:
        marks.append((step.challenger, "D", _CHALLENGER))
    for place, marker, colour in marks:
        x, y = points[place]
        axes.plot([x], [y], marker, color=colour, markersize=7.2, markeredgecolor="white", zorder=6)


def _legend(figure: Figure, with_truth: bool) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    parts = [
        ("incumbent", "o", _INCUMBENT, 7.0, _INCUMBENT),
        ("challenger", "D", _CHALLENGER, 6.0, _CHALLENGER),
        ("viable candidate", "o", "#333333", 4.0, "#333333"),
        ("ruled out", "o", "#A0A0A0", 4.0, "none"),
        ("the user's θ*", "*", "black", 10.0, "black"),
    ]
    handles = [
        Line2D([], [], linestyle="none", marker=m, color=c, markersize=s, markerfacecolor=f)
        for _, m, c, s, f in (parts if with_truth else parts[:-1])
    ]
    names = [name for name, *_ in parts][: len(handles)]
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))


def _reach(features: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(features, axis=1).max()) or 1.0
