"""What must hold after anything that a person may say, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import useralign as ua
from tests.conftest import gaussian_features

METHODS = ["useralign", "useralign_loss", "iidbest"]
MOVES = [
    "first", "last", "rank", "equal", "neither", "skip", "remark", "extend", "wish", "withdraw",
]  # fmt: skip
sizes = st.tuples(st.integers(3, 10), st.sampled_from([2, 3, 8]), st.integers(0, 100_000))
talks = st.lists(st.sampled_from(MOVES), max_size=9)
relaxed = settings(max_examples=40, deadline=None)


def begin(size: tuple[int, int, int], method: str, per_screen: int) -> ua.Session:
    names = [f"answer {k}" for k in range(size[0])]
    pool = ua.Pool("Which?", names, gaussian_features(*size), normalise="none")
    return ua.Session(pool, method, seed=size[2], per_screen=per_screen, budget=60)


def say(session: ua.Session, move: str) -> bool:
    """Make a move; False when it takes a comparison and there is none."""
    step, dimension = len(session.answers), session.pool.dimension
    noise = np.random.default_rng([step, len(session.pool)]).normal(size=dimension)
    if move == "remark":
        session.remark(f"remark {step}", noise)
        return True
    if move == "wish":
        session.wish(f"no {step % len(session.pool)}")
        return True
    if move == "withdraw" and session.wishes:
        session.withdraw(session.wishes[0].text)
        return True
    if move == "extend":
        row = noise / (2.0 * np.linalg.norm(noise))
        session.extend([f"new at {step}, {len(session.pool)}"], row[None, :])
        return True
    comparison = session.ask()
    if comparison is None or move == "withdraw":
        return False
    if move in ("equal", "neither", "skip"):
        getattr(session, move)()
    elif move == "rank":
        session.rank(comparison.candidates[::-1])
    else:
        session.tell(comparison.candidates[0 if move == "first" else -1])
    return True


@relaxed
@given(sizes, st.sampled_from(METHODS), st.integers(2, 4), talks)
def test_undoing_returns_to_the_same_comparison(
    size: tuple[int, int, int], method: str, per_screen: int, talk: list[str]
) -> None:
    session, seen = begin(size, method, per_screen), list[tuple[object, ...]]()
    for move in talk:
        before = (session.ask(), session.best, session.cost)
        if move != "extend" and say(session, move):
            seen.append(before)
    for comparison, best, cost in reversed(seen):
        session.undo()
        assert session.ask() == comparison
        assert (session.best, session.cost) == (best, cost)


@relaxed
@given(sizes, st.sampled_from(METHODS), st.integers(2, 4), talks, st.booleans())
def test_a_replay_goes_on_alike(
    size: tuple[int, int, int], method: str, per_screen: int, talk: list[str], looked: bool
) -> None:
    """Also where the pool grew on the way, and whether or not somebody looked in between."""
    session = begin(size, method, per_screen)
    for move in talk:
        say(session, move)
        if looked:
            assert session.best in session.viable
    again = ua.Session.from_dict(session.pool, session.to_dict())
    ours, theirs = session.ask(), again.ask()
    assert (ours is None) == (theirs is None)
    if ours is not None and theirs is not None:
        assert ours.candidates == theirs.candidates
        assert abs(ours.bound - theirs.bound) <= 1e-9
    assert (again.best, again.cost, again.answers) == (session.best, session.cost, session.answers)


@relaxed
@given(sizes, st.sampled_from(METHODS), st.integers(2, 4), talks)
def test_growing_loses_nothing(
    size: tuple[int, int, int], method: str, per_screen: int, talk: list[str]
) -> None:
    session = begin(size, method, per_screen)
    for move in [*talk, "extend"]:
        texts, answers = [candidate.text for candidate in session.pool], session.answers
        rows = session.pool.raw_features
        say(session, move)
        now = [candidate.text for candidate in session.pool]
        assert now[: len(texts)] == texts
        assert len(set(now)) == len(now) == len(session.scores)
        assert session.answers[: len(answers)] == answers
        np.testing.assert_array_equal(session.pool.raw_features[: len(rows)], rows)
        assert [candidate.index for candidate in session.pool] == list(range(len(now)))


@relaxed
@example((3, 2, 3), 2, ["neither", "wish"])
@given(sizes, st.integers(2, 4), talks)
def test_what_will_not_do_is_not_recommended(
    size: tuple[int, int, int], per_screen: int, talk: list[str]
) -> None:
    session = begin(size, "useralign", per_screen)
    for move in talk:
        say(session, move)
        rejected = {k for a in session.answers if a.kind == "neither" for k in a.candidates}
        if len(rejected | session.hidden) < len(session.pool):  # else they are better than none
            assert session.best.index not in rejected
            comparison = session.ask()
            assert comparison is None or not rejected & {c.index for c in comparison.candidates}


@relaxed
@given(sizes, talks)
def test_soft_evidence_leaves_the_bound_true(size: tuple[int, int, int], talk: list[str]) -> None:
    """For a consistent person, whatever they call equal and whatever they remark."""
    session = begin(size, "useralign", 2)
    theta = np.random.default_rng(size[2] + 1).normal(size=size[1])
    theta *= 3.0 / np.linalg.norm(theta)
    worth = session.pool.features @ theta
    for move in talk:
        if move in ("equal", "skip", "remark"):
            say(session, move)
        elif (comparison := session.ask()) is not None:
            session.tell(max(comparison.candidates, key=lambda c: worth[c.index]))
        assert worth.max() - worth[session.best.index] <= session.bound + 1e-6
