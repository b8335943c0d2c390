"""Ask and tell: the interface, its stops, and that nothing is lost when it is misused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from useralign.users import BTL, Consistent, converse


def snapshot(session: ua.Session) -> object:
    return session.to_dict(), session.ask(), session.bound, session.best


def test_ask_without_tell_repeats_the_pair(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    assert session.ask() is session.ask()


def test_tell_takes_a_candidate_or_its_index(pool: ua.Pool) -> None:
    one, two = ua.Session(pool), ua.Session(pool)
    pair = one.ask()
    assert pair is not None
    two.ask()
    one.tell(pair.second)
    two.tell(np.int64(pair.second.index))
    assert (
        one.answers
        == two.answers
        == (ua.Answer(pair.first.index, pair.second.index, pair.second.index),)
    )
    assert one.ask() == two.ask()


def test_step_counts_and_bound_is_the_prior_at_first(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    pair = session.ask()
    assert pair is not None
    assert (pair.step, pair.bound, session.bound, session.cost) == (0, 3.0, 3.0, 0)
    session.tell(pair.first)
    following = session.ask()
    assert following is not None
    assert following.step == 1
    assert following.bound < 3.0


def test_consistent_user_gets_the_best(pool: ua.Pool) -> None:
    user = Consistent(pool, seed=3)
    session = converse(ua.Session(pool), user)
    assert session.best.index == user.utilities.argmax()
    assert session.bound == 0.0
    assert session.stop_reason == "bound"
    assert session.finished
    assert session.viable == (session.best,)
    assert session.ask() is None


def test_budget_stops(pool: ua.Pool) -> None:
    session = converse(ua.Session(pool, budget=4), Consistent(pool))
    assert (session.cost, session.stop_reason) == (4, "budget")
    assert ua.Session(pool, budget=0).ask() is None


def test_epsilon_stops_earlier_the_larger_it_is(pool: ua.Pool) -> None:
    costs = [
        converse(ua.Session(pool, epsilon=e), Consistent(pool)).cost
        for e in (3.0, 2.0, 1.0, 0.3, 0.0)
    ]
    assert costs[0] == 0
    assert costs == sorted(costs)


def test_epsilon_bound_holds(pool: ua.Pool) -> None:
    for seed in range(20):
        user = Consistent(pool, seed=seed)
        session = converse(ua.Session(pool, epsilon=0.5, seed=seed), user)
        assert user.utilities.max() - user.utilities[session.best.index] <= session.bound + 1e-9
        assert session.bound <= 0.5


def test_whole_budget_without_epsilon(pool: ua.Pool) -> None:
    """Footnote 2: with no viable challenger left, one is drawn at random."""
    session = converse(ua.Session(pool, epsilon=None, budget=60, reask=True), Consistent(pool))
    assert (session.cost, session.stop_reason) == (60, "budget")
    fresh = converse(ua.Session(pool, epsilon=None, budget=60), Consistent(pool))
    pairs = [frozenset((a.first, a.second)) for a in fresh.answers]
    assert len(set(pairs)) == len(pairs), "without reask no pair is asked twice"


def test_limit_stops_what_would_go_on(pool: ua.Pool) -> None:
    session = converse(ua.Session(pool, "useralign_loss", limit=15), Consistent(pool))
    assert (session.cost, session.stop_reason) == (15, "limit")
    assert ua.Session(pool).limit == 199


def test_undo_returns_to_the_same_pair(pool: ua.Pool) -> None:
    session, user = ua.Session(pool, seed=2), Consistent(pool)
    seen = []
    for _ in range(5):
        pair = session.ask()
        assert pair is not None
        seen.append(pair)
        session.tell(user.choose(pair))
    for pair in reversed(seen):
        taken = session.undo()
        assert taken is not None
        assert (taken.first, taken.second) == (pair.first.index, pair.second.index)
        assert session.ask() == pair
    with pytest.raises(ua.SessionStateError, match="nothing to undo"):
        session.undo()


def test_skip_asks_something_else_and_keeps_the_bound_honest(pool: ua.Pool) -> None:
    session, user = ua.Session(pool), Consistent(pool)
    first = session.ask()
    assert first is not None
    session.skip()
    second = session.ask()
    assert second is not None
    assert {second.first.index, second.second.index} != {first.first.index, first.second.index}
    assert session.cost == 0
    assert session.answers[0].winner is None
    converse(session, user)
    pairs = [frozenset((a.first, a.second)) for a in session.answers]
    assert len(pairs) == len(set(pairs))
    assert session.undo() is not None


def test_skipping_everything_ends(pool: ua.Pool) -> None:
    for method in ("useralign", "iidbest"):
        small = ua.Pool("?", ["a", "b", "c"], pool.features[:3])
        session = ua.Session(small, method, budget=9)
        for _ in range(10):
            if session.ask() is None:
                break
            session.skip()
        assert session.stop_reason == "exhausted"
        assert session.best in small.candidates


def test_stop_and_take_it_back(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    pair = session.ask()
    session.stop()
    assert session.ask() is None
    assert session.stop_reason == "stopped"
    with pytest.raises(ua.SessionStateError, match="over"):
        session.tell(0)
    assert session.undo() is None
    assert session.ask() == pair


def test_resuming_is_replaying(pool: ua.Pool) -> None:
    session, user = ua.Session(pool, seed=9, epsilon=0.1), BTL(pool, seed=9)
    for _ in range(6):
        pair = session.ask()
        assert pair is not None
        session.tell(user.choose(pair))
    again = ua.Session.from_dict(pool, session.to_dict())
    assert snapshot(again) == snapshot(session)


def test_save_and_load_in_another_process(pool: ua.Pool, tmp_path: Path) -> None:
    session, user = ua.Session(pool, seed=4), Consistent(pool)
    for _ in range(4):
        pair = session.ask()
        assert pair is not None
        session.tell(user.choose(pair))
    session.save(tmp_path / "session.json")
    pool.save(tmp_path / "pool.json")
    script = (
        "import useralign as ua; p = ua.Pool.load('pool.json');"
        "s = ua.Session.load('session.json', p);"
        "q = s.ask(); print(q.first.index, q.second.index, repr(q.bound))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.split()
    pair = session.ask()
    assert pair is not None
    assert printed == [str(pair.first.index), str(pair.second.index), repr(pair.bound)]


def test_a_drawn_seed_is_told(pool: ua.Pool) -> None:
    session = ua.Session(pool, seed=None)
    assert ua.Session(pool, seed=session.seed).ask() == session.ask()


def test_one_candidate_needs_no_question() -> None:
    single = ua.Pool("?", ["only"], [[0.1, 0.2]])
    for name, extra in [
        ("useralign", {}),
        ("useralign_loss", {}),
        ("iidbest", {"budget": 3}),
        ("random", {}),
    ]:
        session = ua.Session(single, name, **extra)
        assert session.ask() is None
        assert (session.best.text, session.bound, session.cost) == ("only", 0.0, 0)


def test_identical_candidates_need_no_question() -> None:
    same = ua.Pool("?", ["a", "b", "c"], np.ones((3, 4)))
    session = ua.Session(same)
    assert session.ask() is None
    assert session.bound == 0.0


def test_tell_before_ask(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    with pytest.raises(ua.SessionStateError, match="ask"):
        session.tell(0)
    assert session.answers == ()


@pytest.mark.parametrize("wrong", ["outsider", 999, -1, True, None, "text", 1.0])
def test_winner_outside_the_pair(pool: ua.Pool, wrong: object) -> None:
    session = ua.Session(pool)
    pair = session.ask()
    assert pair is not None
    if wrong == "outsider":
        wrong = next(c for c in pool if c not in (pair.first, pair.second))
    before = snapshot(session)
    with pytest.raises(ua.AnswerError, match="one of the two"):
        session.tell(wrong)  # type: ignore[arg-type]
    assert snapshot(session) == before


@pytest.mark.parametrize("epsilon", [-0.1, 3.1, float("nan"), float("inf"), "0", True])
def test_epsilon_out_of_range(pool: ua.Pool, epsilon: object) -> None:
    with pytest.raises(ua.OptionError, match="between 0 and S"):
        ua.Session(pool, epsilon=epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [-1, 1.5, True, "3"])
def test_bad_budget(pool: ua.Pool, budget: object) -> None:
    with pytest.raises(ua.OptionError, match="budget must be a whole number"):
        ua.Session(pool, budget=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"norm_bound": 0},
        {"norm_bound": -1.0},
        {"norm_bound": np.nan},
        {"delta": 0.0},
        {"delta": 1.0},
        {"backend": "magic"},
        {"color": "red"},
    ],
)
def test_bad_method_options(pool: ua.Pool, options: dict[str, object]) -> None:
    with pytest.raises(ua.OptionError, match=next(iter(options))):
        ua.Session(pool, **options)  # type: ignore[arg-type]


def test_unknown_method_names_the_known_ones(pool: ua.Pool) -> None:
    with pytest.raises(ua.OptionError, match="useralign_loss"):
        ua.Session(pool, "best")


def test_nothing_to_stop_it(pool: ua.Pool) -> None:
    with pytest.raises(ua.OptionError, match="budget="):
        ua.Session(pool, "iidbest")
    with pytest.raises(ua.OptionError, match="budget="):
        ua.Session(pool, epsilon=None)


def test_state_of_another_pool_or_damaged(pool: ua.Pool) -> None:
    session = converse(ua.Session(pool, budget=3), Consistent(pool))
    state = session.to_dict()
    other = ua.Pool.from_features(gaussian_features(12, 6, seed=2), question="Which?")
    with pytest.raises(ua.FileFormatError, match="another pool"):
        ua.Session.from_dict(other, state)
    with pytest.raises(ua.FileFormatError, match="not a session"):
        ua.Session.from_dict(pool, {})
    for damage in ([0, 0, 0], [0, 1, 5], [0, 99, 0], "x", None):
        with pytest.raises(ua.FileFormatError, match="damaged"):
            ua.Session.from_dict(pool, {**state, "answers": [damage]})
    without = {key: value for key, value in state.items() if key != "seed"}
    with pytest.raises(ua.FileFormatError, match="seed"):
        ua.Session.from_dict(pool, without)


def test_a_budget_above_the_usual_limit_is_kept(pool: ua.Pool) -> None:
    session = ua.Session(pool, epsilon=None, budget=230, reask=True)
    assert converse(session, Consistent(pool)).cost == 230


def test_the_candidate_that_the_caller_made_is_understood() -> None:
    candidates = [ua.Candidate(text="a"), ua.Candidate(text="b")]
    session = ua.Session(ua.Pool("?", candidates, np.eye(2)))
    session.ask()
    session.tell(candidates[1])
    assert session.best.text == "b"


def test_skipping_the_favourites_pairs_turns_to_others(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    for _ in range(len(pool) + 3):
        assert session.ask() is not None, "there are other pairs to ask about"
        session.skip()


@pytest.mark.parametrize("norm_bound", [10.0, 50.0, 300.0, 1e4])
@pytest.mark.parametrize("method", ["useralign", "useralign_loss"])
def test_large_norm_bounds_do_not_break(method: str, norm_bound: float) -> None:
    for seed in range(6):
        pool = ua.Pool.from_features(gaussian_features(10, 3, seed), normalise="none")
        session = ua.Session(pool, method, norm_bound=norm_bound, budget=25, seed=seed)
        converse(session, BTL(pool, seed=seed))
        assert 0.0 <= session.bound <= norm_bound


@pytest.mark.parametrize(
    "damage",
    [
        {"pool": None},
        {"options": None},
        {"answers": None},
        {"answers": [[1.0, 2.0, 1.0]]},
        {"answers": [[True, 0, 0]]},
        {"method": 3},
    ],
)
def test_damaged_states_are_told(pool: ua.Pool, damage: dict[str, object]) -> None:
    state = ua.Session(pool).to_dict() | damage
    with pytest.raises(ua.FileFormatError, match="damaged"):
        ua.Session.from_dict(pool, state)
