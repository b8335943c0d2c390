from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from useralign import FileFormatError, OptionError
from useralign.lab import dispatch
from useralign.lab.cell import Cell
from useralign.lab.dispatch import CellOutcome, DispatchError, LocalProcesses, dispatcher_for
from useralign.lab.journal import Journal, Results, read_timings
from useralign.lab.plan import parse_plan
from useralign.lab.runner import run_plan

from .deadly import Deadly
from .plans import SLOW, SMALL, Here

PLAN = parse_plan(SMALL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_same_bytes_from_processes(tmp_path: Path, expected: bytes, jobs: int) -> None:
    seen: list[tuple[int, int, float | None]] = []
    results = run_plan(PLAN, tmp_path, jobs=jobs, progress=lambda *now: seen.append(now))
    assert (tmp_path / "results.json").read_bytes() == expected
    assert (tmp_path / "plan.toml").read_text() == SMALL
    assert results.cells == Results.read(tmp_path).cells
    assert seen[0] == (0, 56, None)
    assert seen[-1] == (56, 56, 0.0)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    timings = read_timings(tmp_path)
    assert timings.keys() == {cell["key"] for cell in results.cells}
    assert b"seconds" not in expected


def test_going_on_computes_only_what_is_missing(tmp_path: Path, expected: bytes) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_plan(PLAN, tmp_path, engine=Here(stop_after=3))
    kept = (tmp_path / "cells.jsonl").read_bytes()
    assert not (tmp_path / "results.json").exists()
    done = kept.count(b"\n")
    assert done == 12
    seen: list[int] = []
    run_plan(PLAN, tmp_path, engine=Here(), progress=lambda now, *_: seen.append(now))
    assert seen[0] == done
    assert (tmp_path / "cells.jsonl").read_bytes().startswith(kept)
    assert (tmp_path / "results.json").read_bytes() == expected
    run_plan(PLAN, tmp_path, engine=Here(stop_after=0))
    assert (tmp_path / "results.json").read_bytes() == expected


@pytest.mark.parametrize("cut", [1, 2, 40, 300])
def test_a_cut_off_journal(tmp_path: Path, expected: bytes, cut: int) -> None:
    run_plan(PLAN, tmp_path, engine=Here())
    for name in ("cells.jsonl", "timings.jsonl"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-cut])
    with Journal(tmp_path) as journal:
        assert len(journal.cells) == 55
        assert journal.dropped == 1
    run_plan(PLAN, tmp_path, engine=Here())
    assert (tmp_path / "results.json").read_bytes() == expected
    assert (tmp_path / "cells.jsonl").read_bytes().count(b"\n") == 56


def test_a_line_damaged_in_the_middle(tmp_path: Path, expected: bytes) -> None:
    run_plan(PLAN, tmp_path, engine=Here())
    lines = (tmp_path / "cells.jsonl").read_bytes().splitlines(keepends=True)
    lines[7], lines[9], lines[11] = b"\x00\x00\n", b"[1]\n", b'{"key": "x"}\n'
    (tmp_path / "cells.jsonl").write_bytes(b"".join(lines))
    run_plan(PLAN, tmp_path, engine=Here())
    assert (tmp_path / "results.json").read_bytes() == expected


@pytest.fixture(scope="module")
def slow_expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("slow")
    run_plan(parse_plan(SLOW), folder, engine=Here())
    return (folder / "results.json").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("end", ["SIGKILL", "SIGINT"])
def test_a_run_that_is_ended_goes_on(tmp_path: Path, end: str, slow_expected: bytes) -> None:
    broken = tmp_path / "broken"
    script = [sys.executable, "-m", "tests.lab.plans", str(broken)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(script, cwd=root, stderr=subprocess.DEVNULL)
    journal, total = broken / "cells.jsonl", len(parse_plan(SLOW).cells())
    while not journal.exists() or journal.read_bytes().count(b"\n") < 10:
        assert process.poll() is None
        time.sleep(0.01)
    workers = children(process.pid)
    process.send_signal(getattr(signal, end))
    assert process.wait(timeout=30) != 0
    assert 10 <= journal.read_bytes().count(b"\n") < total
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)
    before = {json.loads(line)["key"] for line in journal.read_text().splitlines()[:10]}
    run_plan(parse_plan(SLOW), broken, engine=Here())
    keys = [json.loads(line)["key"] for line in journal.read_text().splitlines()]
    assert set(keys[:10]) == before
    assert len(keys) == len(set(keys)) == total
    assert (broken / "results.json").read_bytes() == slow_expected


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(OptionError, match="another run is at work there"),
    ):
        run_plan(PLAN, tmp_path, engine=Here())
    assert not (tmp_path / "cells.jsonl").exists()
    run_plan(PLAN, tmp_path, engine=Here())


