"""What a session says about a person's taste, in terms that a model can be told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.session import Session

EXAMPLES = 3
REMARKS = 3


@dataclass(frozen=True, slots=True)
class Taste:
    """Examples of what a person likes and does not like.

    Parameters
    ----------
    liked, disliked : tuple of int
        Places in the pool, the clearest first; none is in both.
    remarks : tuple of str
        What the person said, the newest last.
    """

    liked: tuple[int, ...] = ()
    disliked: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()


def taste_of(session: Session, examples: int = EXAMPLES) -> Taste:
    """Read a person's taste off a session.

    Only what the person saw is an example. Each is weighed by its standardised score plus the share
    of its screens that it won less the share that it lost. Liked is what won and weighs more than
    nothing, at least the best of the winners; disliked what lost or will not do, and weighs less.

    Parameters
    ----------
    session : Session
    examples : int
        How many of each to name at most.
    """
    won, lost, seen = Counter[int](), Counter[int](), Counter[int]()
    for answer in session.answers:
        seen.update(answer.candidates)
        won.update({winner for winner, _ in answer.wins})
        lost.update({loser for _, loser in answer.wins})
        if answer.kind == "neither":
            lost.update(answer.candidates)
    score = _standardised(session.scores)
    appeal = {k: float(score[k]) + (won[k] - lost[k]) / seen[k] for k in seen}
    # Equal ones in the order of the pool, so that the same answers give the same examples.
    ranked = sorted(sorted(seen), key=lambda k: -appeal[k])
    winners = [k for k in ranked if won[k]]
    liked = ([k for k in winners if appeal[k] > 0] or winners[:1])[:examples]
    losers = [k for k in reversed(ranked) if lost[k] and k not in liked]
    disliked = [k for k in losers if appeal[k] < 0][:examples]
    said = [a.text.strip() for a in session.answers if a.kind == "remark" and a.text.strip()]
    return Taste(tuple(liked), tuple(disliked), tuple(said[-REMARKS:]))


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(scores.std())
    if not np.isfinite(spread) or spread <= 0.0:
        return np.zeros(len(scores))
    return np.asarray((scores - scores.mean()) / spread)
