"""Top-two Thompson sampling over linear utilities.

Russo, "Simple Bayesian algorithms for best-arm identification" (Operations Research 68, 2020): draw
utilities from the posterior, take the best candidate of the draw as leader, and draw again until
another one is best, the challenger. Here the two meet in one comparison, as in dueling posterior
sampling (Novoseller and others, UAI 2020), instead of one of them being played.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from useralign.methods.peers.linear import LinearMethod, LinearRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWS = 100  # after which the challenger is the runner-up of the last draw


class _ThompsonRun(LinearRun):
    """Top-two Thompson sampling at work."""

    def choose(self, open_: NDArray[np.bool_]) -> tuple[int, int]:
        known, draw = self.posterior(), self.generator(len(self.answers), purpose=1)
        anybody = np.asarray(open_.any(axis=1))
        leader = _best(known.sample(draw), anybody)
        rivals = open_[leader]
        for _ in range(_DRAWS):
            sample = known.sample(draw)
            challenger = _best(sample, anybody)
            if rivals[challenger]:
                return leader, challenger
        return leader, _best(sample, rivals)


def _best(utilities: NDArray[np.float64], among: NDArray[np.bool_]) -> int:
    return int(np.where(among, utilities, -np.inf).argmax())


class Thompson(LinearMethod):
    """Top-two Thompson sampling; parameters as for `LinearMethod`."""

    name: ClassVar[str] = "thompson"
    run: ClassVar[type[LinearRun]] = _ThompsonRun
