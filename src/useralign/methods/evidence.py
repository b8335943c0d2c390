"""What a run does with feedback beyond pairs, over the engine of the paper's methods.

Answers that say which is better are rows for the engine: they cut the confidence set. What people
say loosely must not cut it, or its guarantee is gone. So "equal" and remarks are soft: they enter
the estimate alone, which decides what is recommended and what is challenged, while the set and
with it the bound stay those of the answers. A bound holds for any incumbent, so it stays true.

    minimise  L(theta) + 1/2 sum over equal pairs of [l(e) + l(-e)] - <tilt, theta>,  |theta| <= S

where `l(e) = log(1 + exp(-<e, theta>))`: half a win each for two that are equal; and a remark with
direction u and weight w adds `w u` to the tilt, as if `exp(w <u, theta>)` were the prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.geometry import fit
from useralign.methods.base import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.geometry import Engine


class EngineRun(Run):
    """A run whose estimate comes from an engine, with soft evidence beside it.

    Parameters
    ----------
    features : ndarray, shape (K, d)
    seed : int
    engine : Engine
    """

    def __init__(self, features: NDArray[np.float64], seed: int, engine: Engine) -> None:
        super().__init__(features, seed, engine.norm_bound)
        self.engine = engine
        self._ties: list[NDArray[np.float64]] = []
        self._tilt: NDArray[np.float64] | None = None
        self._soft: tuple[int, NDArray[np.float64]] | None = None  # for so many answers

    def equal(self, first: int, second: int) -> None:
        """Take in that two are equal: half a win each in the estimate; the pair is barred."""
        self.skip(first, second)
        self._ties.append(self.features[first] - self.features[second])
        self._soft = None

    def dislike(self, index: int) -> None:
        """Take in that a candidate is worse than the pool's average, and leave it out.

        It is an answer like any other, with the average in the winner's place: a half-space
        `<theta, mean - phi> >= 0` where answers are taken as consistent. Where no preference
        can agree with that and with the answers it is left out: what won before and still will
        not do is no contradiction, and must not empty the set.
        """
        row = self.features.mean(axis=0) - self.features[index]
        if self.engine.agrees(row):
            self.engine.add_row(row)
        self.dismiss(index)
        self.engine.retire(self.out)

    def lean(self, direction: NDArray[np.float64], weight: float) -> None:
        """Take in a remark: it tilts the estimate and cuts nothing."""
        before = 0.0 if self._tilt is None else self._tilt
        self._tilt = np.asarray(before + weight * direction)
        self._soft = None

    def scores(self) -> NDArray[np.float64]:
        """Return `<theta, phi_k>` under the estimate, shape (K,)."""
        if not self._ties and self._tilt is None:
            return self.engine.scores()
        if self._soft is None or self._soft[0] != self.engine.count:
            theta = estimate(self.engine.rows, self._ties, self._tilt, self.norm_bound)
            self._soft = (self.engine.count, self.features @ theta)
        return self._soft[1]


def estimate(
    rows: NDArray[np.float64],
    ties: list[NDArray[np.float64]],
    tilt: NDArray[np.float64] | None,
    norm_bound: float,
) -> NDArray[np.float64]:
    """Return the estimate with soft evidence, shape (d,); the formula is at the module's head.

    Parameters
    ----------
    rows : ndarray, shape (t, d)
        Winner minus loser, one row an answer.
    ties : list of ndarray, shape (d,)
        Differences between two that are equal.
    tilt : ndarray, shape (d,), optional
        The sum of the remarks.
    norm_bound : float
        S.
    """
    gain = np.zeros(rows.shape[1]) if tilt is None else tilt
    equal = np.array(ties).reshape(-1, rows.shape[1])
    # Everything counted twice, so that half a win is a whole one: the minimiser is the same.
    both = np.vstack([rows, rows, equal, -equal])
    basis, _ = np.linalg.qr(np.vstack([rows, equal, gain]).T)  # shape (d, r)
    found = fit(np.ascontiguousarray(both @ basis), norm_bound, tilt=2.0 * (gain @ basis))
    return np.asarray(basis @ found.w)
