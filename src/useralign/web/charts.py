"""Charts of a study's progress: plain SVG, drawn here, coloured by the style sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from useralign.study.results import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from useralign.lab.paper import Mean
    from useralign.study.results import Outcome, Status

_WIDTH = 380  # what a phone shows without making letters smaller
_LABEL = 104  # the width of an arm's name


def places(status: Status) -> Markup:
    """Draw a bar for each cell: finished, active and dropped out, against what is wanted."""
    row, room = 46, _WIDTH - 64
    most = max([cell.wanted for cell in status.cells] + [_people(c) for c in status.cells] + [1])
    scale = room / most
    parts = []
    for number, cell in enumerate(status.cells):
        top = 20 + row * number
        name = f"{cell.cell.domain} · {LABELS.get(cell.cell.method, cell.cell.method)}"
        parts.append(_text(0, top - 6, f"{_short(name, 34)} · {cell.cell.condition}"))
        start = 0.0
        for kind in ("finished", "active", "dropped"):
            width = scale * getattr(cell, kind)
            parts.append(
                f'<rect class="{kind}" x="{start:.1f}" y="{top}" width="{width:.1f}" height="16"/>'
            )
            start += width
        goal = scale * cell.wanted
        parts.append(
            f'<line class="goal" x1="{goal:.1f}" x2="{goal:.1f}" y1="{top - 3}" y2="{top + 19}"/>'
        )
        parts.append(_text(_WIDTH, top + 12, f"{cell.finished} / {cell.wanted}", "end"))
    return _svg(parts, 8 + row * len(status.cells), "Places of each cell")


def over_time(finished: Sequence[float], status: Status) -> Markup:
    """Draw how many had finished by when."""
    height, left, bottom = 190, 44, 160
    if len(finished) < 2:
        return Markup("")
    begin, end = finished[0], max(finished[-1], finished[0] + 1.0)
    most = max(status.total("wanted"), len(finished))
    goal = bottom - 140 * status.total("wanted") / most
    step = max(1, len(finished) // 300)
    indices = [*range(0, len(finished), step), len(finished) - 1]
    points = " ".join(
        f"{left + (_WIDTH - left - 10) * (finished[k] - begin) / (end - begin):.1f},"
        f"{bottom - 140 * (k + 1) / most:.1f}"
        for k in indices
    )
    parts = [
        f'<line class="axis" x1="{left}" x2="{_WIDTH - 10}" y1="{bottom}" y2="{bottom}"/>',
        f'<line class="goal" x1="{left}" x2="{_WIDTH - 10}" y1="{goal:.1f}" y2="{goal:.1f}"/>',
        f'<polyline class="line" points="{points}"/>',
        _text(0, 24, str(most)),
        _text(0, bottom, "0"),
        _text(left, bottom + 18, "first finished", "quiet"),
        _text(_WIDTH - 10, bottom + 18, f"{_duration(end - begin)} later", "quiet end"),
    ]
    return _svg(parts, height, "Finished participants over time")


def rates(outcomes: Iterable[Outcome]) -> Markup:
    """Draw every win-rate with its standard error and n, the paper's beside it."""
    rows = [outcome for outcome in outcomes if outcome.rate or outcome.paper]
    groups: dict[tuple[str, str, int], list[Outcome]] = {}
    for outcome in rows:
        groups.setdefault((outcome.domain, outcome.condition, outcome.step), []).append(outcome)
    parts, top = [], 26
    below = 26 + sum(20 + 17 * len(group) for group in groups.values())
    for mark in (0, 25, 50, 75, 100):
        x = _x(mark)
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{below}"'
        parts.append(f'<line class="grid" {ends}/>')
        parts.append(_text(x, 12, f"{mark}%", "quiet middle"))
    for (domain, condition, step), group in groups.items():
        parts.append(_text(0, top + 8, f"{domain} · {condition} · t = {step}", "strong"))
        top += 20
        for outcome in group:
            label = _short(LABELS.get(outcome.method, outcome.method), 11)
            parts.append(_text(0, top + 4, f"{label} ({outcome.count})"))
            if outcome.paper:
                parts += _dot(outcome.paper, top + 4, "theirs")
            if outcome.rate:
                parts += _dot(outcome.rate, top - 3, "ours")
            top += 17
    return _svg(parts, top + 6, "Win-rates: ours filled, the paper's hollow")


def _x(percent: float) -> float:
    return _LABEL + (_WIDTH - _LABEL - 16) * percent / 100


def _dot(mean: Mean, y: float, kind: str) -> list[str]:
    low, high = _x(max(0.0, mean.mean - mean.sem)), _x(min(100.0, mean.mean + mean.sem))
    return [
        f'<line class="{kind}" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
        f'<circle class="{kind}" cx="{_x(mean.mean):.1f}" cy="{y}" r="4"/>',
    ]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _people(cell: object) -> int:
    return sum(int(getattr(cell, kind)) for kind in ("finished", "active", "dropped"))


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return "1 second" if round(seconds) == 1 else f"{seconds:.0f} seconds"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(parts: Iterable[str], height: float, title: str) -> Markup:
    inside = "".join(parts)
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{inside}</svg>'
    )
