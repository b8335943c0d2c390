"""Projection onto the cone: optimality itself, and the two kernels against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls

from useralign.geometry import cone, kernel

Array = NDArray[np.float64]


def problem(t: int, d: int, n: int, seed: int, twins: bool = False) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(t, d)) / np.sqrt(d)
    if twins and t > 2:
        rows[1], rows[2] = rows[0], -rows[0]
    differences = rng.normal(size=(n, d)) / np.sqrt(d)
    return rows, differences


def all_values(rows: Array, differences: Array) -> tuple[NDArray[np.intp], Array, Array]:
    squares = (differences**2).sum(axis=1)
    bounds = np.sqrt(squares)
    order = np.argsort(-bounds)
    bounds = bounds[order]
    _, done, duals = cone.project(
        rows @ rows.T, differences[order] @ rows.T, squares[order], bounds, best=0.0, slack=np.inf
    )
    assert done == len(differences)
    return order, bounds, duals


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("t", "d"), [(1, 3), (5, 2), (30, 2), (10, 64), (40, 16), (60, 8)])
@pytest.mark.parametrize("twins", [False, True])
def test_against_scipy(
    t: int, d: int, twins: bool, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(kernel, "compiled", None)
    elif kernel.compiled is None:
        pytest.fail("the kernel was not compiled: is there a C compiler?")
    rows, differences = problem(t, d, 8, seed=t + d, twins=twins)
    order, _, duals = all_values(rows, differences)
    for c, dual in zip(differences[order], duals, strict=True):
        _, expected = nnls(rows.T, -c)
        assert dual.min() >= 0
        assert np.linalg.norm(c + dual @ rows) == pytest.approx(expected, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.integers(1, 12), st.integers(0, 10_000))
def test_moreau(t: int, d: int, seed: int) -> None:
    """P(c) is in the cone, orthogonal to c - P(c), and no longer than c."""
    rows, differences = problem(t, d, 1, seed)
    order, _, duals = all_values(rows, differences)
    c = differences[order][0]
    projection = c + duals[0] @ rows
    assert (rows @ projection).min() >= -1e-8
    assert abs(projection @ (c - projection)) <= 1e-8
    assert np.linalg.norm(projection) <= np.linalg.norm(c) + 1e-12


def test_lazy_search_finds_the_same_best_with_less_work() -> None:
    rows, differences = problem(15, 32, 200, seed=3)
    _, exact, _ = all_values(rows, differences)
    squares = (differences**2).sum(axis=1)
    bounds = np.sqrt(squares)
    order = np.argsort(-bounds)
    bounds = bounds[order]
    best, done, _ = cone.project(
        rows @ rows.T, differences[order] @ rows.T, squares[order], bounds, best=0.0, slack=1e-9
    )
    assert best == pytest.approx(exact.max(), abs=1e-12)
    assert done < 200


def test_kernel_refuses_arrays_it_cannot_read() -> None:
    if kernel.compiled is None:
        pytest.fail("the kernel was not compiled: is there a C compiler?")
    good = np.zeros((2, 2))
    with pytest.raises(TypeError, match="float64"):
        kernel.compiled.fit(good.astype(np.float32), 3.0, np.zeros(2), np.zeros(2), 0.0)
    with pytest.raises(ValueError, match="shapes"):
        kernel.compiled.fit(good, 3.0, np.zeros(3), np.zeros(2), 0.0)
    with pytest.raises(ValueError, match="shapes"):
        kernel.compiled.project(good, good, np.zeros(3), np.zeros(2), good.copy(), 0.0, 0.0)
