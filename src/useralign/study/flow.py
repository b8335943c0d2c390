"""The way of a participant through a study, as the paper describes it (section 6).

    landing -> query -> comparisons -> evaluation -> done

The landing page asks for consent; nothing is recorded before it is given. Stage 1 shows the query
and the persona, stage 2 compares, stage 3 sets the selections at two steps and a random candidate
against the baseline. Everything here is plain logic; `desk` keeps it in the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from useralign.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from useralign.pool import Pool

LANDING, QUERY, COMPARISONS, EVALUATION, DONE = (
    "landing",
    "query",
    "comparisons",
    "evaluation",
    "done",
)
STAGES = (QUERY, COMPARISONS, EVALUATION, DONE)
SIDES = ("left", "right")
LATER, EARLIER, RANDOM, ATTENTION = "later", "earlier", "random", "attention"
INSTRUCTED = -1  # the "candidate" of an attention check: the option that says to choose it


@dataclass(frozen=True, slots=True)
class Matchup:
    """One comparison of stage 3.

    Parameters
    ----------
    number : int
        The order on the screen, from 0.
    role : {"later", "earlier", "random", "attention"}
        What is set against the baseline.
    candidate : int
        Its place in the pool; `INSTRUCTED` in an attention check.
    side : {"left", "right"}
        Where it stands.
    """

    number: int
    role: str
    candidate: int
    side: str


def random_candidate(pool: Pool, seed: int) -> int:
    """Return the candidate that the method Random chooses."""
    return Session(pool, "random", seed=seed).best.index


def selections(
    bests: Sequence[int], checkpoints: Sequence[int], pool: Pool, rng: Random
) -> dict[str, int]:
    """Return the three candidates of stage 3 by their role.

    They may coincide; each is evaluated in a matchup of its own all the same.

    Parameters
    ----------
    bests : sequence of int
        The candidate that the session recommended after 0, 1, 2, ... answers.
    checkpoints : sequence of int
        The earlier and the later step; the last answer where there are fewer.
    pool : Pool
    rng : Random
    """
    earlier, later = (bests[min(step, len(bests) - 1)] for step in checkpoints)
    return {
        LATER: later,
        EARLIER: earlier,
        RANDOM: random_candidate(pool, rng.getrandbits(32)),
    }


def plan_matchups(chosen: dict[str, int], rng: Random, *, attention: bool) -> list[Matchup]:
    """Put the matchups of stage 3 into a random order, on sides as even as they can be."""
    pairs = list(chosen.items())
    if attention:
        pairs.append((ATTENTION, INSTRUCTED))
    rng.shuffle(pairs)
    half = [*SIDES] * (len(pairs) // 2) + [rng.choice(SIDES)] * (len(pairs) % 2)
    rng.shuffle(half)
    return [
        Matchup(number, role, candidate, side)
        for number, ((role, candidate), side) in enumerate(zip(pairs, half, strict=True))
    ]
