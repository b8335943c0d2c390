"""The constrained fit: optimality conditions, the two kernels, hard cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from useralign.geometry import Fit, fit, kernel
from useralign.geometry.mle import _newton

KERNELS = ["compiled", "numpy"]


def random_rows(t: int, r: int, seed: int, noise: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(t, r)) / np.sqrt(r)
    signs = np.sign(rows @ rng.normal(size=r)) * np.where(rng.random(t) < noise, -1, 1)
    return np.asarray(rows * signs[:, None])


def gradient(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.asarray(-rows.T @ (1.0 / (1.0 + np.exp(rows @ w))))


@pytest.mark.parametrize("which", KERNELS)
@settings(max_examples=80, deadline=None)
@given(
    t=st.integers(1, 40),
    r=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    radius=st.sampled_from([0.1, 1.0, 3.0, 20.0]),
)
def test_first_order_conditions(which: str, t: int, r: int, seed: int, radius: float) -> None:
    rows = random_rows(t, r, seed)
    start = Fit(np.zeros(r), 0.0, 0.0)
    estimate = (
        fit(rows, radius)
        if which == "compiled"
        else _newton(rows, radius, np.zeros(r), False, start)
    )
    slope = gradient(rows, estimate.w)
    assert np.linalg.norm(estimate.w) <= radius * (1 + 1e-9)
    assert estimate.mu >= 0
    np.testing.assert_allclose(slope + estimate.mu * estimate.w, 0.0, atol=1e-7 * (1 + t))
    if estimate.mu > 1e-9:
        assert np.linalg.norm(estimate.w) == pytest.approx(radius, rel=1e-9)


def test_one_answer_points_along_it() -> None:
    estimate = fit(np.array([[0.3, 0.4]]), 3.0)
    np.testing.assert_allclose(estimate.w, [1.8, 2.4], atol=1e-9)


def test_a_warm_start_changes_nothing() -> None:
    rows = random_rows(25, 10, seed=1)
    cold = fit(rows, 3.0)
    warm = fit(rows, 3.0, start=Fit(np.array([5.0, -9.0]), 0.0, 40.0))
    np.testing.assert_allclose(warm.w, cold.w, atol=1e-9)


def test_contradiction_stays_inside_the_ball() -> None:
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    estimate = fit(rows, 3.0)
    np.testing.assert_allclose(estimate.w, 0.0, atol=1e-9)
    assert estimate.mu == 0.0


@pytest.mark.parametrize("which", KERNELS)
def test_rows_of_zeros(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two identical candidates compared say nothing, and must do no harm."""
    if which == "numpy":
        monkeypatch.setattr(kernel, "compiled", None)
    estimate = fit(np.zeros((3, 2)), 3.0)
    assert estimate.loss == pytest.approx(3 * np.log(2.0))
    np.testing.assert_allclose(estimate.w, 0.0, atol=1e-9)


def test_cone_keeps_every_answer() -> None:
    rows = random_rows(8, 5, seed=3, noise=0.0)
    free, inside = fit(rows, 3.0), fit(rows, 3.0, cone=True)
    assert (rows @ inside.w).min() >= -1e-8
    assert inside.loss >= free.loss - 1e-9


def test_compiled_and_numpy_agree() -> None:
    if kernel.compiled is None:
        pytest.fail("the kernel was not compiled: is there a C compiler?")
    for seed in range(20):
        rows = random_rows(30, 9, seed)
        tilt = np.random.default_rng(seed).normal(size=9)
        ours = fit(rows, 3.0, tilt=tilt)
        theirs = _newton(rows, 3.0, tilt, False, Fit(np.zeros(9), 0.0, 0.0))
        np.testing.assert_allclose(ours.w, theirs.w, atol=1e-8)
        assert ours.loss == pytest.approx(theirs.loss, abs=1e-9)
