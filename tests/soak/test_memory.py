"""An hour of people who come, answer and go: the server needs no more memory at its end.

SOAK_MINUTES is how long it takes, 60 when not set.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.faults.killing import answering

MINUTES = float(os.environ.get("SOAK_MINUTES", "60"))
SAMPLES = 60


def resident(process: int) -> float:
    """Return the megabytes that a process has in memory."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


@pytest.mark.soak
@pytest.mark.timeout(2 * 3600)
def test_memory_is_flat(store_url: str) -> None:
    sizes = []
    with answering(store_url, people=4, seed=2, pause=0.2) as (server, log):
        for _ in range(SAMPLES):
            time.sleep(60 * MINUTES / SAMPLES)
            sizes.append(resident(server.process))
    third = SAMPLES // 3
    middle, last = max(sizes[third : 2 * third]), max(sizes[2 * third :])
    print(
        f"\n{MINUTES:.0f} minutes, {len(log.acknowledged)} answers in {log.sessions} sessions: "
        f"{sizes[0]:.0f} MB at first, {middle:.0f} in the middle, {last:.0f} at the end"
    )
    assert log.conflicts == []
    assert last <= 1.05 * middle
