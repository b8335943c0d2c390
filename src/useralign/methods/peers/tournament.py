"""King of the hill: the winner stays, the next challenger is drawn at random.

The sequential knock-out that needs K - 1 answers to find the best of K when answers are transitive
(Knuth, "The Art of Computer Programming" 3, section 5.3.3, "Minimum-comparison selection"). It
looks at no feature, so it shows what features are worth to the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from useralign.methods.base import Decision, Method, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _TournamentRun(Run):
    """A tournament on one pool: who is king, and who has lost."""

    def __init__(self, features: NDArray[np.float64], seed: int, norm_bound: float) -> None:
        super().__init__(features, seed, norm_bound)
        self.king: int | None = None
        self.lost = np.zeros(len(features), dtype=bool)
        self.count = 0

    def add(self, first: int, second: int, winner: int) -> None:
        self.lost[first + second - winner] = True
        if self.king is None or self.king in (first, second):
            self.king = winner
        self.count += 1

    def decide(self) -> Decision:
        king = self.best()
        unbeaten = [int(k) for k in np.flatnonzero(~self.lost) if k != king]
        if not unbeaten:
            return Decision(king, None, 0.0)  # all have lost to it, or to one that did
        open_ = [k for k in unbeaten if frozenset((king, k)) not in self.barred]
        if not open_:
            return Decision(king, None, self.norm_bound)
        draw = self.generator(self.count, purpose=1)
        return Decision(king, open_[int(draw.integers(len(open_)))], self.norm_bound)

    def scores(self) -> NDArray[np.float64]:
        """Return 1 for the king, 0 for who has lost, and half for who was not met, shape (K,)."""
        if self.king is None:
            return np.zeros(len(self.features))
        scores = np.where(self.lost, 0.0, 0.5)
        scores[self.king] = 1.0
        return scores

    def possible(self) -> NDArray[np.bool_]:
        possible = ~self.lost
        possible[self.best()] = True
        return possible


class Tournament(Method):
    """King of the hill: each candidate meets the winner of all before it, in random order.

    Its bound is S until all were met, and 0 then.
    """

    name: ClassVar[str] = "tournament"
    run: ClassVar[type[Run]] = _TournamentRun
