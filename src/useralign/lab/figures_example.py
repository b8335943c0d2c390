"""A whole interaction in the plane, step by step, with the texts: the appendix's worked example."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from useralign.lab.figures import COLOURS, new_figure, styled
from useralign.lab.figures_space import draw_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from useralign.lab.versionspace import Step
    from useralign.pool import Pool

_WRAP = 34


@styled
def example_figure(
    trail: Sequence[Step], pool: Pool, truth: NDArray[np.float64] | None = None
) -> Figure:
    """Draw every step of an interaction above the two answers compared in it.

    Parameters
    ----------
    trail : sequence of Step
        Its last step, where nothing is left to ask, shows the answer.
    pool : Pool
        Of dimension 2, with texts.
    truth : ndarray, shape (2,), optional
        The user's preference vector.
    """
    figure = new_figure(2.75 * len(trail), 5.5)
    grid = figure.add_gridspec(2, len(trail), height_ratios=[1.0, 1.05])
    for column, step in enumerate(trail):
        picture = figure.add_subplot(grid[0, column])
        draw_step(picture, step, pool.features, truth=truth)
        picture.set_title(_title(step), loc="center")
        words = figure.add_subplot(grid[1, column])
        _write(words, step, pool)
    _name_axes(figure.axes[0], pool)
    figure.suptitle(f"“{pool.question}”", fontsize=11)
    return figure


def _title(step: Step) -> str:
    if step.challenger is None:
        return f"after {step.t} answers: done"
    return f"question {step.t + 1}, B = {step.bound:.2f}"


def _write(axes: Axes, step: Step, pool: Pool) -> None:
    """Write the answers compared, the one preferred in a green frame; or the answer found."""
    axes.set_axis_off()
    if step.challenger is None:
        _box(axes, 0.98, "The answer", pool[step.incumbent].text, preferred=True)
        return
    for top, name, place in (
        (0.98, "Incumbent", step.incumbent),
        (0.48, "Challenger", step.challenger),
    ):
        _box(axes, top, name, pool[place].text, preferred=place == step.winner)


def _box(axes: Axes, top: float, name: str, text: str, *, preferred: bool) -> None:
    colour = COLOURS["useralign"] if preferred else "#B0B0B0"
    label = f"{name}{', preferred' if preferred and name != 'The answer' else ''}:\n"
    axes.text(
        0.5,
        top,
        label + textwrap.fill(text, _WRAP),
        transform=axes.transAxes,
        ha="center",
        va="top",
        fontsize=7.2,
        linespacing=1.25,
        bbox={
            "boxstyle": "round,pad=0.5",
            "facecolor": "#EAF6F1" if preferred else "white",
            "edgecolor": colour,
            "linewidth": 1.5 if preferred else 0.8,
        },
    )


def _name_axes(axes: Axes, pool: Pool) -> None:
    """Name the two features at the edge of the first picture."""
    names = (pool.embedder or "").removeprefix("axes: ").split(", ")
    if len(names) != 2:
        return
    style: Any = {"fontsize": 7.5, "color": "#555555", "transform": axes.transAxes}
    axes.text(0.5, -0.02, f"{names[0]} →", ha="center", va="top", **style)
    axes.text(-0.02, 0.5, f"{names[1]} →", ha="right", va="center", rotation=90, **style)
