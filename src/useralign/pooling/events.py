"""What the making of a pool tells whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from useralign.models.generators.base import Usage

if TYPE_CHECKING:
    from useralign.pool import Candidate


@dataclass(frozen=True, slots=True)
class Event:
    """One step in the making of a pool.

    Parameters
    ----------
    kind : str
        `begin`; `baseline`, `interests`, `ideas` (some were listed or weighed; `note` says
        how many), `candidate` (it arrived and is usable), `rejected` (it is not; `note` says
        why), `duplicate` (it is too much like another, and is replaced); `embedded`; `done`.
    made, wanted : int
        How many of how many candidates there are. A duplicate takes one away again.
    candidate : Candidate, optional
        The one that the event is about.
    note : str
    usage : Usage
        All that the pool has used so far.
    """

    kind: Literal[
        "begin",
        "baseline",
        "interests",
        "ideas",
        "candidate",
        "rejected",
        "duplicate",
        "embedded",
        "done",
    ]
    made: int
    wanted: int
    candidate: Candidate | None = None
    note: str = ""
    usage: Usage = field(default_factory=Usage)


Progress = Callable[[Event], None]
