"""Version spaces in two dimensions: what the answers leave possible, and how fast it shrinks.

A confidence set in the plane is a disc of radius S, cut by the level line of the loss (Eq. 3) and,
for UserAlign, by a half-plane for each answer (Eq. 4). Seen from the origin the half-planes leave a
sector, and on each ray the loss is convex, so that the set is an interval of each ray: its outline
and its area follow by integrating over the angle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from useralign.domains import synthetic
from useralign.geometry import beta, fit
from useralign.geometry.mle import LOG2, softplus
from useralign.lab.metrics import mean_sem
from useralign.lab.tables import Table
from useralign.methods.base import DELTA, NORM_BOUND
from useralign.session import Session
from useralign.users import Consistent, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from useralign.lab.paper import Mean
    from useralign.pool import Pool
    from useralign.users import User

SETS = {"useralign_loss": "loss-based set", "useralign": "practical set"}
RUNS = 40
STEPS = (*range(21), *range(25, 101, 5))
_HALVINGS = 48
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_MARGIN = 1e-12  # how far above the level, relatively, still counts as on it


@dataclass(frozen=True, slots=True)
class Region:
    """A confidence set in the plane."""

    rows: NDArray[np.float64]  # shape (t, 2); winner minus loser for each answer
    cone: bool  # whether every answer also cuts the set by its half-plane: the practical set
    norm_bound: float  # S
    level: float  # the largest loss that the set allows

    @classmethod
    def after(
        cls, rows: NDArray[np.float64], *, cone: bool, norm_bound: float = NORM_BOUND
    ) -> Region:
        """Build the set that the answers leave, with the level of Eq. 3."""
        if not len(rows):
            return cls(rows.reshape(0, 2), cone, norm_bound, math.inf)
        least = fit(np.ascontiguousarray(rows), norm_bound).loss
        return cls(rows, cone, norm_bound, least + beta(len(rows), 2, norm_bound, DELTA))

    def sector(self) -> tuple[float, float]:
        """Return the angles between which the half-planes leave something; equal if nothing.

        Angles increase from the first to the second, which differ by 2 pi at most.
        """
        if not self.cone or not len(self.rows):
            return -math.pi, math.pi
        facing = np.arctan2(self.rows[:, 1], self.rows[:, 0])
        low, high = facing[0] - math.pi / 2, facing[0] + math.pi / 2
        for angle in facing[1:]:
            middle = (low + high) / 2
            near = middle + math.remainder(angle - middle, 2 * math.pi)
            low, high = max(low, near - math.pi / 2), min(high, near + math.pi / 2)
            if low >= high:
                return float(middle), float(middle)
        return float(low), float(high)

    def reach(self, angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the rays at these angles enter and leave the disc and the loss set.

        Angles and both results have shape (n,); the two are equal where a ray misses the set.
        """
        rays = np.column_stack([np.cos(angles), np.sin(angles)])
        margins = rays @ self.rows.T
        zero, far = np.zeros(len(angles)), np.full(len(angles), self.norm_bound)
        if (self._loss(margins, far) <= self._ceiling).all() and self._has_origin:
            return zero, far
        lowest = zero if self._has_origin else self._lowest(margins)
        outer = self._crossing(margins, lowest, far)
        inner = zero if self._has_origin else self._crossing(margins, lowest, zero)
        missed = self._loss(margins, lowest) > self._ceiling
        return np.where(missed, 0.0, inner), np.where(missed, 0.0, outer)

    def area(self) -> float:
        """Return the set's area, by Gauss-Legendre quadrature over four pieces of the sector."""
        low, high = self.sector()
        half = (high - low) / 8
        angles = np.concatenate([low + half * (middle + _NODES) for middle in (1, 3, 5, 7)])
        inner, outer = self.reach(angles)
        return float(half * np.tile(_WEIGHTS, 4) @ (outer**2 - inner**2) / 2)

    def outline(self) -> NDArray[np.float64]:
        """Trace the set's boundary: a closed polygon, shape (n, 2)."""
        low, high = self.sector()
        angles = np.linspace(low, high, 361)
        inner, outer = self.reach(angles)
        rays = np.column_stack([np.cos(angles), np.sin(angles)])
        outward = rays * outer[:, None]
        if high - low >= 2 * math.pi - 1e-9 and self._has_origin:
            return np.asarray(outward)
        seen = outer > inner
        inward = rays * inner[:, None]
        return np.concatenate([outward[seen], inward[seen][::-1]])

    @property
    def _ceiling(self) -> float:
        return self.level + _MARGIN * (1.0 + abs(self.level))

    @property
    def _has_origin(self) -> bool:
        return len(self.rows) * LOG2 <= self._ceiling

    @staticmethod
    def _loss(margins: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss at a length along each ray; margins of shape (n, t)."""
        return np.asarray(softplus(-margins * lengths[:, None]).sum(axis=1))

    def _lowest(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where on each ray the loss is least, by halving on the sign of its slope."""
        low, high = np.zeros(len(margins)), np.full(len(margins), self.norm_bound)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            slope = -(margins / (1.0 + np.exp(margins * middle[:, None]))).sum(axis=1)
            low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
        return np.asarray((low + high) / 2)

    def _crossing(
        self,
        margins: NDArray[np.float64],
        inside: NDArray[np.float64],
        outside: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return how far from `inside` towards `outside` the loss stays below the level."""
        near, far = inside.copy(), outside.copy()
        within = self._loss(margins, far) <= self._ceiling
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            allowed = self._loss(margins, middle) <= self._ceiling
            near, far = np.where(allowed, middle, near), np.where(allowed, far, middle)
        return np.where(within, outside, near)


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of an interaction in the plane, before its comparison is answered."""

    t: int  # how many answers came before
    incumbent: int
    challenger: int | None  # None when nothing is left to ask
    winner: int | None  # what the person answers; None with no challenger
    bound: float  # B(t)
    viable: tuple[int, ...]  # the candidates that may still be the best
    region: Region  # the confidence set


def trace(
    pool: Pool,
    user: User,
    method: str = "useralign",
    *,
    budget: int | None = None,
    seed: int = 0,
    keep: Collection[int] | None = None,
) -> list[Frame]:
    """Run one interaction and keep every step's geometry.

    With a budget it goes on for that many answers whatever the bound; else it stops at epsilon = 0.
    Frames are kept after the numbers of answers in `keep`, or after each; in the last one
    everything is answered.
    """
    cone = method == "useralign"
    session = Session(
        pool,
        method,
        epsilon=0.0 if budget is None else None,
        budget=budget,
        seed=seed,
        **({"reask": True} if cone else {}),
    )
    rows = np.zeros((0, 2))

    def step() -> Frame:
        region = Region.after(rows, cone=cone, norm_bound=session.method.norm_bound)
        viable = tuple(candidate.index for candidate in session.viable)
        return Frame(session.cost, session.best.index, None, None, session.bound, viable, region)

    def is_selected() -> bool:
        return keep is None or session.cost in keep

    steps, current = [], step() if is_selected() else None
    for answer in simulate(session, user):
        if current is not None:
            steps.append(replace(current, challenger=answer.second, winner=answer.winner))
        differences = [pool.features[won] - pool.features[lost] for won, lost in answer.wins]
        rows = np.vstack([rows, *differences])
        current = step() if is_selected() else None
    return [*steps, current or step()]


MEASURES: dict[str, Callable[[Frame], float]] = {
    "area": lambda step: step.region.area() / (math.pi * step.region.norm_bound**2),
    "viable": lambda step: float(len(step.viable)),
    "bound": lambda step: step.bound,
}


@dataclass(frozen=True, slots=True)
class Curves:
    """Means over runs of what is left after t answers."""

    runs: int
    steps: tuple[int, ...]  # the t at which the rest is given
    # measures are `area` (of the confidence set, over that of the disc), `viable` (the number of
    # candidates that may be the best) and `bound`, B(t)
    values: dict[tuple[str, str], list[Mean]]

    def table(self) -> Table:
        """Return the curves as a table."""
        rows = list(zip(self.steps, *self.values.values(), strict=True))
        return Table.worded("figure2-curves", rows, runs=self.runs)

    def at(self, method: str, measure: str, t: int) -> Mean:
        """Return one point of a curve."""
        return self.values[method, measure][self.steps.index(t)]


def measure_curves(runs: int = RUNS, steps: Sequence[int] = STEPS) -> Curves:
    """Run both methods on the same pools and users up to the last of the steps, and average."""
    pools = [synthetic.pool(seed) for seed in range(runs)]
    trails = {
        method: [
            trace(
                pool,
                Consistent(pool, seed=seed),
                method,
                budget=steps[-1],
                seed=seed,
                keep=set(steps),
            )
            for seed, pool in enumerate(pools)
        ]
        for method in SETS
    }
    values = {
        (method, name): [
            mean_sem(of(trail[index]) for trail in trails[method]) for index in range(len(steps))
        ]
        for method in SETS
        for name, of in MEASURES.items()
    }
    return Curves(runs, tuple(steps), values)
