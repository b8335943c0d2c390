"""The peers: each does what its source says, as far as that can be checked."""

from __future__ import annotations

import importlib.util
import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import useralign as ua
from tests.conftest import gaussian_features
from useralign.methods import method_for
from useralign.methods.conformance import check_method
from useralign.methods.peers.linear import posterior
from useralign.users import BTL, Consistent, Erring, converse

LINEAR = ["uncertainty", "thompson"]
HAS_BOTORCH = importlib.util.find_spec("botorch") is not None
needs_botorch = pytest.mark.skipif(not HAS_BOTORCH, reason="needs the extra botorch")


def gaussian_pool(count: int, dimension: int, seed: int) -> ua.Pool:
    return ua.Pool.from_features(gaussian_features(count, dimension, seed), normalise="none")


@pytest.mark.parametrize("name", ["tournament", *LINEAR])
def test_contract(name: str) -> None:
    check_method(method_for(name))


@needs_botorch
def test_contract_of_eubo() -> None:
    check_method(method_for("eubo"), steps=5)


@pytest.mark.parametrize("name", ["tournament", *LINEAR])
def test_all_start_where_the_others_do(name: str) -> None:
    for seed in range(10):
        pool = gaussian_pool(20, 64, seed)
        ours = ua.Session(pool, name, budget=5, seed=seed).best
        assert ours == ua.Session(pool, "random", seed=seed).best


def test_a_tournament_meets_everybody_once() -> None:
    for seed in range(10):
        pool = gaussian_pool(12, 3, seed)
        user = Consistent(pool, seed=seed)
        session = converse(ua.Session(pool, "tournament", seed=seed), user)
        assert session.cost == 11
        assert session.stop_reason == "bound"
        assert session.best.index == user.utilities.argmax()
        answers = list(session.answers)
        for before, after in itertools.pairwise(answers):
            assert before.winner in (after.first, after.second)  # the winner stays


def test_challengers_of_a_tournament_are_drawn_evenly() -> None:
    pool = gaussian_pool(5, 3, 0)
    met = [ua.Session(pool, "tournament", seed=seed).ask() for seed in range(500)]
    counts = np.bincount([pair.second.index for pair in met if pair is not None], minlength=5)
    assert counts.min() > 70


def test_a_tournament_does_not_claim_what_was_skipped(pool: ua.Pool) -> None:
    session = ua.Session(pool, "tournament", budget=30)
    while session.ask() is not None:
        session.skip()
    assert session.stop_reason == "exhausted"
    assert session.bound == 3.0


def brute(
    features: np.ndarray, answers: list[tuple[int, int]], variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """The mode and covariance of the utilities by plain optimisation over theta."""
    rows = np.array([features[w] - features[loser] for w, loser in answers])

    def energy(theta: np.ndarray) -> float:
        return float(np.logaddexp(0, -rows @ theta).sum() + theta @ theta / (2 * variance))

    theta = minimize(energy, np.zeros(features.shape[1]), method="BFGS", tol=1e-10).x
    chance = 1 / (1 + np.exp(-rows @ theta))
    precision = np.eye(len(theta)) / variance + rows.T @ np.diag(chance * (1 - chance)) @ rows
    return features @ theta, features @ np.linalg.inv(precision) @ features.T


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 3.0, 20.0]), st.integers(1, 12))
def test_the_posterior_is_laplaces(seed: int, spread: float, count: int) -> None:
    draw = np.random.default_rng(seed)
    features = gaussian_features(8, 4, seed)
    answers = [tuple(int(k) for k in draw.choice(8, 2, replace=False)) for _ in range(count)]
    belief = posterior(features, answers, spread)  # type: ignore[arg-type]
    mean, covariance = brute(features, answers, belief.variance)  # type: ignore[arg-type]
    np.testing.assert_allclose(belief.mean, mean, atol=2e-4 * spread)
    np.testing.assert_allclose(belief.covariance(), covariance, atol=1e-3 * spread**2)


