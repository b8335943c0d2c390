"""The sampler against known distributions, and whether its chains mix."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import sqrtm

from tests.methods.frugal.tastes import Array, pool, talk, taste
from useralign.methods.frugal import Frugal
from useralign.methods.frugal.ep import Likelihoods
from useralign.methods.frugal.evidence import BeliefFrame, Evidence, Observation
from useralign.methods.frugal.sampling import Sampler, _shared, gibbs


def above_zero(count: int, noise: float = 0.0, lapse: float = 0.0) -> Likelihoods:
    zeros = np.zeros((1, count))
    return Likelihoods(zeros, zeros + np.inf, zeros + noise, zeros + lapse)


def chains(
    covariance: Array,
    likelihoods: Likelihoods,
    *,
    count: int = 2000,
    sweeps: int = 30,
    seed: int = 0,
) -> Array:
    random = np.random.default_rng(seed)
    inverse: Array = np.array([np.linalg.inv(covariance)], dtype=np.float64)
    hypothesis = np.zeros(count, dtype=np.intp)
    lines = random.multivariate_normal(np.zeros(len(covariance)), covariance, (sweeps, count))
    start = np.ones((count, len(covariance)))
    return gibbs(start, lines, inverse, hypothesis, likelihoods, random=random)


def test_half_a_normal_distribution() -> None:
    draws = chains(np.eye(1), above_zero(1), count=20_000, sweeps=2)
    assert draws.min() > 0
    assert draws.mean() == pytest.approx(math.sqrt(2 / math.pi), abs=0.02)
    assert draws.var() == pytest.approx(1 - 2 / math.pi, abs=0.02)


def test_a_slip_leaves_its_share_outside() -> None:
    draws = chains(np.eye(1), above_zero(1, lapse=0.1), count=20_000, sweeps=2)
    assert (draws < 0).mean() == pytest.approx(0.1, abs=0.01)


def test_an_interval() -> None:
    likelihoods = above_zero(1)._replace(low=np.array([[-0.4]]), high=np.array([[0.4]]))
    draws = chains(np.eye(1), likelihoods, count=20_000, sweeps=2)
    assert np.abs(draws).max() <= 0.4
    assert draws.var() == pytest.approx(0.16 / 3, rel=0.05)


def test_against_rejection() -> None:
    a = np.random.default_rng(5).normal(size=(4, 7))
    covariance = a @ a.T / 7 + 0.01 * np.eye(4)
    proposals = np.random.default_rng(6).multivariate_normal(np.zeros(4), covariance, size=400_000)
    exact = proposals[(proposals > 0).all(axis=1)]
    draws = chains(covariance, above_zero(4), count=8000, sweeps=40)
    assert np.abs(draws.mean(axis=0) - exact.mean(axis=0)).max() < 0.03
    assert np.abs(np.cov(draws.T) - np.cov(exact.T)).max() < 0.04


def test_chains_mix_where_constraints_are_nearly_the_same() -> None:
    random = np.random.default_rng(7)
    common = random.normal(size=5)  # twenty answers to nearly one and the same question
    rows: Array = common + 0.15 * random.normal(size=(20, 5))
    covariance: Array = rows @ rows.T / 5 + 0.1**2 * np.eye(20)
    inverse: Array = np.array([np.linalg.inv(covariance)], dtype=np.float64)
    hypothesis = np.zeros(64, dtype=np.intp)
    lines = random.multivariate_normal(np.zeros(20), covariance, (400, 64))
    values, means = np.abs(random.normal(size=(64, 20))), []
    for line in lines:
        likelihoods = above_zero(20, lapse=0.005)
        values = gibbs(values, line[None], inverse, hypothesis, likelihoods, random=random)
        means.append(values.mean(axis=1))
    trace = np.array(means[100:]).T
    halves = np.concatenate([trace[:, :150], trace[:, 150:]])
    within, between = halves.var(axis=1, ddof=1).mean(), 150 * halves.mean(axis=1).var(ddof=1)
    assert math.sqrt((149 / 150 * within + between / 150) / within) < 1.1  # split R-hat
    assert trace.size * within / between > 1000  # effective draws, by the variance of the means


def test_few_sweeps_are_enough_from_the_approximation() -> None:
    features = pool(1, 20, 8)
    run = talk(Frugal(), features, taste(features, 1), 15)
    sampler = Sampler(run.evidence.frames, lambda step: np.random.default_rng([9, step]), 4000)
    few, many = sampler.draw(run.posterior), sampler.draw(run.posterior, sweeps=100)
    assert np.abs(few.mean(axis=0) - many.mean(axis=0)).max() < 0.1
    chances = [np.bincount(d.argmax(axis=1), minlength=20) / 4000 for d in (few, many)]
    assert np.abs(chances[0] - chances[1]).max() < 0.06


def test_draws_agree_with_the_posterior_mean() -> None:
    features = pool(2, 20, 8)
    run = talk(Frugal(), features, taste(features, 2), 10)
    assert np.abs(run.draws.mean(axis=0) - run.scores()).max() < 0.2
    assert np.corrcoef(run.draws.mean(axis=0), run.scores())[0, 1] > 0.98


def test_seeds_reproduce() -> None:
    features = pool(3)
    one, two = (talk(Frugal(), features, taste(features, 3), 6) for _ in range(2))
    assert np.array_equal(one.draws, two.draws)
    other = Frugal().start(features, 1)
    assert not np.array_equal(other.draws, Frugal().start(features, 0).draws)


def test_noise_of_a_screen_does_not_depend_on_a_choice_of_eigenvectors() -> None:
    """Three pairs with one winner have two equal eigenvalues, and any basis of their plane."""
    gaps = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, -1.0, 0.0], [1.0, 0.0, 0.0, -1.0]])
    evidence = Evidence([BeliefFrame(np.eye(4), None)])
    evidence.add_screen([Observation(gap) for gap in gaps])
    drawn = _shared(evidence, np.random.default_rng(0), 5)
    root = sqrtm(evidence.shared)  # the only one that is symmetric
    assert drawn == pytest.approx(np.random.default_rng(0).standard_normal((5, 3)) @ root)
