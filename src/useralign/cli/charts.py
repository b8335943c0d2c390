"""A pool drawn with characters: a list, and a map in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from useralign.cli.screens import clean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.pool import Pool

_SIGNS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def listing(pool: Pool) -> Table:
    """List the answers with the signs they have on the map."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for candidate in pool:
        origin = candidate.interest or candidate.source or ""
        text = clean(str(candidate), 300)
        table.add_row(_sign(candidate.index), Text(clean(origin, 24)), Text(text))
    return table


def plane(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions in which features spread most, shape (K, 2)."""
    centred = features - features.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(features), 2))
    width = min(2, len(sizes))
    flat[:, :width] = left[:, :width] * sizes[:width]
    return flat


def scatter(pool: Pool, width: int, height: int = 18) -> Panel:
    """Draw the candidates as signs on a map: near is alike."""
    points = plane(pool.features)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    cells = (points - low) / span * (width - 5, height - 1)
    grid = [[" "] * (width - 4) for _ in range(height)]
    for index, (x, y) in enumerate(np.rint(cells).astype(int)):
        grid[height - 1 - y][x] = "*" if grid[height - 1 - y][x] != " " else _sign(index)
    drawn = "\n".join("".join(row) for row in grid)
    return Panel(Text(drawn), title="near is alike", border_style="dim", width=width)


def _sign(index: int) -> str:
    return _SIGNS[index] if index < len(_SIGNS) else "+"
