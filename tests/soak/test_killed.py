"""Hundreds of killed servers."""

from __future__ import annotations

import pytest

from tests.faults.killing import broken, kill_often, lost


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_nothing(store_url: str) -> None:
    log = kill_often(store_url, kills=200, people=8, seed=1)
    print(f"\n200 kills: {len(log.acknowledged)} answers acknowledged in {log.sessions} sessions")
    assert len(log.acknowledged) >= 1000
    assert log.conflicts == []
    assert lost(store_url, log) == []
    assert broken(store_url) == []
