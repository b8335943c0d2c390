"""The paper's own numbers, from `data/paper.toml`, to be shown beside ours."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter

from useralign.domains.near import base_of
from useralign.lab.wording import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

DOMAINS = ("food64d", "travel64d", "visual512d", "dsp64d")
EPSILONS = (3.0, 2.0, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
BUDGETS = (0, 5, 10, 15, 20, 25, 50, 75, 100, 150, 199)
MATCHED = (20, 25, 50)  # the budgets of iidBest that the paper sets against UserAlign
CAP = 199  # the paper's limit on steps


class Mean(NamedTuple):
    """A mean with its standard error."""

    mean: float
    sem: float

    def to_dict(self) -> dict[str, float]:
        """Return it as plain data."""
        return {"mean": round(self.mean, 6), "sem": round(self.sem, 6)}


class TradeOff(NamedTuple):
    """One row of the win-rate and cost tables."""

    method: str
    win: Mean  # in percent
    cost: Mean  # in questions
    epsilon: float | None = None  # the stopping threshold, for the methods that have one
    t: int | None = None  # the number of questions, for iidBest


class WallClock(NamedTuple):
    """Seconds that one step of UserAlign took, in parts."""

    domain: str
    candidates: int
    total: float
    estimate: float
    first: float
    second: float


class Costs(NamedTuple):
    """What one run cost: dollars for the pool and the simulated user, seconds for embedding."""

    domain: str
    pool_usd: float
    embedding_seconds: float
    comparisons_usd: float
    generator: str
    user: str


class Human(NamedTuple):
    """One cell of the table of the study with people."""

    method: str
    domain: str
    persona: bool
    t: int
    win: Mean


class Printed(NamedTuple):
    """The one pool that the paper prints, measured by us."""

    embedded: str
    distances: tuple[float, float]  # within the unbiased half, and within all
    costs: tuple[Mean, Mean, Mean]  # of UserAlign at the thresholds in the middle


@dataclass(frozen=True)
class Paper:
    """All of the paper's tables, as the file has them."""

    domains: dict[str, tuple[str, int]]  # what makes the features, and how many questions
    trade_off: dict[str, list[TradeOff]]  # by domain
    head_to_head: dict[tuple[str, int], Mean]  # UserAlign at epsilon 0 against iidBest at t, in %
    large_pool: dict[tuple[str, int], Mean]  # win-rates with N = 1,000 by method and t, in percent
    wall_clock: list[WallClock]
    costs: list[Costs]
    human_study: list[Human]
    printed: list[Printed]


@cache
def load() -> Paper:
    """Read the paper's numbers."""
    data = tomllib.loads((DATA / "paper.toml").read_text(encoding="utf-8"))
    for table in ("head_to_head", "large_pool"):
        data[table] = {(name, row["t"]): row["win"] for name, row in _rows(data[table])}
    data["human_study"] = [{"method": name, **row} for name, row in _rows(data["human_study"])]
    return TypeAdapter(Paper).validate_python(data)


def row(
    domain: str, method: str, *, epsilon: float | None = None, t: int | None = None
) -> TradeOff | None:
    """Return the row of a domain's table, or None where the paper has none.

    Variants of a domain have the paper's rows of that domain.
    """
    rows = load().trade_off.get(base_of(domain), [])
    return next((r for r in rows if (r.method, r.epsilon, r.t) == (method, epsilon, t)), None)


def _rows(table: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, rows in table.items():
        yield from ((name, row) for row in rows)
