"""synthetic2d: the two-dimensional domain of the paper's Figure 2, built from a seed.

It has no texts and no files: candidates are points drawn uniformly from the ball of radius 0.5.
The person is a `Consistent` user, whose preference vector is uniform on the circle of radius 3.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from useralign.domains.questions import Domain, Question
from useralign.pool import Candidate, Pool

NAME = "synthetic2d"
DIMENSION = 2
COUNT = 20
RADIUS = 0.5


def pool(seed: int, count: int = COUNT) -> Pool:
    """Draw a pool of `count` points, the same for the same seed."""
    draw = np.random.default_rng([seed, 2])
    angles = draw.uniform(0.0, 2.0 * np.pi, count)
    lengths = RADIUS * np.sqrt(draw.uniform(0.0, 1.0, count))
    points = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return Pool.from_features(
        points, question=f"{NAME}, seed {seed}", normalise="none", embedder=NAME
    )


@cache
def domain(count: int = 10) -> Domain:
    """Return the domain: pools of seeds 0, 1, ... as questions whose features are x and y.

    There are no personas; users are drawn, consistent or BTL. The baseline is the ball's centre.
    """
    questions = tuple(_question(seed) for seed in range(count))
    return Domain(NAME, "Points in the plane", "text", DIMENSION, questions)


def _question(seed: int) -> Question:
    candidates = tuple(
        Candidate(id=f"p{k:02}", source="unbiased", meta={"x": float(x), "y": float(y)})
        for k, (x, y) in enumerate(pool(seed).features)
    )
    centre = Candidate(id="baseline", meta={"x": 0.0, "y": 0.0})
    name = f"synthetic-{seed:02}"
    return Question(name, f"{NAME}, seed {seed}", centre, candidates, (), axes=("x", "y"))
