"""Figures: one clean style, colours that colour-blind people can tell apart, PNG and SVG.

The paper's trade-offs (Figures 3 and 4), version spaces step by step and how fast they shrink
(Figure 2), and the appendix's worked example. matplotlib is imported when a figure is drawn, and
never needs a screen.
"""

from __future__ import annotations

import functools
import io
import textwrap
import tomllib
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from useralign.extras import import_extra
from useralign.files import write_atomically
from useralign.lab.cell import with_dimension
from useralign.lab.journal import select
from useralign.lab.metrics import Cells, at_budget, at_threshold
from useralign.lab.paper import BUDGETS, EPSILONS, Mean
from useralign.lab.tables import NAMES
from useralign.lab.versionspace import SETS
from useralign.lab.wording import DATA, load_words, words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from useralign.lab.theory import Coverage, Ending
    from useralign.lab.versionspace import Curves, Frame
    from useralign.pool import Pool

P = ParamSpec("P")
R = TypeVar("R")

_STYLE = tomllib.loads((DATA / "figures.toml").read_text(encoding="utf-8"))
LOOKS: dict[str, list[str]] = _STYLE["looks"]  # colour and marker of each method
COLOURS = {method: colour for method, (colour, _) in LOOKS.items()}
STEPS = (*range(21), *range(25, 51, 5), *range(60, 200, 10), 199)
_INCUMBENT, _CHALLENGER = "#0072B2", "#D55E00"
_SPREAD = 0.92  # the outermost candidate is drawn at this part of the radius
_WRAP = 34  # characters of a line in the worked example


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Make a function draw in this package's style, leaving matplotlib's settings as they are.

    Raises MissingExtraError when the function is called and matplotlib is not installed.
    """

    @functools.wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        matplotlib = import_extra("matplotlib", "drawing figures", "plots")
        with matplotlib.rc_context(_STYLE["settings"]):
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
def domains_figure(
    cells: Cells, domains: Sequence[str], style: str = "mixed", kind: str = "persona"
) -> Figure:
    """Draw win-rate against cost on several domains: Figure 4, and the one of unbiased pools."""
    rows = (len(domains) + 1) // 2
    columns = min(len(domains), 2)
    figure = new_figure(4.6 * columns, 2.7 * rows + 0.5)
    for index, domain in enumerate(domains):
        axes = figure.add_subplot(rows, columns, index + 1)
        ours = select(cells, domain=domain, style=style, user_kind=kind)
        draw_trade_off(axes, ours)
        axes.set_title(with_dimension(domain))
    _shared_legend(figure)
    return figure


@styled
def users_figure(cells: Cells, domain: str, kinds: Sequence[str]) -> Figure:
    """Draw win-rate against cost and against steps for each kind of user: Figure 3."""
    rows, columns = (2, len(kinds)) if len(kinds) > 1 else (1, 2)
    figure = new_figure(4.6 * columns, 2.7 * rows + 0.5)
    for index, kind in enumerate(kinds):
        ours = select(cells, domain=domain, style="mixed", user_kind=kind)
        first = figure.add_subplot(rows, columns, index + 1)
        draw_trade_off(first, ours)
        first.set_title(f"{words('user_kinds', kind)}: stopping at ε")
        second = figure.add_subplot(rows, columns, len(kinds) + index + 1)
        draw_steps(second, ours)
        second.set_title(f"{words('user_kinds', kind)}: a fixed number of steps")
    _shared_legend(figure)
    return figure


@styled
def theory_figure(coverages: Sequence[Coverage], endings: Sequence[Ending]) -> Figure:
    """Draw the loss of the truth below beta_t, and regrets at the end below epsilon."""
    figure = new_figure(4.6 * (len(coverages) + 1), 3.2)
    for index, one in enumerate(coverages):
        axes = figure.add_subplot(1, len(coverages) + 1, index + 1)
        steps = np.arange(1, one.excess.shape[1] + 1)
        low, middle, high = np.quantile(one.excess, (0.05, 0.5, 0.95), axis=0)
        axes.fill_between(steps, low, high, color=COLOURS["useralign"], alpha=0.2, linewidth=0)
        axes.plot(steps, middle, color=COLOURS["useralign"], label="excess, median and 90%")
        axes.plot(steps, one.excess.max(axis=0), color=COLOURS["iidbest"], label="the largest")
        axes.plot(steps, one.width, color=COLOURS["useralign_loss"], label="β_t")
        axes.set_yscale("log")
        axes.set_title(f"d = {one.dimension}: {one.covered} of {len(one.excess)} covered")
        axes.set_xlabel("answers")
        axes.legend(fontsize=7)
    axes = figure.add_subplot(1, len(coverages) + 1, len(coverages) + 1)
    epsilons = sorted({e.epsilon for e in endings})
    for position, epsilon in enumerate(epsilons):
        regrets = np.sort([e.regret for e in endings if e.epsilon == epsilon])
        across = position + np.linspace(-0.35, 0.35, len(regrets))
        axes.scatter(across, regrets, s=9, color=COLOURS["useralign"])
        axes.hlines(epsilon, position - 0.42, position + 0.42, color=COLOURS["useralign_loss"])
    axes.set_xticks(range(len(epsilons)), [f"ε = {epsilon:g}" for epsilon in epsilons])
    axes.set_title("regret at the end, below ε")
    return figure


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
        draw_band(axes, wins, 0.18, color=COLOURS[method], label=NAMES[method])
    _levels(axes, cells)
    axes.set_xlabel("interaction steps")


def draw_band(axes: Axes, points: Sequence[tuple[int, Mean]], alpha: float, **look: Any) -> None:
    """Draw a line through means over steps, and a band of one standard error around it.

    `look` is that of the line: its color, label and marker; `alpha` is of the band.
    """
    steps = [t for t, _ in points]
    mean = np.array([value.mean for _, value in points])
    sem = np.array([value.sem for _, value in points])
    axes.plot(steps, mean, **look)
    axes.fill_between(steps, mean - sem, mean + sem, color=look["color"], alpha=alpha, linewidth=0)


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
        marker=LOOKS[method][1],
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
    _scale_steps(axes, (0, 2, 5, 10, 20, 50, 100, 199))
    axes.set_xlim(-0.4, 235)
    axes.set_ylabel("win-rate (%)")


def _scale_steps(axes: Axes, ticks: Sequence[int]) -> None:
    """Scale the axis of steps: even up to 10, then by the logarithm."""
    axes.set_xscale("symlog", linthresh=10, linscale=1.2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


def _shared_legend(figure: Figure) -> None:
    handle_of: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        handle_of = dict(zip(labels, handles, strict=True)) | handle_of
    names = [name for name in NAMES.values() if name in handle_of]
    figure.legend(
        [handle_of[n] for n in names],
        names,
        loc="outside upper center",
        ncols=len(names) if figure.get_figwidth() > 7 else 3,
    )


def draw_frame(
    axes: Axes,
    frame: Frame,
    features: NDArray[np.float64],
    truth: NDArray[np.float64],
    colour: str = COLOURS["useralign"],
) -> None:
    """Draw one frame: the disc, the half-planes, the confidence set and the candidates.

    Features, shape (K, 2), are drawn as directions, stretched to the disc; the truth, shape (2,),
    is the user's preference vector, a star.
    """
    radius = frame.region.norm_bound
    angles = np.linspace(0.0, 2.0 * np.pi, 361)
    axes.fill(radius * np.cos(angles), radius * np.sin(angles), color="#F1F1F1", zorder=0)
    outline = frame.region.outline()
    axes.fill(*outline.T, facecolor=colour, alpha=0.28, zorder=1)
    axes.plot(*np.vstack([outline, outline[:1]]).T, color=colour, linewidth=1.2, zorder=2)
    if frame.region.cone:
        _draw_cuts(axes, frame)
    axes.plot(radius * np.cos(angles), radius * np.sin(angles), color="#888888", linewidth=0.8)
    longest = float(np.linalg.norm(features, axis=1).max()) or 1.0
    _draw_candidates(axes, frame, features * (_SPREAD * radius / longest))
    axes.plot(*truth, marker="*", color="black", markersize=11, markeredgecolor="white", zorder=7)
    axes.set_xlim(-1.08 * radius, 1.08 * radius)
    axes.set_ylim(-1.08 * radius, 1.08 * radius)
    axes.set_aspect("equal")
    axes.set_axis_off()


@styled
def strip(
    trails: Mapping[str, Sequence[Frame]],
    features: NDArray[np.float64],
    steps: Mapping[str, Sequence[int]],
    truth: NDArray[np.float64],
) -> Figure:
    """Draw several steps side by side, a row for each method: Figure 2a and 2b.

    `steps` has the numbers of answers at which to draw, equally many for each method; features have
    shape (K, 2), the truth (2,).
    """
    width = max(len(times) for times in steps.values())
    figure = new_figure(2.1 * width, 2.35 * len(trails) + 0.45)
    for row, (method, trail) in enumerate(trails.items()):
        for column, t in enumerate(steps[method]):
            axes = figure.add_subplot(len(trails), width, row * width + column + 1)
            frame = next((s for s in trail if s.t == t), trail[-1])
            draw_frame(axes, frame, features, truth, COLOURS[method])
            left = f"{SETS[method]}, " if column == 0 else ""
            axes.set_title(f"{left}t = {t}", loc="center", fontweight="normal", fontsize=9)
    _legend(figure)
    return figure


@styled
def curves_figure(curves: Curves) -> Figure:
    """Draw what is left of the set, of the pool and of the bound after t answers: Figure 2c."""
    figure = new_figure(10.2, 2.9)
    for column, (measure, title) in enumerate(load_words()["measures"].items()):
        axes = figure.add_subplot(1, 3, column + 1)
        for method, name in SETS.items():
            points = list(zip(curves.steps, curves.values[method, measure], strict=True))
            draw_band(axes, points, 0.2, color=COLOURS[method], label=name)
        axes.set_title(title)
        axes.set_xlabel("interaction steps t")
        axes.set_ylim(bottom=0)
        _scale_steps(axes, (0, 2, 5, 10, 20, 50, 100))
        axes.set_xlim(0, curves.steps[-1])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def _draw_cuts(axes: Axes, frame: Frame) -> None:
    """Draw the border of each answer's half-plane, the newest strongest."""
    radius = frame.region.norm_bound
    for index, row in enumerate(frame.region.rows):
        along = np.array([-row[1], row[0]]) * (radius / (np.linalg.norm(row) or 1.0))
        newest = index == len(frame.region.rows) - 1
        axes.plot(
            [-along[0], along[0]],
            [-along[1], along[1]],
            color="#444444" if newest else "#B5B5B5",
            linewidth=1.0 if newest else 0.7,
            linestyle="--",
            zorder=2,
        )


