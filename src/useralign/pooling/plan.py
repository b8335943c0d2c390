"""What to ask for next: the groups of candidates that a pool is made of."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from useralign.pool import Candidate

Source = Literal["unbiased", "interest", "given"]


class Ask(NamedTuple):
    """One candidate to ask for."""

    source: Source
    id: str
    interest: str | None
    idea: str | None = None

    @property
    def role(self) -> str:
        """What it counts as in the usage."""
        return "unbiased" if self.source == "unbiased" else "answers"


@dataclass
class Group:
    """Candidates of one source, as many as its quota.

    Asks are numbered in the order in which they are made, which depends on the replies alone. So a
    replay of the replies makes the same asks, with the same ids and seeds.

    Parameters
    ----------
    source : {"unbiased", "interest", "given"}
    quota : int
    interests : sequence of str or None
        What to ask for; None asks for the question alone.
    each : int, optional
        How many to ask for of each interest at first; when not given, as many as the quota in all.
    """

    source: Source
    quota: int
    interests: Sequence[str | None] = (None,)
    each: int | None = None
    asked: int = 0

    def first(self) -> list[Ask]:
        """Return the asks to begin with."""
        if self.each is None:
            return self._asks(islice(cycle(self.interests), self.quota))
        return self._asks(interest for interest in self.interests for _ in range(self.each))

    def more(self, chosen: Sequence[Candidate]) -> list[Ask]:
        """Return the asks for what is missing; the interests least served come first."""
        served = Counter(c.interest for c in chosen if c.source == self.source)
        missing = self.quota - served.total()
        if missing <= 0:
            return []
        order = sorted(self.interests, key=lambda interest: served[interest])
        return self._asks(islice(cycle(order), missing))

    def _asks(self, interests: Iterable[str | None]) -> list[Ask]:
        asks = [
            Ask(self.source, f"{self.source[0]}{number}", interest)
            for number, interest in enumerate(interests, start=self.asked + 1)
        ]
        self.asked += len(asks)
        return asks


def seed_of(seed: int, name: str) -> int:
    """Return the seed of one request: its own, and the same in every run of the recipe."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:4]) >> 1
