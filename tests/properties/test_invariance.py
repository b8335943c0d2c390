"""What must hold for every pool and every user."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import useralign as ua
from tests.conftest import gaussian_features
from useralign.geometry import Exact
from useralign.users import BTL, Consistent, converse

sizes = st.tuples(st.integers(2, 12), st.sampled_from([2, 3, 8, 30]), st.integers(0, 100_000))
relaxed = settings(max_examples=40, deadline=None)


def pool_of(size: tuple[int, int, int]) -> ua.Pool:
    return ua.Pool.from_features(gaussian_features(*size), normalise="none")


@relaxed
@given(sizes)
def test_optimal_at_epsilon_zero(size: tuple[int, int, int]) -> None:
    pool = pool_of(size)
    user = Consistent(pool, seed=size[2])
    session = converse(ua.Session(pool, seed=size[2]), user)
    assert session.bound == 0.0
    assert user.utilities[session.best.index] >= user.utilities.max() - 1e-6


@relaxed
@given(sizes, st.sampled_from([Consistent, BTL]))
def test_bound_never_rises_while_the_incumbent_stays(
    size: tuple[int, int, int], kind: type[Consistent] | type[BTL]
) -> None:
    pool = pool_of(size)
    user, session = kind(pool, seed=size[2]), ua.Session(pool, seed=size[2], reask=True, limit=25)
    before: tuple[int, float] | None = None
    while (pair := session.ask()) is not None:
        if before is not None and before[0] == pair.first.index:
            assert pair.bound <= before[1] + 1e-9
        before = (pair.first.index, pair.bound)
        session.tell(user.choose(pair))


@relaxed
@given(sizes, st.floats(0.1, 50.0))
def test_scaling_the_features_changes_nothing(size: tuple[int, int, int], scale: float) -> None:
    features = gaussian_features(*size)
    pools = [ua.Pool.from_features(f, normalise="ball") for f in (features, scale * features)]
    sessions = [converse(ua.Session(p, seed=1), Consistent(p, seed=size[2])) for p in pools]
    assert sessions[0].answers == sessions[1].answers
    assert sessions[0].best.index == sessions[1].best.index


@relaxed
@given(sizes)
def test_scaling_the_norm_bound_scales_the_bound_of_the_cone(size: tuple[int, int, int]) -> None:
    features = gaussian_features(*size)
    small, large = (Exact(features, s, 0.05, cone=True) for s in (1.0, 5.0))
    for engine in (small, large):
        engine.add(0, 1)
    assert np.allclose(5.0 * small.values(0), large.values(0), atol=1e-9)


@relaxed
@given(sizes, st.integers(0, 1000))
def test_rotating_the_features_changes_nothing(size: tuple[int, int, int], seed: int) -> None:
    features = gaussian_features(*size)
    rotation = ortho_group.rvs(size[1], random_state=seed)
    theta = np.random.default_rng(seed).normal(size=size[1])
    outcomes = []
    for f, t in ((features, theta), (features @ rotation, rotation.T @ theta)):
        pool = ua.Pool.from_features(f, normalise="ball")
        session = converse(ua.Session(pool, seed=3), Consistent(pool, t))
        outcomes.append((session.answers, session.best.index))
    assert outcomes[0] == outcomes[1]


@relaxed
@given(sizes)
def test_permuting_the_candidates_permutes_the_result(size: tuple[int, int, int]) -> None:
    """From the first answer on, where no tie is broken by lot."""
    features = gaussian_features(*size)
    order = np.random.default_rng(size[2]).permutation(size[0])  # new place -> old place
    index = np.argsort(order)
    ours, theirs = (Exact(f, 3.0, 0.05, cone=True) for f in (features, features[order]))
    taste = features @ np.random.default_rng(size[2] + 1).normal(size=size[1])
    pair: tuple[int, int] | None = (0, 1)
    for _ in range(6):
        if pair is None:
            break
        winner, loser = sorted(pair, key=lambda k: -taste[k])
        ours.add(winner, loser)
        theirs.add(int(index[winner]), int(index[loser]))
        incumbent = int(ours.scores().argmax())
        challenger, bound = ours.challenge(incumbent)
        other, other_bound = theirs.challenge(int(theirs.scores().argmax()))
        assert int(theirs.scores().argmax()) == index[incumbent]
        assert abs(bound - other_bound) <= 1e-9
        if challenger is None:
            assert other is None
        else:
            values = ours.values(incumbent)
            assert values[order[other]] >= values[challenger] - 1e-8
        pair = None if challenger is None else (incumbent, challenger)


@relaxed
@given(sizes, st.lists(st.sampled_from(["first", "second", "skip", "undo"]), max_size=20))
def test_replay_equals_the_original(size: tuple[int, int, int], moves: list[str]) -> None:
    pool = pool_of(size)
    session = ua.Session(pool, seed=size[2])
    for move in moves:
        pair = session.ask()
        if move == "undo" and session.answers:
            session.undo()
        elif pair is None:
            break
        elif move == "skip":
            session.skip()
        elif move != "undo":
            session.tell(getattr(pair, move))
    again = ua.Session.from_dict(pool, session.to_dict())
    assert again.ask() == session.ask()
    assert (again.best, again.bound, again.cost) == (session.best, session.bound, session.cost)
    np.testing.assert_array_equal(again.scores, session.scores)


@relaxed
@given(sizes)
def test_lazy_and_complete_evaluation_agree(size: tuple[int, int, int]) -> None:
    """The bounds kept from step to step only save work."""
    pool = pool_of(size)
    user, session = Consistent(pool, seed=size[2]), ua.Session(pool, seed=size[2], reask=True)
    while (pair := session.ask()) is not None:
        fresh = Exact(pool.features, 3.0, 0.05, cone=True)
        for answer in session.answers:
            assert answer.winner is not None
            fresh.add(answer.winner, answer.first + answer.second - answer.winner)
        if session.answers:
            values = fresh.values(pair.first.index)
            assert abs(values.max() - pair.bound) <= 1e-9
            assert values[pair.second.index] >= values.max() - 1e-8
        session.tell(user.choose(pair))