def _draw_candidates(axes: Axes, frame: Frame, points: NDArray[np.float64]) -> None:
    viable = np.zeros(len(points), dtype=bool)
    viable[list(frame.viable)] = True
    out, left = points[~viable], points[viable]
    axes.plot(out[:, 0], out[:, 1], "o", color="#A0A0A0", markerfacecolor="none", markersize=3.6)
    axes.plot(left[:, 0], left[:, 1], "o", color="#333333", markersize=4)
    marks = [(frame.incumbent, "o", _INCUMBENT)]
    if frame.challenger is not None:
        marks.append((frame.challenger, "D", _CHALLENGER))
    for index, marker, colour in marks:
        x, y = points[index]
        axes.plot([x], [y], marker, color=colour, markersize=7.2, markeredgecolor="white", zorder=6)


def _legend(figure: Figure) -> None:
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
        for _, m, c, s, f in parts
    ]
    names = [name for name, *_ in parts]
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))


@styled
def example_figure(trail: Sequence[Frame], pool: Pool, truth: NDArray[np.float64]) -> Figure:
    """Draw every step of an interaction above the two answers compared in it.

    The last frame, where nothing is left to ask, shows the answer. The pool has two dimensions and
    texts; the truth, shape (2,), is the user's preference vector.
    """
    figure = new_figure(2.75 * len(trail), 5.5)
    grid = figure.add_gridspec(2, len(trail), height_ratios=[1.0, 1.05])
    for column, frame in enumerate(trail):
        picture = figure.add_subplot(grid[0, column])
        draw_frame(picture, frame, pool.features, truth)
        picture.set_title(_title(frame), loc="center")
        words = figure.add_subplot(grid[1, column])
        _write(words, frame, pool)
    _name_axes(figure.axes[0], pool)
    figure.suptitle(f"“{pool.question}”", fontsize=11)
    return figure


