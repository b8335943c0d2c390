"""synthetic2d: the two-dimensional domain of the paper's Figure 2, made from a seed.

It has no texts and no files: candidates are points drawn uniformly from the ball of radius 0.5.
The person is a `Consistent` user, whose preference vector is uniform on the circle of radius 3.
"""

from __future__ import annotations

import numpy as np

from useralign.pool import Pool

NAME = "synthetic2d"
DIMENSION = 2
COUNT = 20
RADIUS = 0.5


def pool(seed: int, count: int = COUNT) -> Pool:
    """Draw a pool of points.

    Parameters
    ----------
    seed : int
        The same seed gives the same points.
    count : int
        K, the number of candidates.
    """
    draw = np.random.default_rng([seed, 2])
    angles = draw.uniform(0.0, 2.0 * np.pi, count)
    lengths = RADIUS * np.sqrt(draw.uniform(0.0, 1.0, count))
    points = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return Pool.from_features(
        points, question=f"{NAME}, seed {seed}", normalise="none", embedder=NAME
    )
