"""Answers beyond pairs: the best of several, rankings, equal, neither, remarks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from useralign.methods import Decision, Method, Run
from useralign.users import Consistent, converse

ENGINES = ["useralign", "useralign_loss", "iidbest"]


def next_comparison(session: ua.Session) -> ua.Comparison:
    comparison = session.ask()
    assert comparison is not None
    return comparison


def indices(comparison: ua.Comparison) -> list[int]:
    return [candidate.index for candidate in comparison.candidates]


@pytest.mark.parametrize("method", [*ENGINES, "frugal"])
@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_as_many_are_shown_as_was_asked_for(pool: ua.Pool, method: str, count: int) -> None:
    session = ua.Session(pool, method, per_screen=count, budget=9)
    comparison = next_comparison(session)
    assert len(set(indices(comparison))) == count
    assert comparison.candidates[:2] == (comparison.first, comparison.second)
    pair = next_comparison(ua.Session(pool, method, budget=9))
    if method != "frugal" or count == 2:  # it fills a screen from its favourite on
        assert (pair.first, pair.second) == (comparison.first, comparison.second)
    assert pair.candidates == (pair.first, pair.second)


def test_the_best_of_nine_and_their_ranking(pool: ua.Pool) -> None:
    session = ua.Session(pool, "frugal", per_screen=9, budget=2)
    first = next_comparison(session)
    with pytest.raises(ua.AnswerError, match="one of the nine candidates asked about"):
        session.tell(99)
    session.tell(first.candidates[8])
    assert len(session.answers[0].wins) == 8
    session.rank(reversed(next_comparison(session).candidates))
    again = ua.Session.from_dict(pool, json.loads(json.dumps(session.to_dict())))
    assert (again.answers, again.per_screen, again.best) == (session.answers, 9, session.best)


def test_two_to_nine_can_be_shown(pool: ua.Pool) -> None:
    with pytest.raises(ua.OptionError, match="per_screen must be 2 to 9, got 10"):
        ua.Session(pool, per_screen=10)


@pytest.mark.parametrize("count", [1, 10, 2.0, True, "3"])
def test_no_other_number_can_be_shown(pool: ua.Pool, count: Any) -> None:
    with pytest.raises(ua.OptionError, match="per_screen must be"):
        ua.Session(pool, per_screen=count)
    with pytest.raises(ua.OptionError, match="shown must be"):
        ua.Session(pool, shown=count)


def test_the_old_name_of_per_screen_is_accepted(pool: ua.Pool) -> None:
    assert ua.Session(pool, shown=3).per_screen == 3


def test_no_more_are_shown_than_there_are() -> None:
    small = ua.Pool.from_features(gaussian_features(3, 4, 1))
    assert len(next_comparison(ua.Session(small, per_screen=4)).candidates) == 3


def test_the_best_of_several_beats_each_of_them(pool: ua.Pool) -> None:
    session, pairs = ua.Session(pool, per_screen=4), ua.Session(pool, epsilon=None, budget=99)
    comparison = next_comparison(session)
    winner, *losers = comparison.candidates[::-1]
    session.tell(winner)
    assert session.cost == 1
    assert session.answers[0].wins == tuple((winner.index, k.index) for k in losers[::-1])
    for loser in losers[::-1]:
        pairs._run.add(loser.index, winner.index, winner.index)
    np.testing.assert_allclose(session.scores, pairs._run.scores(), atol=1e-9)


def test_a_ranking_is_a_chain(pool: ua.Pool) -> None:
    session = ua.Session(pool, per_screen=4)
    order = indices(next_comparison(session))[::-1]
    session.rank(order)
    assert session.answers[0].wins == tuple(pairwise(order))
    assert session.answers[0].winner is None
    assert session.cost == 1
    better = session.scores[order]
    assert (np.diff(better) < 0).all(), "four candidates in general position can be ranked"


@pytest.mark.parametrize("wrong", [[], [0], "ab", 3, None])
def test_a_ranking_has_each_once(pool: ua.Pool, wrong: Any) -> None:
    session = ua.Session(pool, per_screen=3)
    comparison = next_comparison(session)
    before = session.to_dict()
    with pytest.raises(ua.AnswerError):
        session.rank(wrong)
    first, second, third = comparison.candidates
    for order in ([first, second], [first, second, second], [first, second, third, first]):
        with pytest.raises(ua.AnswerError, match="each of the candidates asked about once"):
            session.rank(order)
    assert session.to_dict() == before
    assert session.ask() == comparison


@pytest.mark.parametrize("per_screen", [2, 3, 4])
@pytest.mark.parametrize("rank", [False, True])
def test_a_consistent_user_gets_the_best_by_any_answer(per_screen: int, rank: bool) -> None:
    for seed in range(8):
        pool = ua.Pool.from_features(gaussian_features(14, 16, seed), normalise="none")
        user = Consistent(pool, seed=seed)
        session = converse(ua.Session(pool, seed=seed, per_screen=per_screen), user, rank=rank)
        assert session.best.index == user.utilities.argmax()
        assert session.bound == 0.0


def test_more_on_a_screen_means_fewer_screens() -> None:
    costs = []
    for per_screen in (2, 3, 4):
        total = 0
        for seed in range(10):
            pool = ua.Pool.from_features(gaussian_features(20, 64, seed), normalise="none")
            user = Consistent(pool, seed=seed)
            total += converse(ua.Session(pool, seed=seed, per_screen=per_screen), user).cost
        costs.append(total)
    assert costs[0] > 1.5 * costs[1]
    assert costs[1] > costs[2]


@pytest.mark.parametrize("method", ENGINES)
def test_equal_bars_the_pair_and_cuts_nothing(pool: ua.Pool, method: str) -> None:
    session = ua.Session(pool, method, budget=20)
    session.tell(next_comparison(session).first)
    before = session.viable
    pair = frozenset(indices(next_comparison(session)))
    session.equal()
    assert session.cost == 2
    assert session.answers[-1].kind == "equal"
    assert session.answers[-1].winner is None
    later = set()
    while (comparison := session.ask()) is not None and session.cost < 12:
        later.add(frozenset(indices(comparison)))
        session.equal()
    assert pair not in later
    assert set(session.viable) >= set(before)


def test_equal_brings_two_estimates_together(pool: ua.Pool) -> None:
    """Half a win each: it pulls the two scores towards each other, against what was won."""
    session = ua.Session(pool, "iidbest", budget=20)
    first, second = indices(next_comparison(session))
    session.tell(first)
    apart = session.scores[first] - session.scores[second]
    session._run.equal(first, second)
    assert 0 < session.scores[first] - session.scores[second] < apart


@pytest.mark.parametrize("method", ENGINES)
def test_neither_leaves_them_out_while_others_remain(pool: ua.Pool, method: str) -> None:
    session, gone = ua.Session(pool, method, per_screen=3, budget=30), set[int]()
    while (comparison := session.ask()) is not None:
        assert not gone & set(indices(comparison))
        session.neither()
        gone |= set(indices(comparison))
        if len(gone) == len(pool):
            break
        assert session.best.index not in gone
        assert not gone & {candidate.index for candidate in session.viable}
    assert session.best in pool.candidates
    assert session.cost == len(session.answers)


def test_neither_means_worse_than_the_average(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    screen = indices(next_comparison(session))
    session.neither()
    assert (session.scores[screen] < session.scores.mean()).all()


def test_what_won_and_still_will_not_do_is_no_contradiction() -> None:
    """The half-space is left out where no preference could agree: the bound stays above zero."""
    pool = ua.Pool.from_features(gaussian_features(6, 8, 3), normalise="none")
    session = ua.Session(pool)
    session.ask()
    for other in range(1, 6):
        session._run.add(0, other, 0)
    session._run.dislike(0)
    session._decision = None
    assert session.best.index != 0
    assert session.bound > 0.0


def test_a_remark_leans_the_estimate_and_cuts_nothing(pool: ua.Pool) -> None:
    session, plain = ua.Session(pool), ua.Session(pool)
    wish = pool.raw_features[7]
    session.remark("more like that", wish)
    assert session.best.index == (pool.features @ wish).argmax()
    assert session.bound == plain.bound == 3.0
    assert session.cost == 0
    assert session.answers[0].text == "more like that"
    assert session.answers[0].candidates == ()
    session.undo()
    assert session.best == plain.best


def test_a_remark_in_between_may_change_the_comparison(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    before = next_comparison(session)
    session.remark("not that", -pool.raw_features[before.first.index], weight=2)
    after = next_comparison(session)
    assert after.step == before.step + 1
    assert after.first != before.first
    session.undo()
    assert session.ask() == before


def test_only_the_way_of_a_direction_counts(pool: ua.Pool) -> None:
    wish = np.array(pool.raw_features[3])
    scores = []
    for scale in (1e-200, 1.0, 1e200):
        session = ua.Session(pool)
        session.remark("", scale * wish)
        scores.append(session.scores)
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9)
    np.testing.assert_allclose(scores[2], scores[1], rtol=1e-9)


def test_answers_outweigh_a_remark(pool: ua.Pool) -> None:
    """A wish that the answers deny does not keep the true best from being found."""
    for seed in range(5):
        user = Consistent(pool, seed=seed)
        session = ua.Session(pool, seed=seed)
        session.remark("the other way", -user.theta)
        converse(session, user)
        assert session.best.index == user.utilities.argmax()
        assert session.bound == 0.0


@pytest.mark.parametrize(
    ("direction", "weight"),
    [
        ([1.0], 1.0),
        ([0.0] * 6, 1.0),
        ([np.nan] * 6, 1.0),
        ("x", 1.0),
        ([None] * 6, 1.0),
        ([1.0] * 6, 0.0),
        ([1.0] * 6, -1.0),
        ([1.0] * 6, float("inf")),
        ([1.0] * 6, "1"),
    ],
)
def test_remarks_that_cannot_be_used(pool: ua.Pool, direction: Any, weight: Any) -> None:
    session = ua.Session(pool)
    assert pool.dimension == 6
    with pytest.raises(ua.AnswerError, match="a remark's"):
        session.remark("hm", direction, weight)
    assert session.answers == ()


class _PairsRun(Run):
    """Knows pairs and nothing else."""

    def __init__(self, features: Any, seed: int) -> None:
        super().__init__(features, seed, 3.0)
        self.wins = np.zeros(len(features))

    def add(self, first: int, second: int, winner: int) -> None:  # noqa: ARG002
        self.wins[winner] += 1

    def decide(self) -> Decision:
        pairs = ((i, j) for i in range(len(self.wins)) for j in range(i))
        free = [pair for pair in pairs if frozenset(pair) not in self.barred]
        return Decision(*free[0], 3.0) if free else Decision(0, None, 3.0)

    def scores(self) -> Any:
        return self.wins


class _Pairs(Method):
    name = "pairs"

    def start(self, features: Any, seed: int, *, fixed_budget: bool = False) -> Run:  # noqa: ARG002
        return _PairsRun(features, seed)


def test_a_method_that_knows_pairs_alone_refuses_the_rest(pool: ua.Pool) -> None:
    session = ua.Session(pool, _Pairs(), budget=5, per_screen=4)
    assert session.takes == {"choice", "ranking", "equal", "skip"}
    comparison = next_comparison(session)
    assert len(comparison.candidates) == 4
    for call in (session.neither, lambda: session.remark("x", np.ones(6))):
        with pytest.raises(ua.FeedbackError, match="it takes choice, equal, ranking, skip"):
            call()
    assert (session.answers, session.ask()) == ((), comparison)
    session.rank(comparison.candidates)
    session.ask()
    session.equal()
    assert session.cost == 2
    assert session.confidence is None


def test_methods_that_ask_nothing_take_no_remark(pool: ua.Pool) -> None:
    for session in (ua.Session(pool, "random"), ua.Session(pool, "oracle", utilities=range(12))):
        with pytest.raises(ua.FeedbackError):
            session.remark("x", np.ones(6))


def test_saved_forms() -> None:
    """A pair stays the three numbers it always was; the rest are small objects."""
    pool = ua.Pool.from_features(gaussian_features(20, 16, 1))
    session = ua.Session(pool, per_screen=3)
    session.tell(next_comparison(session).first)
    session.rank(next_comparison(session).candidates)
    session.ask()
    session.equal()
    session.ask()
    session.neither()
    session.ask()
    session.skip()
    session.remark("less of it", np.arange(16.0))
    state = json.loads(json.dumps(session.to_dict()))
    kinds = [item["kind"] for item in state["answers"]]
    assert kinds == ["choice", "ranking", "equal", "neither", "skip", "remark"]
    assert session.cost == 4
    again = ua.Session.from_dict(pool, state)
    assert again.answers == session.answers
    assert again.ask() == session.ask()
    assert again.per_screen == 3
    pairs = ua.Session(pool)
    pairs.tell(next_comparison(pairs).second)
    pairs.ask()
    pairs.skip()
    assert [len(item) for item in pairs.to_dict()["answers"]] == [3, 3]
    assert "shown" not in pairs.to_dict()


@pytest.mark.parametrize(
    "damage",
    [
        {"kind": "praise", "shown": [0, 1]},
        {"kind": "choice", "shown": [0, 1, 2], "winner": 5},
        {"kind": "choice", "shown": [0, 1, 2]},
        {"kind": "ranking", "shown": [0, 1, 2], "order": [0, 1]},
        {"kind": "ranking", "shown": [0, 1, 2], "order": [0, 1, 1]},
        {"kind": "equal", "shown": [0, 0]},
        {"kind": "equal", "shown": [0]},
        {"kind": "neither", "shown": [0, 99]},
        {"kind": "remark", "text": "x", "direction": [1.0], "weight": 1.0},
        {"kind": "remark", "text": 3, "direction": [1.0] * 6, "weight": 1.0},
        {"shown": [0, 1]},
    ],
)
def test_damaged_answers_are_told(pool: ua.Pool, damage: dict[str, Any]) -> None:
    state = ua.Session(pool).to_dict() | {"answers": [damage]}
    with pytest.raises(ua.FileFormatError, match="damaged"):
        ua.Session.from_dict(pool, state)


def test_an_old_file_loads(pool: ua.Pool) -> None:
    state = ua.Session(pool).to_dict() | {"answers": [[0, 1, 1], [2, 1, None]]}
    session = ua.Session.from_dict(pool, state)
    assert session.answers == (ua.Answer(0, 1, 1), ua.Answer(2, 1, None))
    assert [answer.kind for answer in session.answers] == ["choice", "skip"]


def test_simulated_users_pick_and_rank_by_choosing_between_two(pool: ua.Pool) -> None:
    for seed in range(5):
        user = Consistent(pool, seed=seed)
        comparison = next_comparison(ua.Session(pool, seed=seed, per_screen=4))
        order = sorted(comparison.candidates, key=lambda c: -user.utility(c))
        assert user.rank(comparison) == order
        assert user.pick(comparison) == order[0]


def test_a_resumed_session_asks_what_it_had_asked(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    session.ask()
    state = session.to_dict()
    state["asked"] = [4, 7]  # as if an older version of the method had asked something else
    resumed = ua.Session.from_dict(pool, state)
    pair = resumed.ask()
    assert pair is not None
    assert (pair.first.index, pair.second.index) == (4, 7)
    resumed.tell(7)
    assert resumed.answers[-1].winner == 7
    assert ua.Session.from_dict(pool, resumed.to_dict()).ask() == resumed.ask()


@pytest.mark.parametrize("saved", [[4], [4, 4], [4, 99], [-1, 2], "ab", 3, [True, 2]])
def test_what_was_asked_is_checked(pool: ua.Pool, saved: object) -> None:
    with pytest.raises(ua.FileFormatError, match="damaged"):
        ua.Session.from_dict(pool, ua.Session(pool).to_dict() | {"asked": saved})
