from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from useralign.errors import MissingExtraError, OptionError
from useralign.lab import dispatch
from useralign.lab.dispatch import engine_for
from useralign.lab.plan import parse_plan
from useralign.lab.runner import run_plan

from .plans import SMALL

distributed = pytest.importorskip("distributed")
PLAN = parse_plan(SMALL)


def test_a_cluster_of_its_own(tmp_path: Path, expected: bytes) -> None:
    run_plan(PLAN, tmp_path, engine="dask", jobs=1)
    assert (tmp_path / "results.json").read_bytes() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_cluster_that_loses_a_worker(tmp_path: Path, expected: bytes) -> None:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            victim = next(iter(client.run(os.getpid).values()))
        killed: list[int] = []

        def kill(done: int, *_: Any) -> None:
            if done and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        address = cluster.scheduler_address
        assert address.startswith("tcp://127.0.0.1")
        run_plan(PLAN, tmp_path, engine="dask", scheduler=address, progress=kill)
    assert killed
    assert (tmp_path / "results.json").read_bytes() == expected


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_PATIENCE", 0.3)
    with pytest.raises(OptionError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        run_plan(PLAN, tmp_path, engine="dask", scheduler="tcp://127.0.0.1:9")


def test_dask_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'useralign\[dask\]'"):
        engine_for("dask")
