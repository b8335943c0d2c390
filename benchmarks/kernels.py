"""Ways to project onto the cone, compared: the measurement behind docs/decisions/0001-kernel.md.

    python -m benchmarks.kernels     # pip install daqp quadprog numba, for those rows

Every way solves the same problems: all challengers of one step, nothing skipped. Milliseconds a
step, one thread, the best of five.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from useralign.geometry import cone, kernel

Array = NDArray[np.float64]
SIZES = [(64, 20, 20), (512, 40, 40)]


def problem(dimension: int, count: int, answers: int) -> tuple[Array, Array]:
    """Return the rows of a consistent user's answers, and the challengers' differences."""
    rng = np.random.default_rng(dimension)
    features = rng.normal(size=(count, dimension))
    features /= 2.0 * np.linalg.norm(features, axis=1)[:, None]
    taste = features @ rng.normal(size=dimension)
    pairs = [rng.choice(count, 2, replace=False) for _ in range(answers)]
    rows = [
        features[i] - features[j] if taste[i] > taste[j] else features[j] - features[i]
        for i, j in pairs
    ]
    return np.array(rows), np.asarray(features[1:] - features[0])


def by_project(rows: Array, differences: Array) -> Array:
    """Our own, compiled or not, by what `kernel.compiled` is."""
    squares = (differences**2).sum(axis=1)
    bounds = np.sqrt(squares)
    cone.project(rows @ rows.T, differences @ rows.T, squares, bounds, best=0.0, slack=np.inf)
    return np.asarray(bounds)


def by_scipy(rows: Array, differences: Array) -> Array:
    """SciPy's non-negative least squares on the triangular factor."""
    from scipy.optimize import nnls

    basis, triangle = np.linalg.qr(rows.T)
    inside = differences @ basis
    outside = (differences**2).sum(axis=1) - (inside**2).sum(axis=1)
    residuals = np.array([nnls(triangle, -c)[1] for c in inside])
    return np.asarray(np.sqrt(np.maximum(outside, 0.0) + residuals**2))


def by_quadprog(rows: Array, differences: Array) -> Array:
    """Use the Goldfarb-Idnani method, in the span of the rows."""
    import quadprog

    basis, triangle = np.linalg.qr(rows.T)
    inside = differences @ basis
    outside = (differences**2).sum(axis=1) - (inside**2).sum(axis=1)
    identity, zeros = np.eye(triangle.shape[0]), np.zeros(len(rows))
    nearest = np.array([quadprog.solve_qp(identity, c, triangle, zeros)[0] for c in inside])
    return np.asarray(np.sqrt(np.maximum(outside, 0.0) + (nearest**2).sum(axis=1)))


def by_daqp(rows: Array, differences: Array) -> Array:
    """Use the dual active-set solver DAQP, in the span of the rows."""
    import daqp

    basis, triangle = np.linalg.qr(rows.T)
    inside = differences @ basis
    outside = (differences**2).sum(axis=1) - (inside**2).sum(axis=1)
    identity = np.eye(triangle.shape[0])
    constraints = np.ascontiguousarray(triangle.T)
    upper, lower = np.full(len(rows), 1e30), np.zeros(len(rows))
    sense = np.zeros(len(rows), dtype=np.int32)
    nearest = np.array(
        [daqp.solve(identity, -c, constraints, upper, lower, sense)[0] for c in inside]
    )
    return np.asarray(np.sqrt(np.maximum(outside, 0.0) + (nearest**2).sum(axis=1)))


def by_numpy(rows: Array, differences: Array) -> Array:
    """Our own without the compiled kernel."""
    before, kernel.compiled = kernel.compiled, None
    try:
        return by_project(rows, differences)
    finally:
        kernel.compiled = before


WAYS: dict[str, Callable[[Array, Array], Array]] = {
    "ours, compiled": by_project,
    "ours, NumPy": by_numpy,
    "SciPy nnls": by_scipy,
    "quadprog": by_quadprog,
    "daqp": by_daqp,
}


def measured(way: Callable[[Array, Array], Array], rows: Array, differences: Array) -> Any:
    """Return the best time of five, or why there is none."""
    try:
        expected, projections = by_scipy(rows, differences), way(rows, differences)
    except ImportError as error:
        return f"({error.name} is not installed)"
    times = []
    for _ in range(5):
        start = time.perf_counter()
        way(rows, differences)
        times.append(time.perf_counter() - start)
    return f"{1e3 * min(times):.3f} (off by {np.abs(projections - expected).max():.0e})"


def numba_pause() -> str:
    """Return what Numba costs before it computes anything: its import, and one small compile."""
    script = (
        "import time; a = time.perf_counter(); import numba; b = time.perf_counter();"
        "f = numba.njit(lambda x: x @ x); import numpy; f(numpy.ones((4, 4)));"
        "print(f'{b - a:.2f} s to import, {time.perf_counter() - b:.2f} s to compile one product')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "(numba is not installed)"


def main() -> None:
    """Print the table."""
    names = [f"{d}-d, {k} candidates, t = {t}" for d, k, t in SIZES]
    print("| way | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for name, way in WAYS.items():
        cells = [measured(way, *problem(*size)) for size in SIZES]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    print(f"\nNumba: {numba_pause()}")


if __name__ == "__main__":
    main()
