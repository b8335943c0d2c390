"""The preset for a person, and going on after its end."""

from __future__ import annotations

import json

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from useralign import presets
from useralign.users import Consistent, converse


def texts(words: int, count: int = 8) -> ua.Pool:
    return ua.Pool("Which?", [f"{k}" + " word" * (words - 1) for k in range(count)],
                   gaussian_features(count, 5, 1))  # fmt: skip


def pictures(count: int) -> ua.Pool:
    candidates = [ua.Candidate("many words " * 40, image=f"{k}.png") for k in range(count)]
    return ua.Pool("Which?", candidates, gaussian_features(count, 5, 1))


@pytest.mark.parametrize(
    ("words", "count"), [(1, 4), (25, 4), (40, 4), (41, 3), (80, 3), (81, 2), (400, 2)]
)
def test_as_many_texts_as_a_glance_takes(words: int, count: int) -> None:
    session = ua.Session.few(texts(words))
    assert session.per_screen == count
    comparison = session.ask()
    assert comparison is not None
    assert len(comparison.candidates) == count


def test_nine_pictures_and_six_on_a_phone() -> None:
    pool = pictures(12)
    assert ua.Session.few(pool).per_screen == 9
    assert ua.Session.few(pool, per_screen=6).per_screen == 6


def test_a_few_long_answers_among_short_ones_change_nothing() -> None:
    candidates = ["short"] * 5 + ["word " * 300] * 3
    named = [f"{k} {text}" for k, text in enumerate(candidates)]
    assert ua.Session.few(ua.Pool("Which?", named, gaussian_features(8, 5, 1))).per_screen == 4


def test_one_candidate_without_a_picture_makes_texts_of_all() -> None:
    candidates = [*pictures(4), ua.Candidate("a text")]
    assert presets.per_glance(candidates) == 3


def test_numbered_candidates_are_short() -> None:
    pool = ua.Pool.from_features(gaussian_features(2000, 3, 1))
    assert presets.few(pool)["per_screen"] == 4


def test_it_is_the_frugal_method_with_five_screens_at_most() -> None:
    session = ua.Session.few(texts(10), seed=7)
    assert (session.method.name, session.budget, session.seed) == ("frugal", 5, 7)
    assert session.method.options()["top"] == 1
    other = ua.Session.few(texts(10), budget=3, sure=0.5)
    assert (other.budget, other.method.options()["sure"]) == (3, 0.5)
    with pytest.raises(ua.OptionError):
        ua.Session.few(texts(10), reask=True)


@pytest.mark.parametrize(("count", "top"), [(2, 1), (13, 1), (14, 2), (19, 2), (20, 3), (40, 3)])
def test_a_small_pool_is_not_over_before_it_begins(count: int, top: int) -> None:
    session = ua.Session.few(texts(10, count))
    assert session.method.options()["top"] == top
    assert session.ask() is not None


@pytest.mark.parametrize("seed", range(4))
def test_it_ends_within_five_screens(seed: int) -> None:
    pool = ua.Pool.from_features(gaussian_features(20, 8, seed))
    user = Consistent(pool, np.random.default_rng(seed).normal(size=8), seed=seed)
    session = converse(ua.Session.few(pool, seed=seed), user)
    assert session.cost <= 5
    assert session.stop_reason in ("confident", "budget")


def test_a_saved_session_goes_on_as_it_was() -> None:
    pool = texts(10)
    session = ua.Session.few(pool)
    session.tell(session.ask().candidates[2])  # type: ignore[union-attr]
    again = ua.Session.from_dict(pool, json.loads(json.dumps(session.to_dict())))
    assert again.to_dict() == session.to_dict()
    assert again.ask() == session.ask()


def ended() -> ua.Session:
    pool = ua.Pool.from_features(gaussian_features(20, 8, 0))
    user = Consistent(pool, np.random.default_rng(0).normal(size=8), seed=0)
    return converse(ua.Session.few(pool), user)


def test_two_more_screens() -> None:
    session = ended()
    cost, before = session.cost, session.answers
    session.go_on()
    assert session.answers[:-1] == before
    again = ua.Session.from_dict(session.pool, session.to_dict())
    for here in (session, again):
        for _ in range(2):
            here.tell(here.ask().first)  # type: ignore[union-attr]
        assert (here.cost, here.ask(), here.stop_reason) == (cost + 2, None, "budget")
    assert session.answers == again.answers
    session.go_on(1)
    assert session.ask() is not None


def test_going_on_takes_back_a_stop_and_asks_the_same() -> None:
    session = ua.Session.few(texts(10))
    comparison = session.ask()
    session.stop()
    session.go_on(2)
    assert session.ask().candidates == comparison.candidates  # type: ignore[union-attr]
    assert session.budget == 2


def test_going_on_is_by_one_at_least() -> None:
    session = ended()
    with pytest.raises(ua.OptionError, match="screens must be a whole number of at least 1"):
        session.go_on(0)
    assert session.finished


def test_going_on_passes_the_limit() -> None:
    pool = ua.Pool.from_features(gaussian_features(12, 6, 0))
    session = ua.Session.few(pool, limit=1, sure=1.0, gain=0.0)
    session.tell(session.ask().first)  # type: ignore[union-attr]
    assert session.stop_reason == "limit"
    session.go_on(3)
    assert session.limit == 4
    assert session.ask() is not None
