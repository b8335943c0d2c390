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
from useralign.lab.dispatch import Dispatcher, DispatchError, dispatcher_for, in_batches
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
    engine: Dispatcher | str = "local",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Compute the cells of a plan that are not finished yet, and write the results.

    A run that is interrupted or killed loses at most the batches under way: call it again with the
    same folder. The results are the same whatever the engine, the order and the interruptions.

    `plan` may be a file's path, or the name of a shipped one; `engine` is "local", with `jobs`
    processes (as many as there are cores when not given), or "dask", with the address of a
    `scheduler` or none. `progress` is called with the number of cells done, their total, and the
    seconds left, if known.

    Raises FileFormatError if the plan is not usable, or the folder has another plan's run;
    OptionError if another run is at work there; ModelUnavailableError if the features of a domain
    that is not optional cannot be made here; and DispatchError if cells failed.
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    engine, folder = dispatcher_for(engine, jobs, scheduler), Path(folder)
    optional = {domain.name for domain in plan.domains if domain.optional}
    refuse_troubles({d: why for d, why in plan.troubles().items() if d not in optional})
    with lock_folder(folder):
        _claim(folder, plan)
        cells = run_cells(plan.cells(), folder, engine, progress)
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

    Raises OptionError if another run is at work there, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: is a file; give a folder for the results")
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(FileLock(folder / ".lock", timeout=0))
        except Timeout:
            raise OptionError(
                f"{folder}: another run is at work there; wait for it, or choose another"
            ) from None
        yield


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    engine: Dispatcher,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Compute the cells that a folder's journal does not have yet; return all, sorted by key.

    The caller has locked the folder. Raises DispatchError if cells failed; all others are finished
    and in the journal.
    """
    report = progress or (lambda *_: None)
    failures: dict[str, str] = {}
    with Journal(folder) as journal:
        missing = [cell for cell in cells if cell.key not in journal.cells]
        total, before, began = len(cells), len(cells) - len(missing), time.monotonic()
        done = before
        report(done, total, None)
        for outcomes in engine.run(in_batches(missing, engine.jobs)):
            journal.add(outcomes)
            failures |= {o.key: o.error for o in outcomes if o.error is not None}
            done += len(outcomes)
            spent = time.monotonic() - began
            report(done, total, spent / (done - before) * (total - done))
    if failures:
        key, error = min(failures.items())
        raise DispatchError(
            f"{len(failures)} of {len(cells)} cells failed; the first, {key}: {error}. The others "
            f"are kept in {folder}; run again to try only those that failed"
        )
    return [journal.cells[key] for key in sorted(cell.key for cell in cells)]


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
    conditions = {"format": FORMAT, "version": useralign.__version__, "embedders": plan.embedders()}
    check_conditions(folder / "run.json", conditions, "run")
    if not copy.exists():
        write_atomically(copy, plan.text)
