"""A population of people with a known structure, written as records of people.

Tastes are `theta_j = mean + L z_j`, a common one and a few directions in which people differ. An
item also has a popularity that its features do not show. Ratings are utilities with noise, on a
scale from 1 to 5; choices go by the utilities with errors, and close pairs are called equal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

EQUAL = 0.2  # the share of pairs that are called equal


@dataclass(frozen=True)
class Population:
    """What is true of the people, shapes (M, d), (J, d) and (J, M), and what was recorded."""

    features: NDArray[np.float64]
    tastes: NDArray[np.float64]
    utilities: NDArray[np.float64]
    records: dict[str, list[dict[str, Any]]]

    def write(self, folder: Path) -> Path:
        """Write the records into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        for stem, lines in self.records.items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{stem}.jsonl").write_text(text)
        return folder


def population(
    people: int = 6,
    items: int = 12,
    dimension: int = 6,
    *,
    rank: int = 2,
    pairs: int = 20,
    rating_noise: float = 0.1,
    errors: float = 0.1,
    seed: int = 0,
) -> Population:
    """Draw a population.

    Parameters
    ----------
    people, items, dimension : int
        J, M and d.
    rank : int
        In how many directions people differ.
    pairs : int
        How many choices are recorded of each person.
    rating_noise : float
        Standard deviation, where that of utilities is 1.
    errors : float
        The share of choices that are turned round.
    seed : int
    """
    draw = np.random.default_rng([seed, 17])
    features = draw.normal(size=(items, dimension))
    directions = draw.normal(size=(dimension, rank))
    tastes = draw.normal(size=dimension) + draw.normal(size=(people, rank)) @ directions.T
    utilities = tastes @ features.T + draw.normal(size=items)
    utilities /= utilities.std(axis=1, keepdims=True)
    noisy = utilities + rating_noise * draw.normal(size=utilities.shape)
    records = {
        "items": [{"id": f"i{m}", "features": row.tolist()} for m, row in enumerate(features)],
        "ratings": [
            {"person": f"p{j}", "item": f"i{m}", "rating": round(float(_scale(row)[m]), 3)}
            for j, row in enumerate(noisy)
            for m in range(items)
        ],
        "answers": [
            answer
            for j, row in enumerate(utilities)
            for answer in _answers(f"p{j}", row, pairs, errors, draw)
        ],
    }
    return Population(features, tastes, utilities, records)


def _scale(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values from 1, the lowest, to 5."""
    return np.asarray(1.0 + 4.0 * (row - row.min()) / np.ptp(row))


def _answers(
    person: str, row: NDArray[np.float64], pairs: int, errors: float, draw: np.random.Generator
) -> list[dict[str, Any]]:
    """Record choices; the closest fifth of the pairs is called equal."""
    every = np.array([(i, j) for i in range(len(row)) for j in range(i)])
    pairs_asked = every[draw.permutation(len(every))[:pairs]]
    gaps = row[pairs_asked[:, 0]] - row[pairs_asked[:, 1]]
    close = np.abs(gaps) <= np.quantile(np.abs(gaps), EQUAL)
    wrong = draw.random(len(pairs_asked)) < errors
    choices = []
    for (one, other), gap, equal, slip in zip(pairs_asked, gaps, close, wrong, strict=True):
        better = one if (gap > 0) != slip else other
        winner = None if equal else f"i{better}"
        choices.append(
            {"person": person, "first": f"i{one}", "second": f"i{other}", "winner": winner}
        )
    return choices
