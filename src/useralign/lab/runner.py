"""Running cells into a folder, and going on where an earlier run ended.

plan.toml      the plan
run.json       what else decides the results: the version, and the embedder of each domain

The other files are those of `journal`.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

import useralign
from useralign.errors import FileFormatError, ModelUnavailableError, OptionError
from useralign.files import write_atomically
from useralign.lab.dispatch import Engine, EngineError, engine_for, in_batches
from useralign.lab.journal import CELLS, Journal, Results, check_conditions
from useralign.lab.plan import Plan, parse_plan, read_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from useralign.lab.cell import Cell

    Progress = Callable[[int, int, float | None], None]

FORMAT = "useralign-run/1"


def run_plan(
    plan: Plan | str | Path,
    folder: str | Path,
    *,
    engine: Engine | str = "local",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Results:
    """Compute the cells of a plan that are not finished yet, and write the results.

    A run that is interrupted or killed loses at most the batches under way: call it again with the
    same folder. The results are the same whatever the engine, the order and the interruptions.

    Parameters
    ----------
    plan : Plan, str or Path
        A plan, its file, or the name of a shipped one.
    folder : str or Path
        Made when it is not there.
    engine : {"local", "dask"} or Engine
    jobs : int, optional
        How many processes on this machine; as many as there are cores when not given.
    scheduler : str, optional
        Address of a Dask scheduler.
    progress : callable, optional
        Called with the number of cells done, their total, and the seconds left (None while
        nothing is known about that).
    clock : callable
        For the seconds left.

    Returns
    -------
    Results

    Raises
    ------
    FileFormatError
        If the plan is not usable, or the folder holds another plan's run.
    OptionError
        If another run is at work in the folder.
    ModelUnavailableError
        If the features of a domain that is not optional cannot be made here.
    EngineError
        If cells failed. All others are finished and in the journal.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    engine, folder = engine_for(engine, jobs, scheduler), Path(folder)
    optional = {domain.name for domain in plan.domains if domain.optional}
    refuse_troubles({d: why for d, why in plan.troubles().items() if d not in optional})
    with lock_folder(folder):
        _claim(folder, plan)
        cells = run_cells(plan.cells(), folder, engine, progress=progress, clock=clock)
        results = Results(plan.name, plan.embedders(), cells)
        results.write(folder)
    return results


def refuse_troubles(troubles: Mapping[str, str]) -> None:
    """Raise ModelUnavailableError for the first domain whose every cell would fail."""
    for name, why in troubles.items():
        raise ModelUnavailableError(f"the features of {name} cannot be made here: {why}")


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other runs; it is made when it is not there.

    Raises
    ------
    OptionError
        If another run is at work there, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: is a file; give a folder for the results")
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise OptionError(
            f"{folder}: another run is at work there; wait for it, or choose another"
        ) from None
    try:
        yield
    finally:
        lock.release()


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    engine: Engine,
    *,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[dict[str, Any]]:
    """Compute the cells that a folder's journal does not have yet; return all, sorted by key.

    Parameters
    ----------
    cells : sequence of Cell
    folder : Path
        Locked by the caller.
    engine : Engine
    progress, clock
        As for `run_plan`.

    Raises
    ------
    EngineError
        If cells failed. All others are finished and in the journal.
    """
    failures: dict[str, str] = {}
    with Journal(folder) as journal:
        missing = [cell for cell in cells if cell.key not in journal.cells]
        meter = _Meter(len(cells), len(cells) - len(missing), progress, clock)
        for outcomes in engine.run(in_batches(missing, engine.jobs)):
            journal.add(outcomes)
            failures |= {o.key: o.error for o in outcomes if o.error is not None}
            meter.advance(len(outcomes))
    if failures:
        key, error = min(failures.items())
        raise EngineError(
            f"{len(failures)} of {len(cells)} cells failed; the first, {key}: {error}. The others "
            f"are kept in {folder}; run again to try only those that failed"
        )
    return [journal.cells[key] for key in sorted(cell.key for cell in cells)]


class _Meter:
    """Reports how far a run is, and when it will be over."""

    def __init__(
        self, total: int, done: int, progress: Progress | None, clock: Callable[[], float]
    ) -> None:
        self.total, self.done, self._before = total, done, done
        self._progress, self._clock, self._began = progress, clock, clock()
        self.advance(0)

    def advance(self, count: int) -> None:
        self.done += count
        if self._progress is not None:
            fresh = self.done - self._before
            spent = self._clock() - self._began
            left = spent / fresh * (self.total - self.done) if fresh else None
            self._progress(self.done, self.total, left)


def _claim(folder: Path, plan: Plan) -> None:
    """Make a folder this plan's, or make sure that it is."""
    copy = folder / "plan.toml"
    if copy.exists():
        earlier = parse_plan(copy.read_text(encoding="utf-8"), where=str(copy))
        if earlier.model_dump() != plan.model_dump():
            raise FileFormatError(
                f"{folder}: holds the run of another plan (see plan.toml there); choose another "
                "folder, or remove it"
            )
    elif (folder / CELLS).exists():
        raise FileFormatError(f"{folder}: holds cells without their plan.toml; choose another")
    conditions = {
        "format": FORMAT,
        "version": useralign.__version__,
        "embedders": plan.embedders(),
    }
    check_conditions(folder / "run.json", conditions, "run")
    if not copy.exists():
        write_atomically(copy, plan.text)
