"""The paper's methods: UserAlign, UserAlign_loss (Algorithms 2 and 3) and the baselines (5.2).

Each step of UserAlign fits the preference vector to the answers (Eq. 2), takes the candidate with
the highest score as the incumbent, and challenges it with the candidate that could be better than
it by the most in the confidence set. The two differ in the set: UserAlign_loss uses the loss-based
one (Eq. 3); UserAlign takes answers as consistent and cuts it with a half-space each (Eq. 4).

Answers that say which is better are rows for the engine: they cut the confidence set. What people
say loosely must not cut it, or its guarantee is gone. So "equal" and remarks are soft: they enter
the estimate alone, which decides what is recommended and what is challenged, while the set and
with it the bound stay those of the answers. A bound holds for any incumbent, so it stays true.

    minimise  L(theta) + 1/2 sum over equal pairs of [l(e) + l(-e)] - <tilt, theta>,  |theta| <= S

where `l(e) = log(1 + exp(-<e, theta>))`: half a win each for two that are equal; and a remark with
direction u and weight w adds `w u` to the tilt, as if `exp(w <u, theta>)` were the prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import OptionError
from useralign.geometry import ZERO, Engine, Exact, Reference, fit
from useralign.methods.base import (
    DELTA,
    NORM_BOUND,
    Decision,
    Method,
    Run,
    check_delta,
    check_norm_bound,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

BACKENDS: dict[str, type[Engine]] = {"exact": Exact, "reference": Reference}
_REUSES = 25  # recorded answers in a row after which they are taken to teach nothing more


class EngineRun(Run):
    """A run whose estimate comes from an engine, with soft evidence beside it."""

    def __init__(self, features: NDArray[np.float64], seed: int, engine: Engine) -> None:
        super().__init__(features, seed, engine.norm_bound)
        self.engine = engine
        self._ties: list[NDArray[np.float64]] = []
        self._tilt: NDArray[np.float64] | None = None
        self._soft: tuple[int, NDArray[np.float64]] | None = None  # for so many answers

    def begin_answer(self) -> None:
        """Prepare for a new answer of any kind."""

    def skip(self, first: int, second: int) -> None:
        """Take in that the person does not want to be asked about this pair."""
        self.begin_answer()
        super().skip(first, second)

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
        self.begin_answer()
        row = self.features.mean(axis=0) - self.features[index]
        if self.engine.agrees(row):
            self.engine.add_row(row)
        self.dismiss(index)
        self.engine.retire(self.out)

    def exclude(self, indices: Iterable[int]) -> None:
        """Leave candidates out; the bound speaks of those that remain."""
        self.begin_answer()
        super().exclude(indices)
        self.engine.retire(self.out)

    def lean(self, direction: NDArray[np.float64], weight: float) -> None:
        """Take in a remark: it tilts the estimate and cuts nothing."""
        self.begin_answer()
        tilt = 0.0 if self._tilt is None else self._tilt
        self._tilt = np.asarray(tilt + weight * direction)
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
    """Compute the estimate with soft evidence, shape (d,), by the formula of the module.

    Rows are winner minus loser, shape (t, d); ties are differences between two candidates that are
    equal, and the tilt is the sum of the remarks, each of shape (d,).
    """
    gain = np.zeros(rows.shape[1]) if tilt is None else tilt
    equal = np.array(ties).reshape(-1, rows.shape[1])
    # Everything counted twice, so that half a win is a whole one: the minimiser is the same.
    both = np.vstack([rows, rows, equal, -equal])
    basis, _ = np.linalg.qr(np.vstack([rows, equal, gain]).T)  # shape (d, r)
    result = fit(np.ascontiguousarray(both @ basis), norm_bound, tilt=2.0 * (gain @ basis))
    return np.asarray(basis @ result.w)


class ConfidenceRun(EngineRun):
    """UserAlign or UserAlign_loss on one pool."""

    def __init__(
        self, method: UserAlignLoss, features: NDArray[np.float64], seed: int, fixed_budget: bool
    ) -> None:
        engine = BACKENDS[method.backend](features, method.norm_bound, method.delta, method.cone)
        super().__init__(features, seed, engine)
        self.method = method
        self.fixed_budget = fixed_budget
        self._winners: dict[frozenset[int], int] = {}
        self._decision: Decision | None = None
        self._stuck = False  # whether recorded answers are selected over and over

    def add(self, first: int, second: int, winner: int) -> None:
        """Take in the answer to one comparison."""
        self.begin_answer()
        self.engine.add(winner, first + second - winner)
        self._winners[frozenset((first, second))] = winner

    def begin_answer(self) -> None:
        """Decide first, so that recorded answers are reused at the same place in a replay."""
        if not self.method.reask:
            self.decide()
        self._decision, self._stuck = None, False

    def decide(self) -> Decision:
        """Run lines 6 to 12 of Algorithm 2, reusing recorded answers unless `reask` is set."""
        if self._decision is None:
            for _ in range(_REUSES):
                decision = self._select()
                winner = self._recorded(decision)
                if winner is None:
                    break
                self.engine.add(winner, decision.first + (decision.second or 0) - winner)
            else:
                self._stuck = True
                decision = self._knock_out()
            self._decision = decision
        return self._decision

    def best(self) -> int:
        """Return the incumbent: of those that no answer ranks below another, if it is stuck."""
        unbeaten = self._unbeaten() if self._stuck else []
        return unbeaten[0] if unbeaten else super().best()

    def several(self, count: int) -> tuple[int, ...]:
        """Select the incumbent and the candidates that could be better than it by the most."""
        first, second, _ = self.decide()
        if second is None:
            return ()
        screen = [first, second]
        answered = [] if self.method.reask else _partners(first, self._winners)
        while len(screen) < count:
            closed = {k for i in screen for k in _partners(i, self.barred)}
            challenger, _ = self.engine.challenge(first, closed.union(screen, answered))
            if challenger is None:
                break
            screen.append(challenger)
        return tuple(screen)

    def possible(self) -> NDArray[np.bool_]:
        """Return which candidates could beat the incumbent in the confidence set, shape (K,)."""
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
            bound = self.norm_bound  # B(0) = S, the a-priori bound
        if challenger is None and self.fixed_budget:
            challenger = self._iid_challenger(incumbent, barred)
        if challenger is None and barred and bound > 0:
            return self._other_pair(incumbent, bound)
        return Decision(incumbent, challenger, bound)

    def _knock_out(self) -> Decision:
        """Compare two that no answer ranks below another; without two, end.

        Where the features are badly scaled, the estimate may not follow the answers, and the same
        recorded pairs are selected over and over.
        """
        incumbent = self.best()
        barred = _partners(incumbent, self.barred)
        _, bound = self.engine.challenge(incumbent, barred)
        rivals = (k for k in self._unbeaten() if k != incumbent and k not in barred)
        return Decision(incumbent, next(rivals, None) if bound > 0 else None, bound)

    def _unbeaten(self) -> list[int]:
        """Return who is in the running and was preferred to by nobody, the highest score first."""
        beaten = {k for pair, winner in self._winners.items() for k in pair if k != winner}
        order = (int(k) for k in np.argsort(-self.scores(), kind="stable"))
        return [k for k in order if k not in beaten and k not in self.out]

    def _other_pair(self, incumbent: int, bound: float) -> Decision:
        """Challenge the next best candidate where every open pair of the best was skipped."""
        closed = set(self.barred)
        if not self.method.reask:
            closed.update(self._winners)  # to use those again would teach nothing about the best
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
            closed.update(_partners(incumbent, self._winners))
        others = [k for k in range(len(self.features)) if k not in closed]
        if not others:
            return None
        return others[int(self.generator(self.engine.count, purpose=1).integers(len(others)))]

    def _recorded(self, decision: Decision) -> int | None:
        """Return the recorded winner of this pair if it is to be used instead of asking."""
        if self.method.reask or decision.second is None:
            return None
        return self._winners.get(frozenset((decision.first, decision.second)))


def _partners(candidate: int, pairs: Iterable[frozenset[int]]) -> list[int]:
    """Return the other candidates in the pairs that have this one."""
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


class _IidBestRun(EngineRun):
    """iidBest on one pool: pairs at random, then the candidate with the highest score."""

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
        """Draw the pair and others, all at random."""
        first, second, _ = self.decide()
        if second is None:
            return ()
        screen = [first, second]
        for k in self.generator(self.engine.count, purpose=2).permutation(len(self.features)):
            if len(screen) < count and self.open(int(k), screen):
                screen.append(int(k))
        return tuple(screen)


class IidBest(Method):
    """iidBest: ask about pairs drawn at random, return the candidate with the highest score.

    It certifies nothing: its bound stays at S, so a session needs a budget.

    Parameters
    ----------
    norm_bound : float
        S.
    """

    name: ClassVar[str] = "iidbest"
    stops: ClassVar[bool] = False
    run: ClassVar[type[Run]] = _IidBestRun

    def __init__(self, *, norm_bound: float = NORM_BOUND) -> None:
        self.norm_bound = check_norm_bound(norm_bound)


class _FixedRun(Run):
    """A choice made before anything is asked: the highest utility, or one drawn at random."""

    def __init__(
        self,
        features: NDArray[np.float64],
        seed: int,
        norm_bound: float,
        utilities: NDArray[np.float64] | None = None,
    ) -> None:
        if utilities is not None and len(utilities) != len(features):
            raise OptionError(
                f"{len(utilities)} utilities for {len(features)} candidates; give one each"
            )
        super().__init__(features, seed, norm_bound)
        self.tie = 0.0  # utilities are exact, on whatever scale
        certain = utilities is not None or len(features) < 2
        self._bound = 0.0 if certain else norm_bound
        self._scores = np.zeros(len(features)) if utilities is None else utilities

    def add(self, first: int, second: int, winner: int) -> None:
        """Ignore the answer: the choice is made."""

    def decide(self) -> Decision:
        return Decision(self.best(), None, self._bound)

    def scores(self) -> NDArray[np.float64]:
        return self._scores


class Random(Method):
    """Random: a candidate drawn uniformly, without any question. The lower end of the scale."""

    name: ClassVar[str] = "random"
    asks: ClassVar[bool] = False
    run: ClassVar[type[Run]] = _FixedRun


class Oracle(Method):
    """Oracle: the best candidate, by knowing the person's utilities. The upper end of the scale.

    Parameters
    ----------
    utilities : sequence of float, length K
        What each candidate is worth to the person.
    """

    name: ClassVar[str] = "oracle"
    asks: ClassVar[bool] = False
    run: ClassVar[type[Run]] = _FixedRun

    def __init__(self, *, utilities: Sequence[float] | NDArray[np.float64] | None = None) -> None:
        if utilities is None:
            raise OptionError(
                "oracle needs utilities=, one number per candidate: it knows what others must ask"
            )
        try:
            self.utilities = np.array(utilities, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OptionError(f"utilities must be a list of numbers: {error}") from None
        if self.utilities.ndim != 1 or not np.isfinite(self.utilities).all():
            raise OptionError(
                f"utilities must be a list of finite numbers, got shape {self.utilities.shape}"
            )

    def run_options(self) -> dict[str, Any]:
        """Return the utilities; see `Method.run_options`."""
        return {"utilities": self.utilities}
