"""How fast confidence sets shrink in synthetic2d: the curves of the paper's Figure 2c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from useralign.domains import synthetic
from useralign.lab.metrics import mean_sem
from useralign.lab.tables import Table, Value
from useralign.lab.versionspace import Step, trace
from useralign.users import Consistent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from useralign.lab.paper import Mean

SETS = {"useralign_loss": "loss-based set", "useralign": "practical set"}
MEASURES: dict[str, Callable[[Step], float]] = {
    "area": lambda step: step.region.area() / step.region.full_area,
    "viable": lambda step: float(len(step.viable)),
    "bound": lambda step: step.bound,
}
RUNS = 40
STEPS = (*range(21), *range(25, 101, 5))


@dataclass(frozen=True, slots=True)
class Curves:
    """Means over runs of what is left after t answers.

    Parameters
    ----------
    runs : int
    steps : tuple of int
        The t at which the rest is given.
    values : dict of (method, measure) to list of Mean
        Measures are `area` (of the confidence set, over that of the disc), `viable` (the number of
        candidates that may be the best) and `bound`, B(t).
    """

    runs: int
    steps: tuple[int, ...]
    values: dict[tuple[str, str], list[Mean]]

    def table(self) -> Table:
        """Return the curves as a table."""
        columns = [f"{measure}, {SETS[method]}" for method, measure in self.values]
        rows: list[tuple[Value, ...]] = [
            (t, *(curve[place] for curve in self.values.values()))
            for place, t in enumerate(self.steps)
        ]
        return Table(
            "figure2-curves",
            "synthetic2d: what is left after t answers",
            ("t", *columns),
            rows,
            f"Mean (standard error) over {self.runs} runs with consistent users.",
            digits=3,
        )

    def at(self, method: str, measure: str, t: int) -> Mean:
        """Return one point of a curve."""
        return self.values[method, measure][self.steps.index(t)]

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as plain data."""
        return self.table().to_dict()


def measure(runs: int = RUNS, steps: Sequence[int] = STEPS, seed: int = 0) -> Curves:
    """Run both methods on the same pools and users, and average.

    Parameters
    ----------
    runs : int
    steps : sequence of int
        Increasing; the last is the budget.
    seed : int
        Of the first run; the others follow.
    """
    kept: dict[str, list[list[Step]]] = {
        method: [_run(method, seed + run, steps) for run in range(runs)] for method in SETS
    }
    values = {
        (method, name): [
            mean_sem(of(trail[place]) for trail in kept[method]) for place in range(len(steps))
        ]
        for method in SETS
        for name, of in MEASURES.items()
    }
    return Curves(runs, tuple(steps), values)


def _run(method: str, seed: int, steps: Sequence[int]) -> list[Step]:
    pool = synthetic.pool(seed)
    user = Consistent(pool, seed=seed)
    return trace(pool, user, method, budget=steps[-1], seed=seed, keep=set(steps))
