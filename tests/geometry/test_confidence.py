"""The loss constraint where it binds, against cvxpy, at levels that a person would not reach."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import gaussian_features
from useralign.geometry import AnswerRows, Fit, LossLevel, fit
from useralign.geometry.mle import LOG2, beta, loss

S = 3.0


def answers(dimension: int, count: int, seed: int, noise: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    features = gaussian_features(20, dimension, seed)
    theta = rng.normal(size=dimension)
    rows = []
    for _ in range(count):
        first, second = rng.choice(20, 2, replace=False)
        row = features[first] - features[second]
        sign = 1.0 if (row @ theta > 0) != (rng.random() < noise) else -1.0
        rows.append(sign * row)
    return np.array(rows)


def evidence_of(rows: NDArray[np.float64]) -> tuple[AnswerRows, Fit]:
    evidence = AnswerRows(rows.shape[1])
    for row in rows:
        evidence.add(row)
    return evidence, fit(evidence.coordinates, S)


def reference_support(
    rows: NDArray[np.float64], c: NDArray[np.float64], level: float, cone: bool
) -> float:
    cp: Any = pytest.importorskip("cvxpy")
    theta = cp.Variable(len(c))
    constraints = [cp.norm(theta, 2) <= S, cp.sum(cp.logistic(-(rows @ theta))) <= level]
    if cone:
        constraints.append(rows @ theta >= 0)
    problem = cp.Problem(cp.Maximize(c @ theta), constraints)
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize("cone", [False, True])
@pytest.mark.parametrize("dimension", [2, 5, 30])
@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_support_at_a_tight_level(dimension: int, cone: bool, share: float) -> None:
    rows = answers(dimension, 12, seed=dimension, noise=0.0)
    evidence, estimate = evidence_of(rows)
    least = fit(evidence.coordinates, S, cone=True).loss if cone else estimate.loss
    level = least + share * (12 * LOG2 - least)
    limit = LossLevel(evidence, level, S, cone, estimate)
    assert not limit.is_empty()
    for c in gaussian_features(3, dimension, seed=9):
        # Away from the answers' directions, so that the constraint is tight.
        c = c - 0.5 * rows.sum(axis=0) / np.linalg.norm(rows.sum(axis=0))
        expected = reference_support(rows, c, level, cone)
        assert limit.support(c) == pytest.approx(expected, abs=1e-6)


def test_contradictions_can_empty_the_set() -> None:
    rows = np.array([[1.0], [1.0], [1.0], [-1.0]])  # the cone is {0}, whose loss is 4 log 2
    evidence, estimate = evidence_of(rows)
    between = (estimate.loss + 4 * LOG2) / 2
    assert LossLevel(evidence, between, S, True, estimate).is_empty()
    assert not LossLevel(evidence, 4 * LOG2 + 0.1, S, True, estimate).is_empty()
    assert not LossLevel(evidence, between, S, False, estimate).is_empty()


def test_an_emptied_set_is_the_estimate_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 3 line 4: then no candidate can beat the estimate's favourite."""
    from useralign.geometry import Exact

    features = gaussian_features(6, 2, seed=4)
    engine = Exact(features, S, 0.05, cone=True)
    for first, second in [(0, 1), (1, 2), (2, 0), (1, 0)]:
        engine.add(first, second)
    monkeypatch.setattr(engine, "level", lambda least: least + 1e-6)
    incumbent = int(engine.scores().argmax())
    assert engine.challenge(incumbent) == (None, 0.0)
    assert engine.values(incumbent).max() == pytest.approx(0.0, abs=1e-12)


def test_loss_constraint_inside_the_cone_through_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from useralign.geometry import Exact, Reference

    features = gaussian_features(7, 3, seed=8)
    ours, theirs = Exact(features, S, 0.05, True), Reference(features, S, 0.05, True)
    for engine in (ours, theirs):
        for winner, loser in [(0, 1), (0, 2), (3, 1), (3, 4), (0, 5)]:
            engine.add(winner, loser)
        monkeypatch.setattr(engine, "level", lambda least: least + 0.3)
    incumbent = int(ours.scores().argmax())
    expected = theirs.values(incumbent)
    np.testing.assert_allclose(
        np.maximum(ours.values(incumbent), 0.0), np.maximum(expected, 0.0), atol=1e-5
    )
    challenger, bound = ours.challenge(incumbent)
    assert bound == pytest.approx(max(expected.max(), 0.0), abs=1e-5)
    if challenger is not None:
        assert expected[challenger] == pytest.approx(expected.max(), abs=1e-5)


def test_beta_is_the_papers() -> None:
    t, d, delta = 20, 64, 0.05
    growth = 10 * d * math.log(S * t / (4 * d) + math.e)
    expected = growth + 2 * ((math.e - 2) + S) * math.log(1 / delta)
    assert beta(t, d, S, delta) == pytest.approx(expected)


def test_loss_does_not_overflow() -> None:
    assert loss(np.array([-1e4])) == pytest.approx(1e4)
    assert loss(np.array([1e4])) == 0.0
