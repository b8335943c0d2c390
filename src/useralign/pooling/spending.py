"""What a pool costs: counted by role, kept within a limit, and told as the paper tells it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from useralign.models.generators.base import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

ROLES = ("baseline", "unbiased", "interests", "answers", "ideas", "checks")
_ROUNDING = 1e-12


class OverBudgetError(Exception):
    """Inside this package only: the next call might exceed the limit, so it is not made."""


class Ledger:
    """Usage by role, and a gate that keeps the cost within a limit.

    Calls run side by side, and what one costs is known only when it is over. So a call may begin
    when there is room for it and for all that are under way, each taken to cost as much as the
    dearest so far; the very first goes alone.

    Parameters
    ----------
    max_cost : float, optional
    """

    def __init__(self, max_cost: float | None = None) -> None:
        self.usage: dict[str, Usage] = {role: Usage() for role in ROLES}
        self._max = max_cost
        self._spent = 0.0
        self._dearest: float | None = None
        self._open = 0
        self._changed = asyncio.Condition()

    @property
    def total(self) -> Usage:
        """The sum over all roles."""
        return sum(self.usage.values(), Usage())

    def add(self, role: str, usage: Usage) -> None:
        """Count what one call used, or had used when it was made."""
        self.usage[role] += usage
        # What came from a cache says nothing about what a call costs. A call without a price counts
        # as free: a limit in dollars cannot hold it.
        if usage.calls:
            cost = usage.cost or 0.0
            self._spent += cost
            self._dearest = max(self._dearest or 0.0, cost)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Wait until a call may begin, and count it as under way.

        Raises
        ------
        OverBudgetError
            If there will be no room for it.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._room() is not None)
            if not self._room():
                raise OverBudgetError
            self._open += 1
        try:
            yield
        finally:
            async with self._changed:
                self._open -= 1
                self._changed.notify_all()

    def _room(self) -> bool | None:
        """Return whether there is room; None as long as calls under way may still tell."""
        if self._max is None:
            return True
        if self._dearest is None:
            alone = self._open == 0
            return (self._spent < self._max) if alone else None
        if self._spent + (self._open + 1) * self._dearest <= self._max + _ROUNDING:
            return True
        return None if self._open else False

    def report(self, model: str, embedder: str, seconds: float, count: int) -> dict[str, Any]:
        """Return the usage by role, and a sentence in the form of the paper's cost section.

        Parameters
        ----------
        model, embedder : str
        seconds : float
            Time that embedding took.
        count : int
            How many candidates the pool has.
        """
        total = self.total
        return {
            **{role: asdict(usage) for role, usage in self.usage.items()},
            "generation": asdict(total),
            "embedding": {"model": embedder, "seconds": seconds, "candidates": count},
            "summary": f"Candidate pool generation with {model} cost {dollars(total.cost)}; "
            f"embedding all candidates with {embedder} took {seconds:.2f} seconds.",
        }


def dollars(cost: float | None) -> str:
    """Write a cost as the paper does."""
    if cost is None:
        return "an unknown amount (no price is known for this model)"
    return "less than $0.01" if 0 < cost < 0.005 else f"${cost:.2f}"


def usage_from(data: Mapping[str, Any] | None) -> Usage:
    """Build a usage from `asdict`'s form.

    Raises
    ------
    TypeError
        If it is of another form.
    """
    return Usage(**(data or {}))
