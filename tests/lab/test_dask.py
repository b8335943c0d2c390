from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from useralign.errors import MissingExtraError, OptionError
from useralign.lab import dispatch
from useralign.lab.bench.contest import contest, run_contest
from useralign.lab.dispatch import dispatcher_for
from useralign.lab.plan import parse_plan
from useralign.lab.runner import run_plan

from .plans import SMALL, Here

PLAN = parse_plan(SMALL)


@pytest.fixture(autouse=True, scope="module")
def distributed() -> Any:
    return pytest.importorskip("distributed")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_cluster_of_its_own(tmp_path: Path, expected: bytes, jobs: int) -> None:
    run_plan(PLAN, tmp_path, engine="dask", jobs=jobs)
    assert (tmp_path / "results.json").read_bytes() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_cluster_that_loses_a_worker_and_goes_on(
    tmp_path: Path, expected: bytes, distributed: Any
) -> None:
    methods = contest(["tournament", "random"], ["synthetic2d"], users=["btl"], runs=3)
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
        run_contest(methods, tmp_path / "cluster", engine="dask", scheduler=address)
    assert killed
    assert (tmp_path / "results.json").read_bytes() == expected
    run_contest(methods, tmp_path / "here", engine=Here())
    both = [(tmp_path / name / "results.json").read_bytes() for name in ("cluster", "here")]
    assert both[0] == both[1]


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_PATIENCE", 0.3)
    with pytest.raises(OptionError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        run_plan(PLAN, tmp_path, engine="dask", scheduler="tcp://127.0.0.1:9")


def test_dask_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'useralign\[dask\]'"):
        dispatcher_for("dask")
