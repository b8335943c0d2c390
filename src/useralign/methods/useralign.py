"""The paper's methods: UserAlign and UserAlign_loss (Algorithms 2 and 3).

Each step fits the preference vector to the answers (Eq. 2), takes the candidate it likes best as
the incumbent, and challenges it with the candidate that could be better than it by the most in
the confidence set. The two differ in the set: UserAlign_loss uses the loss-based one (Eq. 3);
UserAlign takes answers as consistent and cuts it with a half-space each (Eq. 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import OptionError
from useralign.geometry import ZERO, Engine, Exact, Reference
from useralign.methods.base import (
    DELTA,
    NORM_BOUND,
    Decision,
    Method,
    check_delta,
    check_norm_bound,
)
from useralign.methods.evidence import EngineRun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

BACKENDS: dict[str, type[Engine]] = {"exact": Exact, "reference": Reference}
_REUSES = 25  # recorded answers in a row after which a pair is asked again after all


class ConfidenceRun(EngineRun):
    """UserAlign or UserAlign_loss at work on one pool.

    Parameters
    ----------
    method : UserAlignLoss
    features : ndarray, shape (K, d)
    seed : int
    fixed_budget : bool
    """

    def __init__(
        self, method: UserAlignLoss, features: NDArray[np.float64], seed: int, fixed_budget: bool
    ) -> None:
        engine = BACKENDS[method.backend](features, method.norm_bound, method.delta, method.cone)
        super().__init__(features, seed, engine)
        self.method = method
        self.fixed_budget = fixed_budget
        self._known: dict[frozenset[int], int] = {}
        self._decision: Decision | None = None

    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison."""
        self._begin()
        self.engine.add(winner, first + second - winner)
        self._known[frozenset((first, second))] = winner

    def skip(self, first: int, second: int) -> None:
        """Take in that the person does not want to be asked about this pair."""
        self._begin()
        super().skip(first, second)

    def dislike(self, index: int) -> None:
        """Take in that a candidate will not do; see `EngineRun.dislike`."""
        self._begin()
        super().dislike(index)

    def lean(self, direction: NDArray[np.float64], weight: float) -> None:
        """Take in a remark; see `EngineRun.lean`."""
        self._begin()
        super().lean(direction, weight)

    def _begin(self) -> None:
        """Get ready for something new."""
        if not self.method.reask:
            self.decide()  # so that recorded answers are reused at the same place in a replay
        self._decision = None

    def decide(self) -> Decision:
        """Run lines 6 to 12 of Algorithm 2, reusing recorded answers unless `reask` is set."""
        if self._decision is None:
            for _ in range(_REUSES):
                decision = self._select()
                winner = self._recorded(decision)
                if winner is None:
                    break
                self.engine.add(winner, decision.first + (decision.second or 0) - winner)
            self._decision = decision
        return self._decision

    def several(self, count: int) -> tuple[int, ...]:
        """Choose the incumbent and those that could be better than it by the most."""
        first, second, _ = self.decide()
        if second is None:
            return ()
        chosen = [first, second]
        known = [] if self.method.reask else _partners(first, self._known)
        while len(chosen) < count:
            closed = {k for i in chosen for k in _partners(i, self.barred)}
            challenger, _ = self.engine.challenge(first, closed.union(chosen, known))
            if challenger is None:
                break
            chosen.append(challenger)
        return tuple(chosen)

    def possible(self) -> NDArray[np.bool_]:
        """Return for every candidate whether the confidence set lets it beat the incumbent."""
        incumbent = self.best()
        result = self.engine.values(incumbent) > ZERO * self.norm_bound
        result[list(self.out)] = False
        result[incumbent] = True
        return result

    def _select(self) -> Decision:
        """Select the incumbent and its challenger, and compute the bound (lines 7 to 9)."""
        incumbent = self.best()
        barred = _partners(incumbent, self.barred)
        challenger, bound = self.engine.challenge(incumbent, barred)
        if not self.engine.count and bound > 0:
            bound = self.norm_bound  # B(0) = S: nothing is known but the a-priori bound
        if challenger is None and self.fixed_budget:
            challenger = self._iid_challenger(incumbent, barred)
        if challenger is None and barred and bound > 0:
            return self._other_pair(incumbent, bound)
        return Decision(incumbent, challenger, bound)

    def _other_pair(self, incumbent: int, bound: float) -> Decision:
        """Challenge the next best candidate where every open pair of the best was skipped."""
        closed = set(self.barred)
        if not self.method.reask:
            closed.update(self._known)  # to use those again would teach nothing about the best
        for other in (int(k) for k in np.argsort(-self.scores(), kind="stable")):
            if other in self.out:
                continue
            challenger, _ = self.engine.challenge(other, _partners(other, closed))
            if challenger is not None:
                return Decision(other, challenger, bound)
        return Decision(incumbent, None, bound)

    def _iid_challenger(self, incumbent: int, barred: list[int]) -> int | None:
        """Draw a challenger uniformly from the others (footnote 2)."""
        closed = {incumbent, *barred, *self.out}
        if not self.method.reask:
            closed.update(_partners(incumbent, self._known))
        others = [k for k in range(len(self.features)) if k not in closed]
        if not others:
            return None
        return others[int(self.generator(self.engine.count, purpose=1).integers(len(others)))]

    def _recorded(self, decision: Decision) -> int | None:
        """Return the answer on record for this pair if it is to be used instead of asking."""
        if self.method.reask or decision.second is None:
            return None
        return self._known.get(frozenset((decision.first, decision.second)))


