"""Which of the candidates that arrived make up the pool: no two of them alike, if possible."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.pooling.duplicates import cosine, overlap, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from useralign.pool import Candidate
    from useralign.pooling.features import Features
    from useralign.pooling.recipe import Recipe


class _Likeness(NamedTuple):
    similarity: float
    alike: bool
    twin: Candidate | None


class Selection:
    """The candidates chosen so far, and those set aside because they are like one of them.

    Parameters
    ----------
    recipe : Recipe
    features : Features

    Attributes
    ----------
    chosen : list of Candidate
    flagged : list of dict
        The pairs found alike: the ids, the similarity, and whether the second is in the pool.
    """

    def __init__(self, recipe: Recipe, features: Features) -> None:
        self.chosen: list[Candidate] = []
        self.flagged: list[dict[str, Any]] = []
        self._spares: list[Candidate] = []
        self._recipe = recipe
        self._features = features

    async def offer(self, candidates: Sequence[Candidate], quota: int) -> list[Candidate]:
        """Choose those unlike all the chosen ones, in order, and return those set aside.

        Parameters
        ----------
        candidates : sequence of Candidate
        quota : int
            How many to choose at most.
        """
        if self._features.tell_alike:
            await self._features.learn_aside(candidates)
        aside = []
        for candidate in candidates:
            if quota <= 0:
                break
            likeness = self._likeness(candidate)
            if likeness.twin is not None and likeness.alike:
                aside.append(candidate)
                self._flag(candidate, likeness)
            else:
                self.chosen.append(candidate)
                quota -= 1
        self._spares += aside
        return aside

    def fill(self, count: int) -> None:
        """Fill the pool up with the least alike of those set aside, and mark them.

        The very same answer twice is left out: there is nothing to choose between.
        """
        while len(self.chosen) < count and self._spares:
            ranked = [(self._likeness(spare), spare) for spare in self._spares]
            likeness, spare = min(ranked, key=lambda pair: pair[0].similarity)
            self._spares.remove(spare)
            if likeness.twin is None or self._identical(spare, likeness.twin):
                continue
            mark = {"near_duplicate_of": likeness.twin.id, "similarity": likeness.similarity}
            self.chosen.append(replace(spare, meta={**spare.meta, **mark}))
            self._flag(spare, likeness, kept=True)

    def _flag(self, candidate: Candidate, likeness: _Likeness, *, kept: bool = False) -> None:
        self.flagged = [f for f in self.flagged if f["second"] != candidate.id]
        twin = likeness.twin.id if likeness.twin else None
        entry = {"first": twin, "second": candidate.id, "similarity": likeness.similarity}
        self.flagged.append({**entry, "kept": kept})

    def _likeness(self, candidate: Candidate) -> _Likeness:
        """Compare a candidate with the chosen ones; return the most alike of them."""
        nearest = _Likeness(-1.0, alike=False, twin=None)
        for other in self.chosen:
            found = self._compare(candidate, other)
            nearest = max(nearest, found, key=lambda one: (one.alike, one.similarity))
        return nearest

    def _compare(self, candidate: Candidate, other: Candidate) -> _Likeness:
        if self._identical(candidate, other):
            return _Likeness(1.0, alike=True, twin=other)
        # Pictures for the same interest have the same text, and may differ all the same.
        shared = overlap(candidate.text, other.text) if self._recipe.kind == "text" else 0.0
        near = 0.0
        if self._features.tell_alike:
            near = cosine(self._features.of(candidate), self._features.of(other))
        alike = shared >= self._recipe.max_overlap or near >= self._recipe.nearest
        return _Likeness(round(max(shared, near), 4), alike=alike, twin=other)

    def _identical(self, candidate: Candidate, other: Candidate) -> bool:
        if self._recipe.kind == "image":
            return bool(candidate.meta["sha256"] == other.meta["sha256"])
        return same(candidate.text, other.text)
