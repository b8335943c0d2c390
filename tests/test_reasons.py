"""One sentence on why a candidate is recommended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import useralign as ua
from useralign import domains
from useralign.methods.frugal.prior import Prior
from useralign.reasons import leanings, why
from useralign.users import RankedPersona
from useralign.users.base import converse

TEXTS = [
    "Spicy noodles with lime.",
    "Spicy curry with coconut.",
    "Cheese toast.",
    "Cheese soup.",
    "Plain rice.",
    "Grilled trout.",
]


def session_of(texts: list[str], *answers: object, **options: Any) -> ua.Session:
    """Return a session with these answers, as a file has them."""
    pool = ua.Pool("Which?", texts, np.eye(len(texts)))
    state = ua.Session.few(pool, **options).to_dict()
    return ua.Session.from_dict(pool, {**state, "answers": list(answers)})


def chose(winner: int, *others: int) -> dict[str, object]:
    return {"kind": "choice", "shown": [winner, *others], "winner": winner}


def test_words_that_the_chosen_share_and_the_passed_over_lack() -> None:
    session = session_of(TEXTS, chose(1, 2, 3), chose(0, 4, 5))
    assert session.best.index in (0, 1)
    assert why(session) == "You chose answers with “spicy”, and passed over “cheese”."


def test_what_the_passed_over_share_when_one_was_chosen() -> None:
    session = session_of(TEXTS, chose(4, 2, 3, 5))
    assert why(session) == "You chose it over 3 others, such as those with “cheese”."
    assert why(session_of(TEXTS, chose(4, 5))) == "You chose it over one other."


def test_what_all_of_them_share_is_no_reason() -> None:
    texts = [f"Take the early train to {name}." for name in ("Bath", "York", "Ely", "Rye")]
    session = session_of(texts, chose(0, 1), chose(2, 1), chose(3, 0), chose(3, 2))
    assert why(session) == "You chose it over 2 others."


def test_an_interest_is_named() -> None:
    pool = ua.Pool("Which?", [ua.Candidate("hot", interest="thrills"), "mild"], np.eye(2))
    session = ua.Session(pool)
    session.ask()
    session.tell(0)
    assert why(session) == "You chose it, which is for “thrills”, over one other."


def test_names_keep_their_capitals() -> None:
    texts = ["Tbilisi has baths.", "Walk in Tbilisi slowly.", "Oslo.", "Bergen."]
    session = session_of(texts, chose(0, 2), chose(1, 3))
    assert why(session) == "You chose answers with “Tbilisi”."
    session = session_of(
        ["Spicy rice", "Spicy peas", "Cheese soup", "Cheese toast"], chose(0, 2), chose(1, 3)
    )
    assert why(session) == "You chose answers with “spicy”, and passed over “cheese”."


def test_nothing_known() -> None:
    assert why(session_of(TEXTS)) == "Nothing was compared yet, so this is a guess."
    session = session_of(TEXTS, prior=Prior(popularity=(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)))
    assert why(session) == "Nothing was compared yet; this goes by earlier answers."
    equal = {"kind": "equal", "shown": [0, 1, 2]}
    sentence = "You had no favourite among those you saw, so this is little more than a guess."
    assert why(session_of(TEXTS, equal)) == sentence


def test_what_was_said_is_quoted() -> None:
    said = {
        "kind": "remark",
        "text": "something  hot",
        "direction": [1, 0, 0, 0, 0, 0],
        "weight": 1,
    }
    session = session_of(TEXTS, said)
    assert session.best.index == 0
    assert why(session) == (
        "You said “something hot”, and this, which you have not seen yet, fits that."
    )
    session = session_of(TEXTS, said, chose(0, 4))
    assert why(session) == "You said “something hot”, and chose it over one other."


def test_one_that_was_never_seen() -> None:
    rows = [[0.2, 0.0], [0.0, 0.2], [0.02, 0.2], [0.5, 0.0]]
    pool = ua.Pool("Which?", ["a cat", "a dog", "a wolf", "a lion"], rows, normalise="none")
    state = ua.Session(pool).to_dict() | {"answers": [[0, 1, 0], [0, 2, 0]]}
    session = ua.Session.from_dict(pool, state)
    assert session.best.text == "a lion"
    assert why(session) == "You have not seen it yet: it is like “a cat”, which you chose."


def test_one_that_lost_is_not_called_a_choice() -> None:
    session = session_of(TEXTS, chose(1, 0))
    session.choose(0)
    assert why(session).startswith("You chose ")
    session.undo()
    session.go_on()
    assert session.best.index == 1


def ranked(*order: int) -> dict[str, object]:
    return {"kind": "ranking", "shown": sorted(order), "order": list(order)}


def test_of_a_ranking_only_the_first_was_chosen() -> None:
    session = session_of(TEXTS, ranked(4, 2, 3, 5))
    assert session.best.index == 4
    assert why(session) == "You chose it over 3 others, such as those with “cheese”."
    rows = [[0.2, 0.0], [0.0, 0.2], [0.02, 0.2], [0.5, 0.0]]
    pool = ua.Pool("Which?", ["a cat", "a dog", "a wolf", "a lion"], rows, normalise="none")
    state = ua.Session(pool).to_dict() | {"answers": [ranked(0, 1, 2)]}
    line = why(ua.Session.from_dict(pool, state))
    assert line == "You have not seen it yet: it is like “a cat”, which you chose."


@pytest.mark.parametrize(
    ("say", "sentence"),
    [
        ("equal", "You found them equally good, so this one is as good as any."),
        ("neither", "None of those you saw would do, so this is little more than a guess."),
    ],
)
def test_somebody_indifferent(say: str, sentence: str) -> None:
    session = ua.Session.few(ua.Pool("Which?", TEXTS * 4, np.eye(24)))
    while session.ask() is not None:
        getattr(session, say)()
    assert session.stop_reason == "indifferent"
    assert why(session) == sentence
    small = ua.Session.few(ua.Pool("Which?", TEXTS[:4], np.eye(4)))
    small.ask()
    getattr(small, say)()
    assert small.ask() is None
    assert why(small) == sentence


@pytest.mark.parametrize("name", ["food64d", "visual512d"])
def test_it_is_one_sentence_for_everybody(name: str) -> None:
    question = domains.load(name).questions[0]
    for persona in question.personas:
        session = converse(ua.Session.few(question.pool()), RankedPersona(persona.ranking))
        sentence = why(session)
        assert sentence.startswith("You ")
        assert sentence.endswith(".")
        assert sentence.count(". ") == 0
        assert len(sentence) < 160


def test_what_somebody_leans_towards() -> None:
    texts = ["Spicy tofu", "Spicy noodles", "Fish pie", "Fish soup", "Fish cake", "Plain rice"]
    pool = ua.Pool("Dinner?", texts, np.eye(6))
    sessions = []
    for seed in range(2):
        session = ua.Session(pool, "frugal", per_screen=6, budget=1, epsilon=None, seed=seed)
        assert session.ask() is not None
        session.tell(seed)
        sessions.append(session)
    assert leanings(sessions) == "likes spicy; passes over fish"
    sessions[0].wish("no nuts")
    assert leanings(sessions) == "likes spicy; passes over fish; said “no nuts”"
    assert leanings([]) == ""
