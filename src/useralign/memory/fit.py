"""From earlier sessions to what they have in common."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from useralign.memory.belief import CARRY, Belief
from useralign.memory.design import Design, design, recurring
from useralign.memory.learning import learn
from useralign.memory.memory import Memory
from useralign.memory.population import Population

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from useralign.memory.past import Past

WEIGHTS = (1.0, 0.15, 0.05)  # how far the covariance may be drawn to a multiple of the identity
FOLDS = 3
ROUNDS = 12  # enough to compare by
FEW = 6  # with fewer people, nobody is left out, and tastes vary alike in all directions
CARRIES = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)


def grouped(pasts: Iterable[Past]) -> list[list[Past]]:
    """Return the sessions that say anything by person, in the order they came."""
    people: defaultdict[str, list[Past]] = defaultdict(list)
    for past in pasts:
        if len(past):
            people[past.person].append(past)
    return list(people.values())


def fit(pasts: Iterable[Past]) -> Memory:
    """Learn what people want from their earlier sessions.

    Parameters
    ----------
    pasts : iterable of Past
        Sessions with one `person` belong together. Each kind of features is learnt from by
        itself: a taste in one embedder's says nothing about another's.

    Returns
    -------
    Memory
        Without anybody's own sessions; it speaks of nothing if nobody said anything.
    """
    spaces: defaultdict[tuple[str | None, int], list[Past]] = defaultdict(list)
    for past in pasts:
        spaces[past.space].append(past)
    found = (
        _fitted(people, space[0]) for space, said in spaces.items() if (people := grouped(said))
    )
    return Memory(populations=tuple(found))


def _fitted(people: Sequence[Sequence[Past]], embedder: str | None) -> Population:
    keys = recurring(people)
    everybody = design(people, keys)
    weight, gain = _chosen(everybody)
    belief = learn(everybody, weight).belief
    found = Population(
        embedder,
        replace(belief, carry=_carried(people, belief)),
        tuple(keys),
        len(people),
        sum(map(len, people)),
        sum(len(past) for mine in people for past in mine),
        gain,
    )
    return found if gain is None or gain > 0 else found.idle()


def _chosen(everybody: Design) -> tuple[float, float | None]:
    """Return the weight under which people who were left out are most probable, and the gain."""
    count = len(everybody)
    if count < FEW:
        return 1.0, None
    scores = dict.fromkeys(WEIGHTS, 0.0)
    without = 0.0
    for fold in range(FOLDS):
        out = np.arange(count) % FOLDS == fold
        rest = everybody.subset(np.flatnonzero(~out))
        held = everybody.subset(np.flatnonzero(out))
        without += _score(learn(rest, 1.0, common=False, rounds=ROUNDS).belief, held)
        for weight in WEIGHTS:
            scores[weight] += _score(learn(rest, weight, rounds=ROUNDS).belief, held)
    best = max(WEIGHTS, key=scores.__getitem__)
    return best, (scores[best] - without) / everybody.said


def _carried(people: Sequence[Sequence[Past]], belief: Belief) -> float:
    """Return how much of a taste carries over, as people with several questions show."""
    often = [mine for mine in people if len({past.question for past in mine}) > 1]
    if len(often) < FEW:
        return CARRY
    held = design(often)
    blank = replace(belief, popularity=np.zeros(0))
    return max(CARRIES, key=lambda carry: _score(replace(blank, carry=carry), held))


def _score(belief: Belief, held: Design) -> float:
    return float(belief.judge(held).evidence.sum())
