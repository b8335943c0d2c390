"""What passes between a session and the growth of its pool."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from useralign.models.generators.base import Usage
from useralign.pooling.grow_record import record_of
from useralign.pooling.journal import digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from useralign.pool import Candidate, Pool
    from useralign.pooling.grow_round import Rejected
    from useralign.pooling.grow_taste import Taste


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of a session that new candidates are made from. Nothing changes it.

    Parameters
    ----------
    pool : Pool
    taste : Taste
    step : int
        How many comparisons were answered.
    """

    pool: Pool
    taste: Taste
    step: int

    @property
    def key(self) -> str:
        """What sets it apart: the same pool, taste and growth so far have the same key."""
        parts = [
            self.pool.fingerprint,
            asdict(self.taste),
            self.step,
            record_of(self.pool)["asked"],
        ]
        return digest(parts)[:16]


@dataclass(frozen=True, slots=True)
class Proposal:
    """New candidates that wait to join a session.

    Parameters
    ----------
    candidates : tuple of Candidate
    features : ndarray, shape (n, d)
        In the space of the pool's raw features.
    rejected : tuple of Rejected
        What the model gave besides.
    usage : Usage
        What all of it used, when it was made.
    problem : str
        Why there are fewer than wanted, where something went wrong; empty otherwise.
    key : str
        That of the snapshot. A proposal joins once.
    asked : int
        How many candidates were asked for.
    """

    candidates: tuple[Candidate, ...]
    features: NDArray[np.float64]
    rejected: tuple[Rejected, ...] = ()
    usage: Usage = field(default_factory=Usage)
    problem: str = ""
    key: str = ""
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Grown:
    """What became of a session's growth.

    Parameters
    ----------
    joined : tuple of Candidate
        The new ones, as the pool has them now.
    rejected : tuple of Rejected
    usage : Usage
    problem : str
        What went wrong, in words for the user; empty if nothing did. The session goes on.
    """

    joined: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    usage: Usage
    problem: str = ""