@styled
def walk_figure(pairs: Sequence[tuple[str, str, bool]], result: str, title: str) -> Figure:
    """Draw an interaction over pictures: each pair with the preferred one framed, and the result.

    A pair has the files of both pictures, and whether the first was preferred; `result` is a file.
    """
    image = import_extra("PIL.Image", "drawing pictures", "vision")
    rows = (len(pairs) + 2) // 3
    figure = new_figure(11.0, 1.75 * rows + 0.8)
    grid = figure.add_gridspec(rows, 8, width_ratios=[1, 1, 1, 1, 1, 1, 0.15, 2])
    for number, (first, second, won) in enumerate(pairs):
        row, column = divmod(number, 3)
        for side, (path, preferred) in enumerate(((first, won), (second, not won))):
            axes = figure.add_subplot(grid[row, 2 * column + side])
            _show_picture(axes, image.open(path), preferred)
            if side == 0:
                axes.set_title(f"t = {number + 1}", fontsize=8)
    axes = figure.add_subplot(grid[:, 7])
    _show_picture(axes, image.open(result), preferred=True)
    axes.set_title("The result", fontsize=9)
    figure.suptitle(title, fontsize=10)
    return figure


def _show_picture(axes: Axes, picture: Any, preferred: bool) -> None:
    axes.imshow(np.asarray(picture.convert("RGB").resize((192, 192))))
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(preferred)
        spine.set_color(COLOURS["iidbest"])
        spine.set_linewidth(3.0)


def _title(frame: Frame) -> str:
    if frame.challenger is None:
        return f"after {frame.t} answers: done"
    return f"question {frame.t + 1}, B = {frame.bound:.2f}"


def _write(axes: Axes, frame: Frame, pool: Pool) -> None:
    """Write the answers compared, the one preferred in a green frame; or the answer found."""
    axes.set_axis_off()
    if frame.challenger is None:
        _box(axes, 0.98, "The answer", pool[frame.incumbent].text, preferred=True)
        return
    for top, name, index in (
        (0.98, "Incumbent", frame.incumbent),
        (0.48, "Challenger", frame.challenger),
    ):
        _box(axes, top, name, pool[index].text, preferred=index == frame.winner)


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
