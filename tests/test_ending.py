"""How a session ends: shortlist, final choice, two more screens, a proof, indifference."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from useralign import domains
from useralign.users import Consistent, RankedPersona, converse


def pool_of(count: int, seed: int = 0) -> ua.Pool:
    return ua.Pool.from_features(gaussian_features(count, 8, seed))


def ended(count: int = 20, seed: int = 0) -> ua.Session:
    pool = pool_of(count, seed)
    user = Consistent(pool, np.random.default_rng(seed).normal(size=8), seed=seed)
    return converse(ua.Session.few(pool, seed=seed), user)


def saved(session: ua.Session) -> ua.Session:
    return ua.Session.from_dict(session.pool, json.loads(json.dumps(session.to_dict())))


def state(session: ua.Session) -> object:
    return session.ask(), session.to_dict(), session.best, session.stop_reason, session.method.name


def test_the_ranking_has_all_the_best_first_and_what_will_not_do_last() -> None:
    session = ua.Session.few(pool_of(12))
    screen = session.ask()
    session.neither()
    session.tell(session.ask().candidates[0])  # type: ignore[union-attr]
    ranking = [candidate.index for candidate in session.ranking]
    assert sorted(ranking) == list(range(12))
    assert ranking[0] == session.best.index
    assert set(ranking[8:]) == {candidate.index for candidate in screen.candidates}  # type: ignore[union-attr]
    for part in (ranking[1:8], ranking[8:]):
        scores = session.scores[part]
        assert (np.diff(scores) <= 0).all()
    assert session.shortlist == session.ranking[:3]


def test_the_shortlist_leaves_out_what_will_not_do() -> None:
    pool = pool_of(4)
    session = ua.Session(pool, "frugal", per_screen=3, sure=1.0, gain=0.0)
    session.ask()
    session.neither()
    assert len(session.shortlist) == 1
    assert len(session.ranking) == 4
    assert ua.Session(pool_of(1)).shortlist == ua.Session(pool_of(1)).ranking


@pytest.mark.parametrize("rank", [0, 1, 2, 10])
def test_the_choice_is_the_answer_and_teaches(rank: int) -> None:
    session = ended()
    cost, before = session.cost, state(session)
    wanted = session.ranking[rank]
    shortlist = {candidate.index for candidate in session.shortlist}
    session.choose(wanted)
    assert (session.best, session.choice, session.stop_reason) == (wanted, wanted, "chosen")
    assert (session.ask(), session.cost, session.ranking[0]) == (None, cost, wanted)
    assert {loser for _, loser in session.answers[-1].wins} == shortlist - {wanted.index}
    assert state(saved(session)) == state(session)
    session.undo()
    assert state(session) == before
    assert session.choice is None


def test_another_choice_takes_the_place_of_the_first() -> None:
    session = ended()
    first, second, _ = session.shortlist
    session.choose(second.index)
    session.choose(first)
    assert [answer.kind for answer in session.answers].count("final") == 1
    assert session.best == first


def test_a_choice_after_a_stop_is_taken_back_first() -> None:
    session = ua.Session.few(pool_of(12))
    session.ask()
    session.stop()
    session.choose(3)
    session.undo()
    assert session.stop_reason == "stopped"
    session.undo()
    assert session.ask() is not None


@pytest.mark.parametrize("wrong", [12, -1, True, "best", None, ua.Candidate("another", index=2)])
def test_a_choice_is_one_of_the_pool(wrong: object) -> None:
    session = ua.Session.few(pool_of(12))
    with pytest.raises(ua.AnswerError, match="must be a candidate of the pool, or its index"):
        session.choose(wrong)  # type: ignore[arg-type]
    assert not session.answers


def test_one_that_was_turned_down_may_be_chosen_after_all() -> None:
    session = ua.Session.few(pool_of(12))
    screen = session.ask()
    session.neither()
    session.choose(screen.first)  # type: ignore[union-attr]
    assert saved(session).best == screen.first  # type: ignore[union-attr]


def test_going_on_after_a_choice() -> None:
    session = ended()
    session.choose(session.shortlist[1])
    session.go_on(1)
    assert session.ask() is not None
    assert (session.choice, session.finished) == (None, False)
    assert state(saved(session)) == state(session)


@pytest.mark.parametrize("steer", [lambda s: s.go_on(2), lambda s: s.prove()])
def test_asking_for_more_can_be_undone(steer: Callable[[ua.Session], None]) -> None:
    session = ended()
    before = state(session)
    steer(session)
    assert session.ask() is not None
    assert saved(session).ask() == session.ask()
    assert session.undo().kind in ("go_on", "prove")  # type: ignore[union-attr]
    assert state(session) == before


def test_a_proof_is_the_papers_method_with_all_answers() -> None:
    session = ended()
    answers = session.answers
    session.prove()
    paper = ua.Session(session.pool).to_dict() | {"answers": [a.to_data() for a in answers]}
    reference = ua.Session.from_dict(session.pool, paper)
    assert (session.method.name, session.epsilon, session.per_screen) == ("useralign", 0.0, 2)
    user = Consistent(session.pool, np.random.default_rng(0).normal(size=8), seed=0)
    while (pair := session.ask()) is not None:
        assert pair.candidates == reference.ask().candidates  # type: ignore[union-attr]
        assert state(saved(session)) == state(session)
        session.tell(user.pick(pair))
        reference.tell(session.answers[-1].winner)  # type: ignore[arg-type]
    assert (session.stop_reason, session.proof_price()) == ("bound", 0)
    assert session.best == reference.best
    assert session.best.index == int(np.argmax(user.worth(session.pool)))


@pytest.mark.parametrize("name", ["food64d", "visual512d"])
def test_the_price_of_a_proof_is_honest(name: str) -> None:
    question = domains.load(name).questions[1]
    for persona in question.personas:
        user = RankedPersona(persona.ranking)
        session = converse(ua.Session.few(question.pool()), user)
        price, cost = session.proof_price(), session.cost
        session.prove()
        assert session.expected_screens == cost + price
        assert abs(converse(session, user).cost - cost - price) <= 2


def test_the_price_in_a_large_pool_counts_what_may_still_be_best() -> None:
    session = ua.Session.few(pool_of(300), budget=1)
    session.tell(session.ask().first)  # type: ignore[union-attr]
    price = session.proof_price()
    session.prove()
    assert price == len(session.viable) - 1


@pytest.mark.parametrize(
    ("count", "options", "screens"),
    [
        (20, {}, 3),
        (40, {"per_screen": 9}, 2),
        (40, {"per_screen": 6}, 3),
        (20, {"per_screen": 2}, 5),
        (20, {"budget": 2}, 2),
        (6, {}, 2),
        (4, {}, 1),
        (1, {}, 1),
    ],
)
def test_what_to_expect_of_the_preset(count: int, options: dict[str, int], screens: int) -> None:
    assert ua.Session.few(pool_of(count), **options).expected_screens == screens


def test_what_to_expect_of_other_methods() -> None:
    assert ua.Session(pool_of(20)).expected_screens == 19
    assert ua.Session(pool_of(20), budget=7, epsilon=None).expected_screens == 7


@pytest.mark.parametrize("seed", range(4))
def test_what_to_expect_never_falls(seed: int) -> None:
    pool = pool_of(20, seed)
    session = ua.Session.few(pool, seed=seed)
    draw = np.random.default_rng(seed)
    seen = [session.expected_screens]
    for more in (False, True, True):
        if more:
            session.go_on(2)
        while (screen := session.ask()) is not None:
            assert session.expected_screens > session.cost
            session.tell(screen.candidates[draw.integers(len(screen.candidates))])
            seen.append(session.expected_screens)
    assert seen == sorted(seen)
    assert seen[-1] == session.cost


@pytest.mark.parametrize(
    ("kinds", "screens"), [(("equal",), 3), (("neither",), 5), (("equal", "neither"), 5)]
)
def test_somebody_indifferent_is_not_asked_for_ever(kinds: tuple[str, ...], screens: int) -> None:
    session = ua.Session.few(pool_of(40))
    while session.ask() is not None:
        getattr(session, kinds[session.cost % len(kinds)])()
    assert (session.cost, session.stop_reason) == (screens, "indifferent")
    assert saved(session).stop_reason == "indifferent"
    session.go_on(2)
    assert session.ask() is not None
    session.undo()
    price = session.proof_price()
    session.prove()
    assert session.finished == (price == 0)


def test_who_refused_all_is_shown_the_rest_however_sure_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the few that are left one may well be the best of them, and still not do."""
    session = ua.Session.few(pool_of(20))
    session.ask()
    session.neither()
    monkeypatch.setattr(type(session._run), "satisfied", lambda _: True)
    assert session.stop_reason is None
    session.tell(session.ask().candidates[0])  # type: ignore[union-attr]
    assert session.stop_reason == "confident"


def test_one_preference_is_not_indifference() -> None:
    session = ua.Session.few(pool_of(40), budget=20, sure=1.0, gain=0.0)
    session.tell(session.ask().first)  # type: ignore[union-attr]
    for _ in range(5):
        session.ask()
        session.equal()
    assert session.stop_reason is None


def test_five_equal_pairs_end_any_method() -> None:
    session = ua.Session(pool_of(20))
    while session.ask() is not None:
        session.equal()
    assert (session.cost, session.stop_reason) == (5, "indifferent")


@pytest.mark.parametrize(
    "damaged",
    [
        {"kind": "final", "shown": [0, 1], "winner": 99},
        {"kind": "final", "shown": [0, 99], "winner": 0},
        {"kind": "final", "shown": [0, 1], "winner": None},
        {"kind": "go_on", "screens": -1},
        {"kind": "prove"},
        {"kind": "go_on", "screens": "two"},
        [-1, -2, 0],
    ],
)
def test_damaged_steps_are_refused(damaged: object) -> None:
    session = ended()
    data = session.to_dict() | {"answers": [damaged]}
    with pytest.raises(ua.FileFormatError, match="damaged"):
        ua.Session.from_dict(session.pool, data)
