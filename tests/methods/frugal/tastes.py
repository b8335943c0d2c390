"""Pools and people for the tests of the frugal method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from useralign.methods.frugal import Frugal, FrugalRun

Array = NDArray[np.float64]


def pool(seed: int, count: int = 12, dimension: int = 6) -> Array:
    features = np.random.default_rng([seed, 1]).normal(size=(count, dimension))
    unit: Array = 0.5 * features / np.linalg.norm(features, axis=1, keepdims=True)
    return unit


def taste(features: Array, seed: int) -> Array:
    """Utilities that are linear in the features, of spread 1."""
    worth = features @ np.random.default_rng([seed, 2]).normal(size=features.shape[1])
    scaled: Array = (worth - worth.mean()) / worth.std()
    return scaled


def talk(
    method: Frugal, features: Array, worth: Array, steps: int, wrong: tuple[int, ...] = ()
) -> FrugalRun:
    """Let somebody answer by their utilities, but for the steps at which they slip."""
    run = method.start(features, 0)
    for step in range(steps):
        first, second, _ = run.decide()
        if second is None:
            break
        better = first if worth[first] > worth[second] else second
        run.add(first, second, first + second - better if step in wrong else better)
    return run
