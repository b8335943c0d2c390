"""A disk that is full: nothing acknowledged is lost, who answers is told, and then it goes on."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.databases import postgres
from tests.faults.killing import Log, answering, broken, lost, wait
from useralign.store.database import sqlite_url

REFUSALS = 20  # how often somebody is to be told


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield the folder of a file system of so many megabytes; only root may mount one."""
    place = Path(tempfile.mkdtemp(prefix="ua-disk-", dir="/tmp"))  # open to PostgreSQL's user
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}m,mode=755", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)
    place.rmdir()


def fill(place: Path) -> Path:
    """Write until there is no room for another byte; return the file that takes it all."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    assert os.statvfs(place).f_bavail == 0
    return ballast


def fill_and_make_room(place: Path, log: Log) -> None:
    """Fill the disk while people answer, until they were told often enough."""
    wait(log, 20)
    ballast = fill(place)
    while len(log.away) < REFUSALS:
        time.sleep(0.01)
    ballast.unlink()


def check(database: str, log: Log) -> None:
    assert log.conflicts == []
    assert lost(database, log) == []
    assert broken(database) == []


@pytest.mark.parametrize("disk", [16], indirect=True)
def test_sqlite(disk: Path) -> None:
    database = sqlite_url(disk / "small.db")
    with answering(database, people=4, seed=3) as (_, log):
        fill_and_make_room(disk, log)
    assert {"disk is full" in reason for reason in log.away} == {True}
    check(database, log)


@pytest.mark.soak
@pytest.mark.parametrize("disk", [256], indirect=True)
def test_postgresql(disk: Path) -> None:
    with postgres("-c fsync=on -c max_wal_size=64MB", disk) as server, server.lent() as database:
        with answering(database, people=4, seed=3) as (_, log):
            fill_and_make_room(disk, log)
            server.kill()  # it may have given up already, where it cannot write its log
            server.start()
        check(database, log)
