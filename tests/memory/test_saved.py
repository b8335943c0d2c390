"""How many screens memory saved, by its own estimate."""

from __future__ import annotations

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from useralign.memory import saved_screens
from useralign.users import UtilityUser


def over(prior: dict[str, list[float]] | None, seed: int = 1) -> ua.Session:
    """Return the preset's session with somebody whose taste a prior may know."""
    features = gaussian_features(20, 6, seed)
    pool = ua.Pool.from_features(features)
    worth = pool.features @ np.array([3.0, -2.0, 1.0, 0.0, 0.0, 0.0])
    session = ua.Session.few(pool, prior=prior)
    for _ in ua.simulate(session, UtilityUser(lambda candidate: float(worth[candidate.index]))):
        pass
    return session


@pytest.fixture(scope="module")
def known() -> ua.Session:
    return over({"mean": [9.0, -6.0, 3.0, 0.0, 0.0, 0.0]})


def test_who_is_known_well_is_asked_less_and_told_so(known: ua.Session) -> None:
    without = over(None)
    assert known.cost < without.cost
    assert 1 <= saved_screens(known) <= without.budget - known.cost  # type: ignore[operator]
    assert saved_screens(known) == saved_screens(known)


def test_without_a_prior_nothing_is_saved() -> None:
    assert saved_screens(over(None)) == 0
    assert saved_screens(ua.Session(over(None).pool)) == 0


def test_the_session_is_as_before_and_may_have_been_ended_by_hand(known: ua.Session) -> None:
    before = known.to_dict()
    saved = saved_screens(known)
    assert known.to_dict() == before
    stopped = ua.Session.from_dict(known.pool, before)
    stopped.stop()
    assert saved_screens(stopped) == saved
