"""What the answers say, as vectors: one row `winner - loser` for each, and their span.

Everything a step needs lies in the span of the rows. `AnswerRows` keeps an orthonormal basis of it,
grown one answer at a time, so the fit has at most min(t, d) unknowns; and the Gram matrix, so
that projections onto the cone have t. Both grow in place, doubling their room when it is used up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEPENDENT = 1e-10  # relative length below which a row adds no new direction


class AnswerRows:
    """The answers so far, as rows of a matrix A, with its Gram matrix and an orthonormal basis."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.count = 0
        self.rank = 0
        self._rows = np.zeros((16, dimension))
        self._gram = np.zeros((16, 16))
        self._basis = np.zeros((min(16, dimension), dimension))
        self._coordinates = np.zeros((16, min(16, dimension)))

    @property
    def rows(self) -> NDArray[np.float64]:
        """A, shape (t, d)."""
        return self._rows[: self.count]

    @property
    def gram(self) -> NDArray[np.float64]:
        """`A A'`, shape (t, t)."""
        return self._gram[: self.count, : self.count]

    @property
    def basis(self) -> NDArray[np.float64]:
        """Q, an orthonormal basis of the span of the rows, shape (r, d)."""
        return self._basis[: self.rank]

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """B = A Q', the rows in that basis, shape (t, r)."""
        return self._coordinates[: self.count, : self.rank]

    def add(self, row: NDArray[np.float64]) -> None:
        """Add one answer: the winner's features minus the loser's, shape (d,)."""
        if self.count == len(self._rows):
            self._rows = _grown(self._rows, (2 * self.count, self.dimension))
            self._gram = _grown(self._gram, (2 * self.count, 2 * self.count))
            width = min(2 * self.count, self.dimension)
            self._basis = _grown(self._basis, (width, self.dimension))
            self._coordinates = _grown(self._coordinates, (2 * self.count, width))
        t = self.count
        self._rows[t] = row
        self.count += 1
        products = self.rows @ row
        self._gram[t, : t + 1] = products
        self._gram[: t + 1, t] = products
        self._extend_basis(t, row, float(products[t]))

    def _extend_basis(self, t: int, row: NDArray[np.float64], square: float) -> None:
        """Gram-Schmidt with one correction, which is enough to stay orthogonal to rounding."""
        basis = self.basis
        inside = basis @ row
        rest = row - inside @ basis
        correction = basis @ rest
        rest -= correction @ basis
        self._coordinates[t, : self.rank] = inside + correction
        length = math.sqrt(rest @ rest)
        if self.rank < self.dimension and length > _DEPENDENT * math.sqrt(square):
            self._basis[self.rank] = rest / length
            self._coordinates[t, self.rank] = length
            self.rank += 1


def _grown(array: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    larger = np.zeros(shape)
    larger[: array.shape[0], : array.shape[1]] = array
    return larger
