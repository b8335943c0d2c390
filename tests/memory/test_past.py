from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.memory.people import Crowd
from useralign import Candidate, FileFormatError, Pool, Session
from useralign.answers import Answer
from useralign.memory import PastSession


def test_a_session_is_kept_to_what_was_said(pool: Pool) -> None:
    session = Session(pool, budget=2, epsilon=None, per_screen=3)
    for _ in range(2):
        pair = session.ask()
        assert pair is not None
        session.tell(pair.first)
    past = PastSession.from_session(session, "me")
    assert len(past.wins) == 4  # the best one of three wins twice
    assert past.features.shape == (len(past.keys), pool.dimension)
    assert past.question == pool.question
    assert past.space == (None, 6)


def test_every_kind_of_answer(pool: Pool) -> None:
    told = [
        Answer(0, 1, 1),
        Answer(2, 3, None, "equal"),
        Answer(4, 5, None, "neither"),
        Answer(6, 7, None, "skip"),
        Answer(-1, -1, None, "remark", text="x", direction=(1.0,) * 6),
    ]
    past = PastSession.from_answers(pool, told)
    assert past.wins == ((1, 0),)
    assert past.ties == ((2, 3),)
    assert past.dislikes == (4, 5)
    assert len(past) == 4


def test_features_are_those_of_the_pool_whatever_its_scale_and_origin(pool: Pool) -> None:
    moved = Pool.from_features(7.0 * pool.raw_features + 3.0)
    told = [Answer(0, 1, 1), Answer(2, 3, 2)]
    one, other = (
        PastSession.from_answers(pool, told).features,
        PastSession.from_answers(moved, told).features,
    )
    assert one == pytest.approx(other)


def test_candidates_are_known_by_text_else_by_id() -> None:
    rows = np.eye(3)
    told = [Answer(0, 1, 1), Answer(1, 2, 1)]

    def keys(*candidates: Candidate) -> tuple[str, ...]:
        return PastSession.from_answers(Pool("?", candidates, rows), told).keys

    assert keys(Candidate(" Soup "), Candidate("Rice"), Candidate("Pie")) == ("Soup", "Rice", "Pie")
    assert keys(Candidate(id="a"), Candidate(id="b"), Candidate(id="d"))[0] == "id a"
    numbered = PastSession.from_answers(Pool.from_features(rows), told).keys
    assert len(set(numbered)) == 3
    assert numbered != PastSession.from_answers(Pool.from_features(2 * rows), told).keys
    assert (
        numbered
        == PastSession.from_answers(Pool.from_dict(Pool.from_features(rows).to_dict()), told).keys
    )


def test_it_survives_a_round_trip() -> None:
    past = Crowd.draw().past(1, 5)
    again = PastSession.from_dict(past.to_dict(), "p1")
    assert again.features == pytest.approx(past.features, abs=1e-6)
    assert (again.wins, again.keys, again.space) == (past.wins, past.keys, past.space)
    assert again.continues(past)


def test_a_session_that_went_on_continues_its_beginning() -> None:
    crowd = Crowd.draw()
    taste = crowd.mean
    assert crowd.past(1, 5, taste).continues(crowd.past(1, 3, taste))
    assert not crowd.past(1, 3, taste).continues(crowd.past(1, 5, taste))
    assert not crowd.past(2, 5, taste).continues(crowd.past(1, 3, taste))


@pytest.mark.parametrize(
    "change",
    [
        {"wins": [[0, 99]]},
        {"wins": [[0]]},
        {"dislikes": [-1]},
        {"dislikes": [True]},
        {"ties": None},
        {"candidates": ["one"]},
        {"features": {"shape": [2, 2], "base64": "AAAA"}},
        {"features": {"shape": [1, 1], "base64": "AADAfw=="}, "candidates": ["nan"], "wins": []},
        {"features": "none"},
    ],
    ids=str,
)
def test_damaged_data(change: dict[str, Any]) -> None:
    data = Crowd.draw().past(1, 5).to_dict() | change
    with pytest.raises(FileFormatError, match="damaged"):
        PastSession.from_dict(data)
