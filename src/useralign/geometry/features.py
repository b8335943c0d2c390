"""Feature matrices: checking them, and bringing them into the ball of radius 0.5.

The method assumes that two candidates' features differ by at most 1 in norm (section 4 of the
paper, "Preliminaries"). Keeping every vector in the ball of radius 0.5 guarantees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from useralign.errors import OptionError, PoolError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

RADIUS = 0.5
Normalise = Literal["unit", "ball", "diameter", "clip", "none"]
CLIP = 3.0  # how many times the median length a row keeps with "clip"
OUTLYING = 100.0  # how many times the median length a row has that is worth a warning
_CHUNK = 2048
_SLACK = 1e-9


def as_matrix(features: ArrayLike) -> NDArray[np.float64]:
    """Check features and return them as a contiguous float matrix, shape (K, d).

    Raises PoolError if they are empty, not two-dimensional, not numeric, or not finite.
    """
    try:
        array = np.asarray(features)
        complex_ = np.iscomplexobj(array)
        matrix = np.array(array.real if complex_ else array, dtype=np.float64, order="C")
    except (OverflowError, TypeError, ValueError) as error:
        raise PoolError(
            f"features must be a K-by-d array of numbers, one row per candidate; got {error}"
        ) from None
    if complex_:
        raise PoolError("features must be real numbers, got complex ones")
    if matrix.ndim != 2:
        raise PoolError(
            "features must have two dimensions (K candidates by d numbers); "
            f"got shape {matrix.shape}"
        )
    if 0 in matrix.shape:
        raise PoolError(f"features must not be empty; got shape {matrix.shape}")
    # A sum is finite unless a term is not (or it overflows): one cheap pass decides most cases.
    if not np.isfinite(matrix.sum()) and not np.isfinite(matrix).all():
        row, column = map(int, np.argwhere(~np.isfinite(matrix))[0])
        raise PoolError(
            f"features must be finite; row {row}, column {column} is {matrix[row, column]}. "
            "Drop that candidate or embed it again"
        )
    return matrix


def normalise(matrix: NDArray[np.float64], how: str) -> NDArray[np.float64]:
    """Bring features into the ball of radius 0.5.

    Parameters
    ----------
    matrix : ndarray, shape (K, d)
    how : {"unit", "ball", "diameter", "clip", "none"}
        `unit`: each row to norm 0.5, the paper's way with embeddings. `ball`: one common factor, so
        that the longest row has norm 0.5; the geometry is kept. `diameter`: one common factor, so
        that the largest distance between two rows is 1. `clip`: rows longer than 3 times the
        median length are shortened to that, then as `ball`. `none`: as given, but checked.

    Returns
    -------
    ndarray, shape (K, d)
    """
    if how not in get_args(Normalise):
        expected = ", ".join(get_args(Normalise))
        raise OptionError(f"normalise={how!r} is not known; expected one of {expected}")
    scale = float(np.abs(matrix).max())
    if scale == 0.0 and how != "unit":
        return matrix
    unit = matrix / (scale or 1.0)  # so that no square over- or underflows
    norms = np.sqrt(np.einsum("kd,kd->k", unit, unit))
    if how == "unit":
        if not norms.all():
            row = int(np.argmin(norms))
            raise PoolError(
                f"row {row} of the features is all zeros, so it has no direction to scale; "
                "use normalise='ball', or embed that candidate again"
            )
        return _finite(unit * (RADIUS / norms)[:, None])
    if how == "none":
        if norms.max() * scale > RADIUS + _SLACK:
            raise PoolError(
                f"normalise='none' expects every row within the ball of radius {RADIUS}; row "
                f"{int(norms.argmax())} has norm {norms.max() * scale:.4g}. Use normalise='ball'"
            )
        return matrix
    if how == "clip" and (most := CLIP * float(np.median(norms))) > 0:
        shares = np.minimum(1.0, most / np.where(norms > 0, norms, 1.0))
        unit, norms = unit * shares[:, None], norms * shares
    size = _diameter(unit) if how == "diameter" else norms.max() / RADIUS
    return _finite(unit / size) if size > 0 else matrix


def outlier(matrix: NDArray[np.float64], how: str) -> str | None:
    """Return what is wrong with a pool in which one row outweighs all others, and what to do.

    With one common factor for all rows, one that is a hundred times as long as most leaves no
    room between the others: answers about them hardly move anything. None if there is no such row.

    The matrix, shape (K, d), is as given; `how` is how it will be normalised.
    """
    if how not in ("ball", "diameter", "none"):
        return None
    unit = matrix / (float(np.abs(matrix).max()) or 1.0)
    norms = np.sqrt(np.einsum("kd,kd->k", unit, unit))
    middle = float(np.median(norms))
    if middle == 0.0 or norms.max() <= OUTLYING * middle:
        return None
    return (
        f"row {int(norms.argmax())} of the features is {norms.max() / middle:,.0f} times as long "
        "as most others, which leaves no room between those: many more questions will be needed. "
        "Check that row; or use normalise='clip' to shorten it, or 'unit' to give all one length"
    )


def principal_plane(
    features: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Project features to the two directions in which they spread most.

    Returns the points, shape (K, 2), and the axes, shape (2, d), which are zero where the features,
    shape (K, d), spread in fewer directions.
    """
    centred = features - features.mean(axis=0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    points, axes = np.zeros((len(features), 2)), np.zeros((2, features.shape[1]))
    width = min(2, len(sizes))
    points[:, :width] = left[:, :width] * sizes[:width]
    axes[:width] = right[:width]
    return points, axes


def _finite(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(matrix).all():
        raise PoolError("the features' sizes differ too much to be scaled; scale them beforehand")
    return matrix


def _diameter(matrix: NDArray[np.float64]) -> float:
    """Return the largest distance between two rows, in blocks so that memory stays flat."""
    squares = np.einsum("kd,kd->k", matrix, matrix)
    largest = 0.0
    for start in range(0, len(matrix), _CHUNK):
        block = matrix[start : start + _CHUNK]
        gaps = squares[start : start + _CHUNK, None] + squares - 2.0 * (block @ matrix.T)
        largest = max(largest, float(gaps.max()))
    return float(np.sqrt(largest))
