"""An acknowledged answer is never lost, whatever dies. `make soak` kills more often."""

from __future__ import annotations

import pytest

from tests.databases import postgres
from tests.faults.killing import Log, broken, kill_often, lost


def check(database: str, log: Log, least: int) -> None:
    """Compare what was acknowledged with what is there."""
    print(  # noqa: T201 - the figures of a soak
        f"\n{len(log.acknowledged)} answers acknowledged in {log.sessions} sessions, "
        f"{len(log.away)} refused meanwhile; answering again {max(log.pauses):.1f} s after a start"
    )
    assert len(log.acknowledged) >= least
    assert log.conflicts == []
    assert lost(database, log) == []
    assert broken(database) == []


@pytest.mark.parametrize(
    ("kills", "people"),
    [(4, 4), pytest.param(100, 8, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])],
)
def test_killing_the_server_loses_nothing(store_url: str, kills: int, people: int) -> None:
    log = kill_often(store_url, kills, people, seed=11)
    assert log.away == []
    check(store_url, log, 5 * kills)


@pytest.mark.parametrize(
    "kills", [2, pytest.param(40, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_killing_postgresql_loses_nothing(kills: int) -> None:
    with postgres("-c fsync=on -c synchronous_commit=on") as server, server.lent() as database:
        log = kill_often(database, kills, people=4, seed=5, victim=server)
        assert {"cannot be reached" in reason for reason in log.away} == {True}
        check(database, log, 5 * kills)
