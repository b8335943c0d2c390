"""Learning what people have in common from their earlier sessions, by empirical Bayes.

The belief about everybody is the one that makes everybody's answers most probable. Each round
computes every person's posterior under the belief (expectation propagation), then the belief that
fits these posteriors best. The mean and the popularity are one weighted regression with ridges,
whose sizes are fitted, too; the covariance follows the EM rule

    S = Sigma + Sigma G Sigma,   G = mean over people of A' (w w' - K) A,

where A are a person's rows and w, K come from the sites. It is then drawn towards a multiple of
the identity: what exceeds the floor is made smaller by a weight, the one under which people who
are left out are most probable. The same people tell how far somebody new can be expected to be
like the others: each kind of trust is given the probability that makes their answers most probable.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from useralign.memory.belief import CARRY, RANK, Belief, condensed, observe, recurring
from useralign.memory.memory import Memory, Population
from useralign.methods.frugal.posterior import TRUSTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from useralign.memory.belief import Observations
    from useralign.memory.past import PastSession
    from useralign.methods.frugal.ep import Sites

    Array = NDArray[np.float64]
    Indices = NDArray[np.intp]

Common = Literal["nothing", "popularity", "all"]
Form = tuple[Common, float]
# What people may have in common, and how far the covariance is drawn to a multiple of the identity.
FORMS: tuple[Form, ...] = (
    ("popularity", 1.0),
    ("all", 1.0),
    ("all", 0.15),
    ("all", 0.05),
)
FOLDS = 3
FEW = 6  # with fewer people, nobody is left out, and tastes vary alike in all directions
USUAL = 1.0  # the usual weights of trust count as the answers of so many people
STRANGE = 0.2  # so many newcomers may not be of the same kind as those who were left out
CARRIES = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
ROUNDS = 30
_ROUNDS_TO_COMPARE = 12
_ROUNDS_TO_WEIGH = 300
_ENOUGH = 1e-4  # a gain of log-probability per answer that no longer matters
_SIZES = (0.02, 50.0)  # limits of variances, in units of the answers' noise


def fit(pasts: Iterable[PastSession]) -> Memory:
    """Learn what people want from their earlier sessions.

    Parameters
    ----------
    pasts : iterable of PastSession
        Sessions with one `person` belong together. Each kind of features is learnt from by
        itself: a taste in one embedder's says nothing about another's.

    Returns
    -------
    Memory
        Without anybody's own sessions; empty if nobody answered anything.
    """
    spaces: defaultdict[tuple[str | None, int], list[PastSession]] = defaultdict(list)
    for past in pasts:
        spaces[past.space].append(past)
    populations = (
        _population(people, space[0])
        for space, sessions in spaces.items()
        if (people := _by_person(sessions))
    )
    return Memory(populations=tuple(populations))


def _by_person(pasts: Iterable[PastSession]) -> list[list[PastSession]]:
    """Return the sessions that have answers by person, in the order they came."""
    people: defaultdict[str, list[PastSession]] = defaultdict(list)
    for past in pasts:
        if len(past):
            people[past.person].append(past)
    return list(people.values())


def _population(people: Sequence[Sequence[PastSession]], embedder: str | None) -> Population:
    keys = recurring(people)
    everybody = observe(people, keys)
    (common, weight), gain, trust = _best_form(everybody)
    belief = learn(everybody, weight, common=common)
    return Population(
        embedder,
        replace(belief, carry=_best_carry(people, belief)),
        tuple(keys),
        len(people),
        sum(map(len, people)),
        sum(len(past) for pasts in people for past in pasts),
        gain,
        trust,
    )


def _best_form(
    everybody: Observations,
) -> tuple[Form, float | None, tuple[tuple[float, float], ...] | None]:
    """Return the form under which people left out are most probable, the gain, and the trust."""
    count = len(everybody)
    if count < FEW:
        return ("all", 1.0), None, None
    scores = dict.fromkeys(FORMS, 0.0)
    folds: list[tuple[dict[Form, Belief], Observations]] = []
    without = 0.0
    for fold in range(FOLDS):
        out = np.arange(count) % FOLDS == fold
        rest = everybody.subset(np.flatnonzero(~out))
        held_out = everybody.subset(np.flatnonzero(out))
        without += _score(learn(rest, 1.0, common="nothing", rounds=_ROUNDS_TO_COMPARE), held_out)
        beliefs: dict[Form, Belief] = {}
        for common, weight in FORMS:
            belief = learn(rest, weight, common=common, rounds=_ROUNDS_TO_COMPARE)
            scores[common, weight] += _score(belief, held_out)
            beliefs[common, weight] = belief
        folds.append((beliefs, held_out))
    best = max(FORMS, key=scores.__getitem__)
    gain = (scores[best] - without) / everybody.count
    if gain <= 0:  # not proven: what many like, shrunk to what is certain
        best = FORMS[0]
    logs = [_trusted(beliefs[best], held_out) for beliefs, held_out in folds]
    return best, gain, _trust(np.vstack(logs))


def _trusted(belief: Belief, observations: Observations) -> Array:
    """Return each person's log-probability if so much of the mean counts, shape (N, T)."""
    weaker = (
        replace(belief, mean=trust * belief.mean, popularity=trust * belief.popularity)
        for trust, _ in TRUSTS
    )
    return np.column_stack([each.posterior(observations).evidence for each in weaker])