def test_another_plans_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_plan(PLAN, tmp_path, engine=Here())
    kept = (tmp_path / "cells.jsonl").read_bytes()
    with pytest.raises(FileFormatError, match="holds the run of another plan"):
        run_plan(parse_plan(SMALL.replace("limit = 30", "limit = 31")), tmp_path, engine=Here())
    run_plan(parse_plan("# A remark changes nothing.\n" + SMALL), tmp_path, engine=Here())
    monkeypatch.setattr("useralign.__version__", "9.9")
    with pytest.raises(FileFormatError, match=r"begun with useralign .*, this is 9\.9"):
        run_plan(PLAN, tmp_path, engine=Here())
    monkeypatch.undo()
    record = json.loads((tmp_path / "run.json").read_text())
    record["embedders"]["food2d"] = "other"
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.raises(FileFormatError, match="features of food2d were made by 'other'"):
        run_plan(PLAN, tmp_path, engine=Here())
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(FileFormatError, match="not the record of a run"):
        run_plan(PLAN, tmp_path, engine=Here())
    (tmp_path / "plan.toml").unlink()
    with pytest.raises(FileFormatError, match=r"cells without their plan\.toml"):
        run_plan(PLAN, tmp_path, engine=Here())
    assert (tmp_path / "cells.jsonl").read_bytes() == kept


def test_a_cell_that_fails_takes_no_other_with_it(tmp_path: Path, expected: bytes) -> None:
    class Clumsy(Here):
        def run(self, batches: Sequence[Sequence[Cell]]) -> Iterator[list[CellOutcome]]:
            for outcomes in super().run(batches):
                yield [
                    CellOutcome(o.key, None, 0.0, "ValueError: oops") if "oracle" in o.key else o
                    for o in outcomes
                ]

    with pytest.raises(DispatchError, match=r"8 of 56 cells failed; .*oracle.*ValueError: oops"):
        run_plan(PLAN, tmp_path, engine=Clumsy())
    assert (tmp_path / "cells.jsonl").read_bytes().count(b"\n") == 48
    run_plan(PLAN, tmp_path, engine=Here())
    assert (tmp_path / "results.json").read_bytes() == expected


def test_what_a_worker_raises_is_an_outcome() -> None:
    cell = PLAN.cells()[0]
    from dataclasses import replace

    (outcome,) = dispatch.run_batch([replace(cell, question="food-99")])
    assert outcome.cell is None
    assert outcome.error is not None
    assert "food-99" in outcome.error


def test_a_worker_that_dies_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADLY", str(tmp_path / "died"))
    cells = PLAN.cells()[:8]
    batches = [[cell] for cell in cells[:4]] + [[Deadly.of(cells[4])]] + [cells[5:]]
    done = [o for outcomes in LocalProcesses(2).run(batches) for o in outcomes]
    assert (tmp_path / "died").exists()
    assert sorted(o.key for o in done) == sorted(c.key for c in cells)
    assert all(o.error is None for o in done)


def test_a_worker_that_always_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADLY", "always")
    cells = PLAN.cells()[:4]
    done: list[list[CellOutcome]] = []
    with pytest.raises(DispatchError, match="worker processes keep dying"):
        done.extend(LocalProcesses(1).run([[cells[0]], [cells[1]], [Deadly.of(cells[2])]]))
    assert len(done) <= 2


def test_engines_by_name() -> None:
    assert isinstance(dispatcher_for("local", 3), LocalProcesses)
    assert dispatcher_for("local").jobs >= 1
    with pytest.raises(OptionError, match="unknown engine 'slurm'; expected one of local, dask"):
        dispatcher_for("slurm")
    with pytest.raises(OptionError, match="goes with the dask engine"):
        dispatcher_for("local", scheduler="tcp://x:1")
    with pytest.raises(OptionError, match="jobs must be a whole number"):
        dispatcher_for("local", 0)


def test_results_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"results\.json: cannot be read"):
        Results.read(tmp_path)
    path = tmp_path / "results.json"
    for text, message in (
        ('{"format": "useralign-res', "cut short"),
        ("[]", "expected format"),
        ('{"format": "useralign-results/1"}', "'plan' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=message):
            Results.read(path)
