"""The paper's own numbers, from `data/paper.toml`, to be shown beside ours."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).parent / "data" / "paper.toml"
DOMAINS = ("food64d", "travel64d", "visual512d", "dsp64d")
EPSILONS = (3.0, 2.0, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
BUDGETS = (0, 5, 10, 15, 20, 25, 50, 75, 100, 150, 199)
MATCHED = (20, 25, 50)  # the budgets of iidBest that the paper sets against UserAlign
CAP = 199  # the paper's limit on steps


class Mean(NamedTuple):
    """A mean with its standard error."""

    mean: float
    sem: float


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One row of the win-rate and cost tables.

    Parameters
    ----------
    method : str
    epsilon : float or None
        The stopping threshold, for the methods that have one.
    t : int or None
        The number of questions, for iidBest.
    win : Mean
        In percent.
    cost : Mean
        In questions.
    """

    method: str
    epsilon: float | None
    t: int | None
    win: Mean
    cost: Mean


@dataclass(frozen=True, slots=True)
class WallClock:
    """Seconds that one step of UserAlign took, in parts."""

    domain: str
    candidates: int
    total: float
    estimate: float
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What one run cost: dollars for the pool and the simulated user, seconds for embedding."""

    domain: str
    pool_usd: float
    embedding_seconds: float
    comparisons_usd: float
    generator: str
    user: str


@dataclass(frozen=True, slots=True)
class Human:
    """One cell of the table of the study with people."""

    method: str
    domain: str
    persona: bool
    t: int
    win: Mean


@dataclass(frozen=True, slots=True)
class Paper:
    """All of the paper's tables.

    Parameters
    ----------
    trade_off : mapping of str to tuple of TradeOff
        By domain.
    head_to_head : mapping of (domain, t) to Mean
        How often UserAlign at epsilon 0 wins against iidBest at t, in percent.
    large_pool : mapping of (method, t) to Mean
        Win-rates with N = 1,000, in percent.
    wall_clock : tuple of WallClock
    costs : tuple of Costs
    human_study : tuple of Human
    """

    trade_off: Mapping[str, tuple[TradeOff, ...]]
    head_to_head: Mapping[tuple[str, int], Mean]
    large_pool: Mapping[tuple[str, int], Mean]
    wall_clock: tuple[WallClock, ...]
    costs: tuple[Costs, ...]
    human_study: tuple[Human, ...]

    def row(
        self, domain: str, method: str, *, epsilon: float | None = None, t: int | None = None
    ) -> TradeOff | None:
        """Return the row of a domain's table, or None where the paper has none."""
        for row in self.trade_off.get(domain, ()):
            if (row.method, row.epsilon, row.t) == (method, epsilon, t):
                return row
        return None


@cache
def load() -> Paper:
    """Read the paper's numbers."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return Paper(
        trade_off={
            name: tuple(_trade_off(row) for row in rows) for name, rows in data["trade_off"].items()
        },
        head_to_head=_by_step(data["head_to_head"]),
        large_pool=_by_step(data["large_pool"]),
        wall_clock=tuple(WallClock(**row) for row in data["wall_clock"]),
        costs=tuple(Costs(**row) for row in data["costs"]),
        human_study=tuple(
            Human(method, row["domain"], row["persona"], row["t"], Mean(*row["win"]))
            for method, rows in data["human_study"].items()
            for row in rows
        ),
    )


def _trade_off(row: dict[str, Any]) -> TradeOff:
    return TradeOff(
        row["method"], row.get("epsilon"), row.get("t"), Mean(*row["win"]), Mean(*row["cost"])
    )


def _by_step(table: dict[str, list[dict[str, Any]]]) -> dict[tuple[str, int], Mean]:
    return {(name, row["t"]): Mean(*row["win"]) for name, rows in table.items() for row in rows}