def _trust(logs: Array) -> tuple[tuple[float, float], ...]:
    """Return the weights of a mixture over people, by EM; `logs` has shape (N, T)."""
    values, usual = np.array(TRUSTS).T
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = usual
    for _ in range(_ROUNDS_TO_WEIGH):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (USUAL * usual + shares.sum(axis=0)) / (USUAL + len(logs))
    weights = (1.0 - STRANGE) * weights + STRANGE * usual
    return tuple(
        (float(value), round(float(w), 4)) for value, w in zip(values, weights, strict=True)
    )


def _best_carry(people: Sequence[Sequence[PastSession]], belief: Belief) -> float:
    """Return how much of a taste carries over, as people with several questions show."""
    often = [pasts for pasts in people if len({past.question for past in pasts}) > 1]
    if len(often) < FEW:
        return CARRY
    observations = observe(often)
    blank = replace(belief, popularity=np.zeros(0))
    return max(CARRIES, key=lambda carry: _score(replace(blank, carry=carry), observations))


def _score(belief: Belief, observations: Observations) -> float:
    return float(belief.posterior(observations).evidence.sum())


def learn(
    observations: Observations, weight: float, *, common: Common = "all", rounds: int = ROUNDS
) -> Belief:
    """Fit a belief about somebody new to what people answered.

    Parameters
    ----------
    observations : Observations
    weight : float
        How far the covariance is drawn towards a multiple of the identity; 1 is all the way.
    common : str
        What people have in common: `"nothing"`; `"popularity"`, candidates that many like,
        whatever their features; or `"all"`, a mean taste besides.
    rounds : int

    Returns
    -------
    Belief
        The uncertainty of the mean is in its covariance, that of the popularity in `own`.
    """
    dimension = observations.rows.shape[2]
    belief = Belief.blank(dimension, len(observations.keys))
    ridges = 0.25 * belief.floor, 0.25 * belief.own
    doubt, vague = np.zeros((dimension, dimension)), 0.0
    start, score = None, -np.inf
    for _ in range(rounds):
        sites = belief.posterior(observations, start)
        start = sites.precision, sites.shift
        before, score = score, float(sites.evidence.sum())
        if abs(score - before) < _ENOUGH * observations.count:
            break
        wider = _covariance(observations, sites, belief, weight)
        if common != "nothing":
            taste = common == "all"
            mean, popularity, inverse, ridges = _means(observations, sites, belief, ridges, taste)
            wider = replace(wider, mean=mean, popularity=popularity)
            doubt = inverse[:dimension, :dimension]
            vague = float(np.diag(inverse)[dimension:].mean()) if len(popularity) else 0.0
        belief = wider
    full = belief.spread(np.eye(dimension)) + doubt
    floor, factor = condensed(full, _rank(observations) + 2)
    return replace(belief, floor=floor, factor=factor, own=belief.own + vague)


