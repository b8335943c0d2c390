"""How many questions badly scaled features cost, and whether the best candidate is found.

    python -m benchmarks.scaling

One of 60 rows of 4 features is 10,000 times as long as the others; consistent people answer.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import useralign as ua
from useralign.users import RankedPersona

PEOPLE, CANDIDATES, FEATURES, FACTOR = 12, 60, 4, 1e4


def outcome(normalise: str, seed: int) -> tuple[int, bool]:
    """Return how many questions one person was asked, and whether they got their best candidate."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(CANDIDATES, FEATURES))
    rows[0] *= FACTOR
    pool = ua.Pool("?", None, rows, normalise=normalise)
    order = [pool[int(k)].label for k in np.argsort(-(rows @ draw.normal(size=FEATURES)))]
    session = ua.Session(pool, seed=seed)
    for _ in ua.simulate(session, RankedPersona(order)):
        pass
    return session.cost, session.best.label == order[0]


def main() -> None:
    """Print a line for each way of scaling."""
    warnings.simplefilter("ignore", ua.errors.ScalingWarning)
    for normalise in ("ball", "clip", "unit"):
        costs, hits = zip(*(outcome(normalise, seed) for seed in range(PEOPLE)), strict=True)
        line = f"{np.mean(costs):.1f} questions, at most {max(costs)}; best {sum(hits)} of {PEOPLE}"
        sys.stdout.write(f"{normalise:5} {line}\n")


if __name__ == "__main__":
    main()
