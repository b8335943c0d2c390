"""Soft evidence and what leaves the running, against slow and obvious computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import NonlinearConstraint, minimize

from tests.conftest import gaussian_features
from useralign.geometry import Engine, Exact, Reference
from useralign.methods.paper import estimate


def objective(
    theta: NDArray[np.float64],
    rows: NDArray[np.float64],
    ties: NDArray[np.float64],
    tilt: NDArray[np.float64],
) -> float:
    """The formula at the head of the module, word for word."""
    halves = np.logaddexp(0.0, ties @ theta) + np.logaddexp(0.0, -(ties @ theta))
    return float(np.logaddexp(0.0, -(rows @ theta)).sum() + halves.sum() / 2.0 - tilt @ theta)


@pytest.mark.parametrize("seed", range(6))
def test_the_estimate_minimises_what_it_says(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, ties = draw.normal(size=(seed, 4)), draw.normal(size=(seed % 3, 4))
    tilt = draw.normal(size=4)
    theta = estimate(rows, list(ties), tilt, 3.0)
    assert np.linalg.norm(theta) <= 3.0 + 1e-9
    inside = NonlinearConstraint(lambda theta: theta @ theta, -np.inf, 9.0)
    slow = minimize(
        objective,
        np.full(4, 0.1),
        args=(rows, ties, tilt),
        constraints=inside,
        method="SLSQP",
        tol=1e-12,
    )
    assert objective(theta, rows, ties, tilt) <= slow.fun + 1e-7


def test_a_remark_alone_is_followed_to_the_edge() -> None:
    tilt = np.array([0.0, 2.0, 0.0])
    np.testing.assert_allclose(estimate(np.zeros((0, 3)), [], tilt, 3.0), [0, 3, 0], atol=1e-8)


def test_equal_alone_says_nothing() -> None:
    theta = estimate(np.zeros((0, 3)), [np.array([1.0, 0.0, 0.0])], None, 3.0)
    np.testing.assert_allclose(theta, 0.0, atol=1e-8)


def answer_randomly(engine: Engine, answers: int, seed: int) -> Engine:
    """Add consistent answers about pairs drawn at random to an engine."""
    draw = np.random.default_rng([seed, 1])
    count, dimension = engine.features.shape
    worth = engine.features @ draw.normal(size=dimension)
    for _ in range(answers):
        first, second = draw.choice(count, 2, replace=False)
        better = first if worth[first] > worth[second] else second
        engine.add(int(better), int(first + second - better))
        engine.challenge(int(engine.scores().argmax()))  # so that something is kept from before
    return engine


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 30), st.integers(1, 15), st.integers(0, 10_000), st.booleans(), st.data())
def test_the_challenger_is_right_when_the_strongest_are_barred_or_retired(
    count: int, answers: int, seed: int, cone: bool, data: st.DataObject
) -> None:
    features = gaussian_features(count, 5, seed)
    engine = answer_randomly(Exact(features, 3.0, 0.05, cone), answers, seed)
    incumbent = int(engine.scores().argmax())
    fresh = Exact(features, 3.0, 0.05, cone)
    for row in engine.rows:
        fresh.add_row(row)
    values = fresh.values(incumbent)
    strongest = [int(k) for k in np.argsort(-values) if k != incumbent]
    retired = set(strongest[: data.draw(st.integers(0, 2))])
    barred = set(strongest[: data.draw(st.integers(0, 3))])
    if retired:
        engine.retire(retired)
    challenger, bound = engine.challenge(incumbent, barred)
    values[list(retired)] = 0.0
    assert abs(bound - max(values.max(), 0.0)) <= 1e-6
    values[list(barred)] = 0.0
    if challenger is None:
        assert values.max() <= 1e-6
    else:
        assert challenger not in retired | barred
        assert values[challenger] >= values.max() - 1e-7


def test_retired_candidates_come_back() -> None:
    features = gaussian_features(6, 4, 1)
    engine = answer_randomly(Exact(features, 3.0, 0.05, cone=True), 3, 1)
    before = engine.challenge(0)
    engine.retire({1, 2, 3})
    engine.values(0)
    engine.retire(())
    assert engine.challenge(0) == before


@pytest.mark.parametrize("kind", [Exact, Reference])
def test_what_agrees_with_the_answers(kind: type[Engine]) -> None:
    if kind is Reference:
        pytest.importorskip("cvxpy")
    features = gaussian_features(6, 4, 2)
    engine = kind(features, 3.0, 0.05, True)
    row = features[0] - features[1]
    assert engine.agrees(-row)
    engine.add(0, 1)
    assert engine.agrees(row)
    assert not engine.agrees(-row)
    assert engine.agrees(features[2] - features[3])
    assert kind(features, 3.0, 0.05, False).agrees(-row)
    engine.retire({4})
    challenger, _ = engine.challenge(0)
    assert challenger not in (4, None)
    assert engine.rows.shape == (1, 4)