def _rank(observations: Observations) -> int:
    return min(RANK, len(observations) // 2)


def _covariance(observations: Observations, sites: Sites, belief: Belief, weight: float) -> Belief:
    """Return the belief with the variances that fit the posteriors."""
    shared = _shared(belief.kinship(observations), observations.session)
    outer = sites.weights[:, :, None] * sites.weights[:, None, :]
    pull = shared * (outer - sites.shrink)
    wide = belief.spread(observations.rows)
    count, dimension = len(observations), wide.shape[2]
    change = wide.reshape(-1, dimension).T @ (pull @ wide).reshape(-1, dimension) / count
    full = belief.spread(np.eye(dimension)) + change
    rank = _rank(observations) if weight < 1.0 else 0
    floor, factor = condensed((full + full.T) / 2.0, rank)
    gain = float((observations.own * pull).sum()) / max(1, int(observations.touched.sum()))
    own = _clipped(belief.own + belief.own**2 * gain)
    factor = factor * np.sqrt(1.0 - weight)
    return replace(belief, floor=_clipped(floor), factor=factor, own=own)


def _shared(kinship: Array, session: Indices) -> Array:
    """Return the mean over a person's sessions of the products of kinships with that session."""
    result = np.zeros_like(kinship)
    for n, codes in enumerate(session):
        _, first = np.unique(codes[codes >= 0], return_index=True)
        towards = kinship[n][first]
        result[n] = towards.T @ towards / max(1, len(first))
    return result


def _means(
    observations: Observations,
    sites: Sites,
    belief: Belief,
    ridges: tuple[float, float],
    taste: bool,
) -> tuple[Array, Array, Array, tuple[float, float]]:
    """Regress all observations on theta's mean and the popularity, at once.

    Without a common taste the mean is held at zero, and in no doubt.
    """
    dimension, count = observations.rows.shape[2], len(observations.keys)
    rows = observations.rows.reshape(-1, dimension)
    weighed = (sites.shrink @ observations.rows).reshape(-1, dimension)
    better, worse = observations.better.ravel(), observations.worse.ravel()
    total = dimension + count
    normal = np.zeros((total, total))
    normal[:dimension, :dimension] = rows.T @ weighed
    normal[dimension:, :dimension] = _gathered(weighed, better, worse, count)
    normal[:dimension, dimension:] = normal[dimension:, :dimension].T
    normal[dimension:, dimension:] = _incidence(observations, sites.shrink)
    pulled = sites.weights + np.einsum(
        "nts,ns->nt", sites.shrink, observations.centre(belief.mean, belief.popularity)
    )
    flat = pulled.reshape(-1, 1)
    aim = np.concatenate([rows.T @ flat[:, 0], _gathered(flat, better, worse, count)[:, 0]])
    sizes = np.repeat(ridges, (dimension, count))
    begin = 0 if taste else dimension
    inverse = np.zeros((total, total))
    inverse[begin:, begin:] = np.linalg.inv((normal + np.diag(1.0 / sizes))[begin:, begin:])
    solution = inverse @ aim
    squares = solution**2 + np.diag(inverse)
    fitted = (
        _clipped(float(squares[:dimension].mean())) if taste else ridges[0],
        _clipped(float(squares[dimension:].mean())) if count else ridges[1],
    )
    return solution[:dimension], solution[dimension:], inverse, fitted


def _gathered(values: Array, better: Indices, worse: Indices, count: int) -> Array:
    """Sum rows by candidate, plus for the better and minus for the worse, shape (count, m)."""
    result = np.zeros((count + 1, values.shape[1]))
    np.add.at(result, better, values)
    np.add.at(result, worse, -values)
    return result[:count]


def _incidence(observations: Observations, shrink: Array) -> Array:
    """Sum the shrinks by pairs of candidates, shape (count, count)."""
    count = len(observations.keys)
    result = np.zeros((count + 1, count + 1))
    sides = ((observations.better, 1.0), (observations.worse, -1.0))
    for one, sign in sides:
        for other, other_sign in sides:
            where = np.broadcast_arrays(one[:, :, None], other[:, None, :])
            np.add.at(result, tuple(where), sign * other_sign * shrink)
    return result[:count, :count]


def _clipped(variance: float) -> float:
    return float(np.clip(variance, *_SIZES))