def _partners(candidate: int, pairs: Iterable[frozenset[int]]) -> list[int]:
    """Return whom a candidate meets in some pairs."""
    return [k for pair in pairs if candidate in pair for k in pair if k != candidate]


class UserAlignLoss(Method):
    """UserAlign_loss: the theoretical framework, for users who answer at random around a taste.

    Parameters
    ----------
    norm_bound : float
        S, the largest norm of a preference vector.
    delta : float
        The confidence set holds the truth with probability at least 1 - delta.
    backend : {"exact", "reference"}
        Our solver, or the paper's with cvxpy.
    """

    name: ClassVar[str] = "useralign_loss"
    cone: ClassVar[bool] = False
    reask: bool = True

    def __init__(
        self, *, norm_bound: float = NORM_BOUND, delta: float = DELTA, backend: str = "exact"
    ) -> None:
        self.norm_bound = check_norm_bound(norm_bound)
        self.delta = check_delta(delta)
        if not isinstance(backend, str) or backend not in BACKENDS:
            raise OptionError(f"backend={backend!r} is not known; expected one of {[*BACKENDS]}")
        self.backend = backend

    def start(
        self, features: NDArray[np.float64], seed: int, *, fixed_budget: bool = False
    ) -> ConfidenceRun:
        """Begin on a pool; see `Method.start`."""
        return ConfidenceRun(self, features, seed, fixed_budget)

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        return {"norm_bound": self.norm_bound, "delta": self.delta, "backend": self.backend}


class UserAlign(UserAlignLoss):
    """UserAlign: answers are consistent, so each cuts the possible preferences by a half-space.

    Parameters
    ----------
    norm_bound, delta, backend
        As for `UserAlignLoss`.
    reask : bool
        The algorithm sometimes selects a pair that was answered before. True asks again, as the
        paper's costs imply; False takes the recorded answer, at no cost to the person.
    """

    name: ClassVar[str] = "useralign"
    cone: ClassVar[bool] = True

    def __init__(
        self,
        *,
        norm_bound: float = NORM_BOUND,
        delta: float = DELTA,
        backend: str = "exact",
        reask: bool = False,
    ) -> None:
        super().__init__(norm_bound=norm_bound, delta=delta, backend=backend)
        if not isinstance(reask, bool):
            raise OptionError(f"reask must be True or False, got {reask!r}")
        self.reask = reask

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        return {**super().options(), "reask": self.reask}
