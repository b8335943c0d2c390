"""Wishes in a session: hidden, first, taken back, undone, saved, and in force for newcomers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import useralign as ua
from useralign.domains import load
from useralign.errors import AnswerError, FeedbackError, FileFormatError
from useralign.wishes import words

METHODS = ["useralign", "useralign_loss", "frugal"]
TEXTS = [
    "Hot chilli noodles.", "Beef burritos with salsa.", "Grilled trout.", "Tofu salad.",
    "Duck in orange sauce.", "Pea soup.", "Apple pie.", "Spicy lentils.", "Egg on toast.",
]  # fmt: skip


@pytest.fixture
def pool() -> ua.Pool:
    return ua.Pool("Which?", TEXTS, np.random.default_rng(3).normal(size=(len(TEXTS), 4)))


def candidates_seen(session: ua.Session, most: int = 40) -> set[int]:
    """Answer to the end and return all that was on a screen."""
    seen: set[int] = set()
    while (screen := session.ask()) is not None and session.cost < most:
        seen.update(candidate.index for candidate in screen.candidates)
        session.tell(screen.candidates[session.cost % len(screen.candidates)])
    return seen


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_screen", [2, 4])
def test_what_is_hidden_is_neither_shown_nor_recommended(
    pool: ua.Pool, method: str, per_screen: int
) -> None:
    session = ua.Session(pool, method, per_screen=per_screen, budget=12)
    wish = session.wish("vegetarian")
    assert wish.hidden == (1, 2, 4)
    assert session.hidden == {1, 2, 4}
    assert wish.effect == "hiding 3 with meat or fish"
    seen = candidates_seen(session)
    assert len(seen) > 2
    assert not seen & session.hidden
    assert session.best.index not in session.hidden
    assert not {c.index for c in session.viable} & session.hidden


@pytest.mark.parametrize("method", METHODS)
def test_wishing_in_the_middle(pool: ua.Pool, method: str) -> None:
    session = ua.Session(pool, method, per_screen=4, budget=12)
    session.tell(session.ask().candidates[0])  # type: ignore[union-attr]
    session.wish("no meat")
    session.wish("no fish")
    assert not candidates_seen(session) & {1, 2, 4}
    assert session.best.index not in {1, 2, 4}


def test_the_bound_is_that_of_what_remains(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    session.wish("no meat")
    rest = [k for k in range(len(pool)) if k not in session.hidden]
    while (pair := session.ask()) is not None:
        session.tell(min(pair.candidates, key=lambda c: c.index))
    assert session.stop_reason == "bound"
    assert session.bound == 0.0
    assert {c.index for c in session.viable} <= set(rest)
    assert session.cost <= len(rest) + 3


def test_few_stops_later_than_at_once_where_little_is_left(pool: ua.Pool) -> None:
    """Three of three are the best three without a question; so the best share shrinks too."""
    question = load("food64d").question("food-01")
    large = ua.Pool(question.text, question.select(), np.random.default_rng(1).normal(size=(20, 8)))
    session = ua.Session.few(large)
    for text in ("vegan", "no rice"):
        session.wish(text)
    assert 1 < len(large) - len(session.hidden) <= 5
    assert session.ask() is not None
    assert session.confidence is not None
    assert session.confidence.top == 1
    assert session.confidence.probability < 0.85


@pytest.mark.parametrize("method", METHODS)
def test_one_that_is_left_ends_the_session(method: str) -> None:
    pool = ua.Pool("Which?", ["Beef.", "Duck.", "Tofu."], np.eye(3))
    session = ua.Session(pool, method, budget=9)
    session.wish("no meat")
    assert session.ask() is None
    assert session.best.text == "Tofu."


@pytest.mark.parametrize("method", METHODS)
def test_never_all_are_hidden(method: str) -> None:
    pool = ua.Pool("Which?", ["Beef.", "Duck.", "Trout."], np.eye(3))
    session = ua.Session(pool, method, budget=9)
    both = session.wish("vegetarian")
    assert both.hidden == ()
    assert both.effect == "nothing would be left, so none is hidden"
    assert session.ask() is not None
    session.withdraw("vegetarian")
    assert session.wish("no meat").hidden == (0, 1)
    assert session.wish("no fish").hidden == (), "the first wish stays, the second would leave none"
    assert session.best.text == "Trout."


def test_disliking_all_that_is_left_brings_back_none_of_the_hidden(pool: ua.Pool) -> None:
    session = ua.Session(pool, per_screen=3)
    session.wish("vegetarian")
    for _ in range(3):
        if session.ask() is not None:
            session.neither()
    assert session.best.index not in session.hidden
    assert not candidates_seen(session) & session.hidden


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_screen", [2, 4])
def test_what_is_wanted_comes_first(pool: ua.Pool, method: str, per_screen: int) -> None:
    session = ua.Session(pool, method, per_screen=per_screen, budget=9)
    wish = session.wish("spicy")
    assert wish.favoured == (0, 7)
    assert wish.effect == "spicy first"
    screen = session.ask()
    assert screen is not None
    assert {0, 7} <= {candidate.index for candidate in screen.candidates}
    assert session.best.index in wish.favoured


def test_what_is_less_wanted_comes_last(pool: ua.Pool) -> None:
    session = ua.Session.few(pool)
    session.wish("less spicy")
    screen = session.ask()
    assert screen is not None
    assert not {0, 7} & {candidate.index for candidate in screen.candidates}
    assert 0 not in session.hidden


def test_taking_back_one_by_one(pool: ua.Pool) -> None:
    session, other = ua.Session.few(pool), ua.Session.few(pool)
    for text in ("no meat", "No  fish", "spicy"):
        assert session.wish(text).text == " ".join(text.split())
    assert [wish.text for wish in session.wishes] == ["no meat", "No fish", "spicy"]
    session.withdraw("no FISH")
    assert session.hidden == {1, 4}
    session.withdraw("no meat")
    session.withdraw("spicy")
    assert session.ask().candidates == other.ask().candidates  # type: ignore[union-attr]
    with pytest.raises(AnswerError, match="there is none"):
        session.withdraw("spicy")
    session.undo()
    assert [own.text for own in session.wishes] == ["spicy"]
    with pytest.raises(AnswerError, match="'spicy'"):
        session.withdraw("sour")


def test_wishing_the_same_again_changes_nothing(pool: ua.Pool) -> None:
    session = ua.Session.few(pool)
    session.wish("no meat")
    before = session.ask()
    session.wish("No meat")
    assert len(session.wishes) == 1
    assert session.ask().candidates == before.candidates  # type: ignore[union-attr]
    assert session.cost == 0


@pytest.mark.parametrize("method", METHODS)
def test_wishes_are_saved_and_replayed(pool: ua.Pool, method: str) -> None:
    session = ua.Session(pool, method, per_screen=3, budget=9)
    session.wish("vegetarian")
    session.wish("spicy")
    session.tell(session.ask().candidates[0])  # type: ignore[union-attr]
    session.withdraw("spicy")
    session.wish("less sweet")
    state = json.loads(json.dumps(session.to_dict()))
    again = ua.Session.from_dict(pool, state)
    assert again.wishes == session.wishes
    assert again.ask() == session.ask()
    assert again.best == session.best
    assert again.to_dict() == session.to_dict()


@pytest.mark.parametrize(
    "change",
    [{"hidden": [99]}, {"hidden": "ab"}, {"judged": None}, {"direction": [1.0]}, {"text": 3}],
)
def test_a_damaged_wish_is_refused(pool: ua.Pool, change: dict[str, object]) -> None:
    session = ua.Session(pool)
    session.wish("no fish")
    state = session.to_dict()
    state["answers"][0] |= change
    with pytest.raises(FileFormatError, match="damaged"):
        ua.Session.from_dict(pool, state)


def test_candidates_that_join_are_judged(pool: ua.Pool) -> None:
    session = ua.Session.few(pool)
    session.wish("no fish")
    session.wish("spicy")
    session.extend(["Fried cod.", "Spicy beans.", "Bread."], np.eye(4)[:3])
    fish, spicy = session.wishes
    assert fish.hidden == (2, 9)
    assert fish.effect == "hiding 2 with fish"
    assert spicy.favoured == (0, 7, 10)
    assert not candidates_seen(session) & {2, 9}
    again = ua.Session.from_dict(session.pool, session.to_dict())
    assert again.wishes == session.wishes


def test_a_method_that_cannot_leave_out_says_so(pool: ua.Pool) -> None:
    session = ua.Session(pool, "tournament")
    with pytest.raises(FeedbackError, match="'wish'"):
        session.wish("no fish")
    assert session.answers == ()


def test_a_wish_that_says_nothing_changes_nothing(pool: ua.Pool) -> None:
    session = ua.Session(pool)
    for text in ("", "please", 3):
        with pytest.raises(AnswerError):
            session.wish(text)  # type: ignore[arg-type]
    assert session.answers == ()


@pytest.mark.parametrize("question", load("food64d").questions, ids=lambda question: question.id)
def test_a_vegetarian_meets_no_meat_in_any_shipped_question(question) -> None:  # type: ignore[no-untyped-def]
    """Until nothing is left to ask. What has meat or fish is known by hand, in veginess."""
    candidates = question.candidates
    features = np.random.default_rng(2).normal(size=(len(candidates), 6))
    pool = ua.Pool(question.text, candidates, features)
    session = ua.Session(pool, per_screen=4)
    session.wish("vegetarian, no meat and no fish please")
    seen = candidates_seen(session, most=60) | {session.best.index}
    for k in seen:
        for word in ("beef", "chicken", "duck", "pork", "salmon", "tuna", "prawn", "bacon", "ham"):
            assert not words.mentions(pool[k].text, word).present
