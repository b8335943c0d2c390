"""Uncertainty sampling: ask the pair whose outcome is least certain, among the plausible.

Lewis and Gale, "A sequential algorithm for training text classifiers" (SIGIR 1994), on pairs: the
outcome of a pair is predicted by the posterior, with MacKay's moderated output ("The evidence
framework applied to classification networks", Neural Computation 4, 1992), and the prediction
nearest to one half is asked. Of pairs that are equally uncertain the one is taken of which the
posterior knows least. Plausible is who beats the favourite with a probability of at least 5%.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from useralign.methods.peers.linear import LinearMethod, LinearRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REACH = 1.645  # standard deviations that leave 5% beyond
_EQUAL = 1e-9


class _UncertaintyRun(LinearRun):
    """Uncertainty sampling at work."""

    def possible(self) -> NDArray[np.bool_]:
        known, best = self.posterior(), self.best()
        reach = known.mean + _REACH * np.sqrt(known.differences()[best])
        return np.asarray(reach >= known.mean[best])

    def choose(self, open_: NDArray[np.bool_]) -> tuple[int, int]:
        plausible = self.possible()
        among = open_ & plausible[:, None] & plausible[None, :]
        if not among.any():
            among = open_
        known = self.posterior()
        variance = known.differences()
        gaps = np.abs(known.mean[:, None] - known.mean[None, :])
        doubt = gaps / np.sqrt(1.0 + np.pi / 8.0 * variance)
        doubt[~among] = np.inf
        equal = doubt <= doubt.min() + _EQUAL
        pair = np.unravel_index(np.argmax(np.where(equal, variance, -1.0)), open_.shape)
        first, second = sorted((int(k) for k in pair), key=lambda k: -known.mean[k])
        return first, second


class Uncertainty(LinearMethod):
    """Uncertainty sampling over pairs; parameters as for `LinearMethod`."""

    name: ClassVar[str] = "uncertainty"
    run: ClassVar[type[LinearRun]] = _UncertaintyRun
