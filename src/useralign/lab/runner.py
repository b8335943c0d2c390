"""Running a plan into a folder, and going on where an earlier run ended.

plan.toml      the plan, copied
run.json       what else decides the results: the version, and the embedder of each domain
cells.jsonl    finished cells, in the order they were finished
timings.jsonl  how long each took
results.json   all cells, sorted, when the last one is finished
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import useralign
from useralign.errors import FileFormatError, ModelUnavailableError, OptionError
from useralign.files import read_json, write_atomically, write_json
from useralign.lab.engines import Engine, EngineError, engine_for, in_batches
from useralign.lab.plan import Plan, parse_plan, read_plan
from useralign.lab.results import Results
from useralign.lab.results_journal import CELLS, Journal
from useralign.models.weights.lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from useralign.lab.engines import Cell

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
        If cells failed. All others are finished and kept.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    chosen = engine if isinstance(engine, Engine) else engine_for(engine, jobs, scheduler)
    folder = Path(folder)
    _refuse_trouble(plan)
    with alone_in(folder):
        _claim(folder, plan)
        done = run_cells(plan.cells(), folder, chosen, progress=progress, clock=clock)
        results = Results(plan.name, plan.embedders(), done)
        results.write(folder)
    return results


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, which is made when it is not there.

    Raises
    ------
    OptionError
        If another run is at work there, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: is a file; give a folder for the results")

    def busy() -> None:
        raise OptionError(f"{folder}: another run is at work there; wait for it, or choose another")

    with locked(folder / ".lock", busy):
        yield


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
        To be had alone.
    engine : Engine
    progress, clock
        As for `run_plan`.

    Raises
    ------
    EngineError
        If cells failed. All others are finished and kept.
    """
    with Journal(folder) as journal:
        missing = [cell for cell in cells if cell.key not in journal.cells]
        meter = _Meter(len(cells), len(cells) - len(missing), progress, clock)
        failed: dict[str, str] = {}
        for outcomes in engine.run(in_batches(missing, engine.jobs)):
            journal.add(outcomes)
            failed |= {o.key: o.error for o in outcomes if o.error is not None}
            meter.advance(len(outcomes))
        _refuse_failures(failed, len(cells), folder)
        return [journal.cells[key] for key in sorted(cell.key for cell in cells)]


def _refuse_trouble(plan: Plan) -> None:
    """Say at once what would otherwise make every cell fail."""
    needed = {domain.name for domain in plan.domains if not domain.optional}
    for name, why in plan.troubles().items():
        if name in needed:
            raise ModelUnavailableError(f"the features of {name} cannot be made here: {why}")


class _Meter:
    """Tells how far a run is, and when it will be over."""

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
        there = parse_plan(copy.read_text(encoding="utf-8"), where=str(copy))
        if there.model_dump() != plan.model_dump():
            raise FileFormatError(
                f"{folder}: holds the run of another plan (see plan.toml there); choose another "
                "folder, or remove it"
            )
    elif (folder / CELLS).exists():
        raise FileFormatError(f"{folder}: holds cells without their plan.toml; choose another")
    _check_conditions(folder, plan)
    if not copy.exists():
        write_atomically(copy, plan.text)


def _check_conditions(folder: Path, plan: Plan) -> None:
    """Refuse to mix cells of two versions, or of two embedders."""
    path = folder / "run.json"
    embedders, version = plan.embedders(), useralign.__version__
    before: Any = {"format": FORMAT, "version": version, "embedders": embedders}
    before = read_json(path) if path.exists() else before
    if not isinstance(before, dict) or before.get("format") != FORMAT:
        raise FileFormatError(f"{path}: is not the record of a run; choose another folder")
    if before["version"] != version:
        raise FileFormatError(
            f"{folder}: was begun with useralign {before['version']}, this is {version}; "
            "choose another folder"
        )
    for domain, embedder in embedders.items():
        other = before["embedders"].get(domain, embedder)
        if other != embedder:
            raise FileFormatError(
                f"{folder}: features of {domain} were made by {other!r}, now they would be by "
                f"{embedder!r}; name one as embedder in the plan, or choose another folder"
            )
    write_json(path, {**before, "embedders": {**before["embedders"], **embedders}})


def _refuse_failures(failed: dict[str, str], total: int, folder: Path) -> None:
    if failed:
        key, error = next(iter(sorted(failed.items())))
        raise EngineError(
            f"{len(failed)} of {total} cells failed; the first, {key}: {error}. The others are "
            f"kept in {folder}; run again to try only those that failed"
        )
