"""The paper's baselines: iidBest, Random and Oracle (section 5.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import OptionError
from useralign.geometry import Exact
from useralign.methods.base import DELTA, NORM_BOUND, Decision, Method, Run, check_norm_bound
from useralign.methods.evidence import EngineRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class _IidBestRun(EngineRun):
    """iidBest at work: pairs at random, then the candidate that the estimate likes best."""

    def __init__(self, features: NDArray[np.float64], seed: int, norm_bound: float) -> None:
        super().__init__(features, seed, Exact(features, norm_bound, DELTA, cone=False))

    def add(self, first: int, second: int, winner: int) -> None:
        self.engine.add(winner, first + second - winner)

    def decide(self) -> Decision:
        count = len(self.features)
        if count < 2:
            return Decision(0, None, 0.0)
        draw = self.generator(self.engine.count, purpose=1)
        for _ in range(100 + 10 * len(self.barred) + count * len(self.out)):
            first, second = (int(k) for k in draw.choice(count, 2, replace=False))
            if first not in self.out and self.open(second, [first]):
                return Decision(first, second, self.norm_bound)
        return Decision(self.best() if self.out else 0, None, self.norm_bound)

    def several(self, count: int) -> tuple[int, ...]:
        """Choose the pair and others, all at random."""
        first, second, _ = self.decide()
        if second is None:
            return ()
        chosen = [first, second]
        for k in self.generator(self.engine.count, purpose=2).permutation(len(self.features)):
            if len(chosen) < count and self.open(int(k), chosen):
                chosen.append(int(k))
        return tuple(chosen)


class IidBest(Method):
    """iidBest: ask about pairs drawn at random, return what the estimate likes best.

    It certifies nothing: its bound stays at S, so a session needs a budget.

    Parameters
    ----------
    norm_bound : float
        S.
    """

    name: ClassVar[str] = "iidbest"
    stops: ClassVar[bool] = False

    def __init__(self, *, norm_bound: float = NORM_BOUND) -> None:
        self.norm_bound = check_norm_bound(norm_bound)

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> Run:
        """Begin on a pool; see `Method.start`."""
        return _IidBestRun(features, seed, self.norm_bound)

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        return {"norm_bound": self.norm_bound}


class _FixedRun(Run):
    """A choice made before anything is asked."""

    def __init__(
        self, features: NDArray[np.float64], seed: int, scores: NDArray[np.float64], bound: float
    ) -> None:
        super().__init__(features, seed, NORM_BOUND)
        self.tie = 0.0  # utilities are given exactly, on whatever scale
        self._scores = scores
        self._bound = bound

    def add(self, first: int, second: int, winner: int) -> None:
        """Take no notice: the choice is made."""

    def decide(self) -> Decision:
        return Decision(self.best(), None, self._bound)

    def scores(self) -> NDArray[np.float64]:
        return self._scores


class Random(Method):
    """Random: a candidate drawn uniformly, without any question. The lower end of the scale."""

    name: ClassVar[str] = "random"
    asks: ClassVar[bool] = False

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> Run:
        """Begin on a pool; see `Method.start`."""
        bound = self.norm_bound if len(features) > 1 else 0.0
        return _FixedRun(features, seed, np.zeros(len(features)), bound)


class Oracle(Method):
    """Oracle: the best candidate, by knowing the person's utilities. The upper end of the scale.

    Parameters
    ----------
    utilities : sequence of float, length K
        What each candidate is worth to the person.
    """

    name: ClassVar[str] = "oracle"
    asks: ClassVar[bool] = False

    def __init__(self, *, utilities: Sequence[float] | NDArray[np.float64] | None = None) -> None:
        if utilities is None:
            raise OptionError(
                "oracle needs utilities=, one number a candidate: it knows what others must ask"
            )
        try:
            self.utilities = np.array(utilities, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OptionError(f"utilities must be a list of numbers: {error}") from None
        if self.utilities.ndim != 1 or not np.isfinite(self.utilities).all():
            raise OptionError(
                f"utilities must be a list of finite numbers, got shape {self.utilities.shape}"
            )

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> Run:
        """Begin on a pool; see `Method.start`."""
        if len(self.utilities) != len(features):
            raise OptionError(
                f"{len(self.utilities)} utilities for {len(features)} candidates; give one each"
            )
        return _FixedRun(features, seed, self.utilities, 0.0)

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        return {"utilities": self.utilities.tolist()}
