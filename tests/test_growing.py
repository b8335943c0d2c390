"""A session whose pool grows: nothing told is lost, no candidate is lost or there twice."""

from __future__ import annotations

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from useralign.users import Consistent, converse


def texts_pool(normalise: str = "ball") -> ua.Pool:
    names = [f"answer {k}" for k in range(6)]
    return ua.Pool("Which?", names, gaussian_features(6, 5, 1), "usual", normalise=normalise)


def test_what_was_told_stays() -> None:
    pool = texts_pool()
    session = converse(ua.Session(pool, budget=4), Consistent(pool, seed=2))
    answers = session.answers
    joined = session.extend(["new", ua.Candidate(text="newer", id="n")], np.eye(2, 5))
    assert [c.text for c in joined] == ["new", "newer"]
    assert [c.index for c in joined] == [6, 7]
    assert joined[1].id == "n"
    assert session.answers == answers
    assert session.cost == 4
    assert [c.text for c in session.pool][:6] == [c.text for c in pool]
    assert session.pool.baseline == pool.baseline
    assert len(pool) == 6, "the pool that was given is another's"


def test_a_new_candidate_that_is_better_wins() -> None:
    pool = texts_pool()
    theta = np.array([0.0, 0.0, 0.0, 0.0, 3.0])
    session = converse(ua.Session(pool), Consistent(pool, theta))
    assert session.stop_reason == "bound"
    (joined,) = session.extend(["the one"], [[0.0, 0.0, 0.0, 0.0, 0.5]])
    assert not session.finished, "the bound is that of the larger pool"
    converse(session, Consistent(session.pool, theta))
    assert session.best == joined


@pytest.mark.parametrize("normalise", ["ball", "unit", "diameter", "none"])
def test_the_larger_pool_is_normalised_as_a_whole(normalise: str) -> None:
    pool = texts_pool(normalise)
    session = ua.Session(pool)
    rows = 0.4 * np.eye(2, 5)
    session.extend(["x", "y"], rows)
    whole = ua.Pool(
        "Which?",
        [*pool, "x", "y"],
        np.vstack([pool.raw_features, rows]),
        normalise=normalise,
    )
    np.testing.assert_array_equal(session.pool.features, whole.features)
    assert session.to_dict()["pool"]["fingerprint"] == whole.fingerprint


def test_the_same_text_does_not_join_twice() -> None:
    session = ua.Session(texts_pool())
    joined = session.extend(["answer 3 ", "new", "new"], np.eye(3, 5))
    assert [c.text for c in joined] == ["new"]
    assert len(session.pool) == 7
    np.testing.assert_array_equal(session.pool.raw_features[6], np.eye(3, 5)[1])
    assert session.extend(["new"], np.eye(1, 5)) == ()


def test_pictures_with_one_text_are_two() -> None:
    pair = [ua.Candidate(text="a cat", image=f"{k}.png") for k in range(2)]
    session = ua.Session(ua.Pool("?", pair, np.eye(2)))
    again = [ua.Candidate(text="a cat", image=f"{k}.png") for k in (1, 2)]
    assert [c.image for c in session.extend(again, np.eye(2))] == ["2.png"]


def test_an_id_has_one_owner() -> None:
    session = ua.Session(texts_pool())
    before = session.to_dict()
    with pytest.raises(ua.PoolError, match="'c3' belongs to another"):
        session.extend([ua.Candidate(text="new", id="c3")], np.eye(1, 5))
    assert session.to_dict() == before


@pytest.mark.parametrize(
    ("candidates", "features", "message"),
    [
        (["x"], np.eye(2, 5), "1 new candidates but 2 rows"),
        (["x"], np.eye(1, 4), "4 features, the pool has 5"),
        (["x"], [[np.nan] * 5], "finite"),
        ([], np.eye(1, 5), "empty"),
        ("x", np.eye(1, 5), "list"),
        ([3], np.eye(1, 5), "Candidate"),
    ],
)
def test_what_does_not_fit_changes_nothing(
    candidates: list[str], features: object, message: str
) -> None:
    session = converse(ua.Session(texts_pool(), budget=2), Consistent(texts_pool()))
    before = session.to_dict()
    with pytest.raises(ua.PoolError, match=message):
        session.extend(candidates, features)  # type: ignore[arg-type]
    assert session.to_dict() == before


def test_a_method_that_cannot_go_on_leaves_the_session_as_it_was() -> None:
    session = ua.Session(texts_pool(), "oracle", utilities=range(6))
    with pytest.raises(ua.OptionError, match="6 utilities for 7"):
        session.extend(["x"], np.eye(1, 5))
    assert (len(session.pool), session.best.index) == (6, 5)


def test_numbered_candidates_stay_numbered() -> None:
    session = ua.Session(ua.Pool.from_features(np.eye(4)))
    joined = session.extend(None, [[1.0, 1.0, 0.0, 0.0]])
    assert [c.label for c in joined] == ["c4"]
    assert ua.Session(texts_pool()).extend(None, np.eye(1, 5))[0].label == "c6"


def test_the_grown_session_is_kept_with_its_pool() -> None:
    session = ua.Session(texts_pool(), seed=4)
    session.tell(session.ask().first)  # type: ignore[union-attr]
    session.extend(["new"], np.eye(1, 5))
    session.neither() if session.ask() else None
    again = ua.Session.from_dict(ua.Pool.from_dict(session.pool.to_dict()), session.to_dict())
    assert again.ask() == session.ask()
    with pytest.raises(ua.FileFormatError, match="another pool"):
        ua.Session.from_dict(texts_pool(), session.to_dict())


def test_the_usual_limit_grows_a_given_one_stays() -> None:
    rows = gaussian_features(60, 5, 3)
    usual, limited = ua.Session(texts_pool()), ua.Session(texts_pool(), limit=30)
    for session in (usual, limited):
        session.extend([f"more {k}" for k in range(60)], rows)
    assert (usual.limit, limited.limit) == (4 * 66, 30)
