"""An acknowledged answer is never lost, whenever the server dies. `make soak` kills more often."""

from __future__ import annotations

from tests.faults.killing import broken, kill_often, lost


def test_killing_the_server_loses_nothing(store_url: str) -> None:
    log = kill_often(store_url, kills=4, people=4, seed=11)
    assert len(log.acknowledged) >= 20
    assert log.conflicts == []
    assert lost(store_url, log) == []
    assert broken(store_url) == []
