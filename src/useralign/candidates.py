"""Candidates: the possible answers, and lists of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, overload

from useralign.errors import PoolError


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible answer.

    Parameters
    ----------
    text : str
        The answer, or for an image what it shows.
    image : str, optional
        Path of an image file, for candidates that are pictures.
    id : str, optional
        A name that is stable across runs; the pool gives `c0`, `c1`, ... where there is none.
    source : str, optional
        How it came to be: `"unbiased"`, `"interest"`, `"given"`, ...
    interest : str, optional
        The interest that an answer was written for.
    meta : mapping
        Anything else worth keeping: prompt, model, usage, ... Must be JSON-able to be saved.
    index : int
        Its place in the pool; set by the pool.
    """

    text: str = ""
    image: str | None = None
    id: str | None = None
    source: str | None = None
    interest: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)
    index: int = -1

    def __str__(self) -> str:
        return self.text or self.image or f"candidate {self.index}"

    @property
    def label(self) -> str:
        """Its id if it has one, else its place in the pool."""
        return self.id or f"c{self.index}"

    def to_dict(self) -> dict[str, Any]:
        """Return its fields but the index, without those that are empty."""
        return {k: v for k, v in asdict(self).items() if k != "index" and v not in (None, "", {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Candidate:
        """Build a candidate from `to_dict`'s form; unknown keys go to `meta`."""
        known = {f.name for f in fields(cls)} - {"index", "meta"}
        extra = {k: v for k, v in data.items() if k not in known and k != "meta"}
        chosen = {k: v for k, v in data.items() if k in known}
        return cls(**chosen, meta={**data.get("meta", {}), **extra})


class Numbered(Sequence[Candidate]):
    """Candidates that have nothing but a number, made when looked at: a million cost nothing."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        place = range(self._count)[index]
        return Candidate(id=f"c{place}", index=place)


def indexed(candidates: Sequence[Candidate | str]) -> Sequence[Candidate]:
    """Return candidates that know their places; texts become candidates."""
    if isinstance(candidates, Numbered):
        return candidates
    return tuple(
        Candidate(text=item, index=index)
        if isinstance(item, str)
        else replace(checked(item, index), index=index)
        for index, item in enumerate(candidates)
    )


def check_list(candidates: object) -> None:
    """Raise PoolError unless it is a list with something in it."""
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise PoolError(
            f"candidates must be a list of Candidate or str, got {type(candidates).__name__}"
        )
    if len(candidates) == 0:
        raise PoolError("the pool is empty: at least one candidate is needed")


def checked(item: object, place: int) -> Candidate:
    """Return a candidate, or raise PoolError if it is something else."""
    if not isinstance(item, Candidate) or not isinstance(item.text, str):
        raise PoolError(f"candidate {place} must be a Candidate or a text, got {item!r:.60}")
    return item


def joined(
    present: Sequence[Candidate], given: Sequence[Candidate | str], rows: int
) -> tuple[Sequence[Candidate], list[int]]:
    """Return the candidates that are there with new ones behind them, and which joined.

    Parameters
    ----------
    present : sequence of Candidate
    given : sequence of Candidate or str
        A text and image that is there already, or was given before, does not join again.
    rows : int
        How many rows of features came with them.

    Raises
    ------
    PoolError
        If the numbers differ, or an id is taken by another candidate.
    """
    check_list(given)
    if len(given) != rows:
        raise PoolError(f"{len(given)} new candidates but {rows} rows of features; give one each")
    known = {(c.text.strip(), c.image) for c in present}
    labels = {c.label for c in present}
    everyone, kept = list(present), list[int]()
    for place, item in enumerate(indexed(given)):
        what = (item.text.strip(), item.image)
        if any(what) and what in known:
            continue
        new = replace(item, index=len(everyone))
        if new.label in labels:
            raise PoolError(
                f"the id {new.label!r} belongs to another candidate already; give new candidate "
                f"{place} another id, or none"
            )
        known.add(what)
        labels.add(new.label)
        everyone.append(new)
        kept.append(place)
    return everyone, kept
