"""Expectation propagation against distributions that are known, or drawn by rejection."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.methods.frugal.tastes import Array
from useralign.methods.frugal.ep import Likelihoods, propagate


def limits(
    low: list[float], high: list[float] | None = None, noise: float = 1e-3, lapse: float = 0.0
) -> Likelihoods:
    lows = np.array([low])
    highs = np.full_like(lows, np.inf) if high is None else np.array([high])
    return Likelihoods(lows, highs, np.full_like(lows, noise), np.full_like(lows, lapse))


def moments(gram: Array, likelihoods: Likelihoods) -> tuple[Array, Array, float]:
    zeros = np.zeros(likelihoods.low.shape)
    sites = propagate(gram[None], likelihoods, (zeros, zeros))
    spread = gram - gram @ sites.shrink[0] @ gram
    return gram @ sites.weights[0], spread.diagonal(), float(sites.evidence[0])


def rejected(gram: Array, likelihoods: Likelihoods) -> tuple[Array, Array, float]:
    """The same by a million draws from the prior, weighted by the likelihood."""
    random = np.random.default_rng(3)
    draws = random.multivariate_normal(np.zeros(len(gram)), gram, size=1_000_000)
    noisy = draws + likelihoods.noise * random.normal(size=draws.shape)
    inside = (noisy > likelihoods.low) & (noisy < likelihoods.high)
    weight = np.where(inside, 1.0 - likelihoods.lapse, likelihoods.lapse).prod(axis=1)
    mean = weight @ draws / weight.sum()
    return mean, weight @ (draws - mean) ** 2 / weight.sum(), math.log(weight.mean())


def test_half_a_normal_distribution() -> None:
    mean, variance, evidence = moments(np.eye(1), limits([0.0]))
    assert mean[0] == pytest.approx(math.sqrt(2 / math.pi), abs=1e-3)
    assert variance[0] == pytest.approx(1 - 2 / math.pi, abs=2e-3)
    assert evidence == pytest.approx(math.log(0.5), abs=1e-3)


@pytest.mark.parametrize("angle", [0.9, 0.5, -0.5])
def test_probability_of_a_quadrant(angle: float) -> None:
    gram = np.array([[1.0, angle], [angle, 1.0]])
    exact = 0.25 + math.asin(angle) / (2 * math.pi)
    assert moments(gram, limits([0.0, 0.0]))[2] == pytest.approx(math.log(exact), abs=0.05)


@pytest.mark.parametrize(
    "likelihoods",
    [
        limits([0.0] * 4, noise=0.1, lapse=0.01),
        limits([0.0] * 4, noise=0.8, lapse=0.12),
        limits([-0.4, 0.0, -0.4, 0.0], [0.4, np.inf, 0.4, np.inf], noise=0.2, lapse=0.02),
        limits([0.5, -0.7, 0.2, 0.0], noise=0.3, lapse=0.05),  # as with a prior mean
    ],
    ids=["consistent", "noisy", "equal", "shifted"],
)
def test_against_rejection(likelihoods: Likelihoods) -> None:
    a = np.random.default_rng(1).normal(size=(4, 6))
    gram = a @ a.T / 6
    ours, theirs = moments(gram, likelihoods), rejected(gram, likelihoods)
    spread = np.sqrt(gram.diagonal())
    assert np.abs(ours[0] - theirs[0]).max() < 0.06 * spread.max()
    assert np.abs(np.sqrt(ours[1]) - np.sqrt(theirs[1])).max() < 0.08 * spread.max()
    assert ours[2] == pytest.approx(theirs[2], abs=0.1)


def test_contradictions_cancel_out() -> None:
    gram = np.array([[1.0, -1.0], [-1.0, 1.0]])  # the same pair, answered both ways
    mean, variance, _ = moments(gram, limits([0.0, 0.0], noise=0.1, lapse=0.05))
    assert np.abs(mean).max() < 1e-3
    assert np.isfinite(variance).all()


def test_it_settles_where_it_began_elsewhere() -> None:
    a = np.random.default_rng(2).normal(size=(15, 5))
    gram = (a @ a.T / 5)[None]
    zeros, likelihoods = np.zeros((1, 15)), limits([0.0] * 15, noise=0.1, lapse=0.01)
    cold = propagate(gram, likelihoods, (zeros, zeros))
    warm = propagate(gram, likelihoods, (zeros + 0.5, zeros + 0.2))
    assert np.abs(gram @ cold.weights[0] - gram @ warm.weights[0]).max() < 0.01
    assert cold.evidence == pytest.approx(warm.evidence, abs=0.02)