def test_samples_have_the_posteriors_moments() -> None:
    features = gaussian_features(6, 3, 2)
    belief = posterior(features, [(0, 1), (2, 3), (0, 4), (5, 0)], 3.0)
    draw = np.random.default_rng(0)
    samples = np.array([belief.sample(draw) for _ in range(20_000)])
    np.testing.assert_allclose(samples.mean(axis=0), belief.mean, atol=0.06)
    np.testing.assert_allclose(np.cov(samples.T), belief.covariance(), atol=0.15)


def test_the_spread_is_that_of_the_prior() -> None:
    variances = posterior(gaussian_features(10, 5, 1), [], 3.0).differences()
    assert np.sqrt(variances[~np.eye(10, dtype=bool)].mean()) == pytest.approx(3.0)


def test_uncertainty_asks_what_is_least_certain() -> None:
    pool = gaussian_pool(10, 4, 3)
    session = converse(ua.Session(pool, "uncertainty", budget=6), Consistent(pool))
    state = {**session.to_dict(), "budget": 7}
    pair = ua.Session.from_dict(pool, state).ask()
    assert pair is not None
    answers = [(w, a.first + a.second - w) for a in session.answers if (w := a.winner) is not None]
    belief = posterior(pool.features, answers, 3.0)
    doubt = np.abs(belief.mean[:, None] - belief.mean) / np.sqrt(
        1 + np.pi / 8 * belief.differences()
    )
    best = int(belief.mean.argmax())
    plausible = belief.mean + 1.645 * np.sqrt(belief.differences()[best]) >= belief.mean[best]
    for one, other in answers:
        doubt[one, other] = doubt[other, one] = np.inf
    doubt[np.eye(10, dtype=bool)] = np.inf
    doubt[~plausible] = doubt[:, ~plausible] = np.inf
    assert doubt[pair.first.index, pair.second.index] == pytest.approx(doubt.min())


@pytest.mark.parametrize("name", LINEAR)
def test_linear_peers_learn_in_the_plane(name: str) -> None:
    hits = 0
    for seed in range(20):
        pool = gaussian_pool(20, 2, seed)
        user = Consistent(pool, seed=seed)
        session = converse(ua.Session(pool, name, budget=15, seed=seed), user)
        hits += session.best.index == user.utilities.argmax()
    assert hits >= 16


@pytest.mark.parametrize("name", LINEAR)
def test_pairs_are_asked_again_only_when_all_were(name: str) -> None:
    pool = gaussian_pool(5, 3, 1)
    session = converse(ua.Session(pool, name, budget=14), Erring(BTL(pool), 0.2))
    pairs = [frozenset((a.first, a.second)) for a in session.answers]
    assert len(set(pairs[:10])) == 10
    assert len(pairs) == 14


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("count", [1, 2])
def test_tiny_and_flat_pools(name: str, count: int) -> None:
    pool = ua.Pool.from_features(np.ones((count, 3)))
    session = converse(ua.Session(pool, name, budget=3), Consistent(pool))
    assert session.cost == (3 if count == 2 else 0)


@pytest.mark.parametrize("name", LINEAR)
def test_spread_out_of_range(name: str) -> None:
    with pytest.raises(ua.OptionError, match="spread must be above 0"):
        method_for(name, spread=0.0)


def test_eubo_without_botorch_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botorch", None)
    with pytest.raises(ua.MissingExtraError, match=r"pip install 'useralign\[botorch\]'"):
        method_for("eubo")


@needs_botorch
def test_eubo_learns_in_the_plane() -> None:
    pool = gaussian_pool(8, 2, 1)
    user = Consistent(pool, seed=1)
    session = converse(ua.Session(pool, "eubo", budget=7, seed=1), user)
    assert user.utilities[session.best.index] >= np.sort(user.utilities)[-2]
    assert len({frozenset((a.first, a.second)) for a in session.answers}) == 7


def test_peers_import_nothing_heavy() -> None:
    method_for("thompson")
    assert HAS_BOTORCH or "torch" not in sys.modules
