"""Data and people that many tests need."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from numpy.typing import NDArray

from useralign import Pool

# Started in the background of a shell, processes ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def gaussian_features(count: int, dimension: int, seed: int) -> NDArray[np.float64]:
    """Unit directions in high dimension, a cloud in two, as the paper's domains are."""
    features = np.random.default_rng(seed).normal(size=(count, dimension))
    norms = np.linalg.norm(features, axis=1)
    scale = norms.max() if dimension == 2 else norms[:, None]
    return np.asarray(features / (2.0 * scale))


@pytest.fixture
def pool() -> Pool:
    return Pool.from_features(gaussian_features(12, 6, seed=1), question="Which?")
