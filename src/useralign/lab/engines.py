"""Where cells are computed: in processes of this machine, or on a Dask cluster.

An engine takes batches of cells and hands back what became of each, in any order, as soon as it is
known. Results do not depend on the engine: a cell is a function of its description.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from useralign.checks import whole
from useralign.errors import OptionError, UseralignError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ENGINES = ("local", "dask")
_LARGEST_BATCH = 64
_DEATHS = 3  # rounds without any progress after which a run is given up
# One thread a worker: as many workers as cores use them fully, and sums have one order.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class EngineError(UseralignError):
    """Cells could not be computed. Those that were are kept."""


class Cell(Protocol):
    """What engines compute: something with a name that can be pickled and run anywhere."""

    @property
    def key(self) -> str:
        """The cell's name, which no other cell of a run has."""

    def run(self) -> dict[str, Any]:
        """Return its result, a function of the cell alone, in the form of `results`.

        Only a key `seconds` may differ from run to run. It is taken out of the result and kept
        with the timings, in place of the time that the whole cell took.
        """


class Outcome(NamedTuple):
    """What became of one cell.

    Parameters
    ----------
    key : str
    cell : dict or None
        Its result; None when it failed.
    seconds : float
        How long it took, or what of that its result says counts.
    error : str or None
        Why it failed.
    """

    key: str
    cell: dict[str, Any] | None
    seconds: float
    error: str | None = None


class Engine(ABC):
    """Something that computes cells.

    Attributes
    ----------
    jobs : int
        How many cells it computes at once, as far as it knows.
    """

    jobs: int

    @abstractmethod
    def run(self, batches: Sequence[Sequence[Cell]]) -> Iterator[list[Outcome]]:
        """Compute batches of cells; yield the outcomes of each batch when it is done.

        Raises
        ------
        EngineError
            When it cannot go on. What was yielded before is good.
        """


class Local(Engine):
    """Processes of this machine.

    Workers are spawned, not forked, use one thread each, and end when their parent does, however
    it ends. When one dies, the batches that were under way are computed again.

    Parameters
    ----------
    jobs : int, optional
        How many processes; as many as there are cores when not given.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = cores() if jobs is None else whole("jobs", jobs, least=1)

    def run(self, batches: Sequence[Sequence[Cell]]) -> Iterator[list[Outcome]]:
        """Compute batches of cells; see `Engine.run`."""
        left = dict(enumerate(batches))
        deaths = 0
        while left:
            before = len(left)
            try:
                for number, outcomes in self._round(left):
                    del left[number]
                    yield outcomes
            except BrokenProcessPool as error:
                deaths = deaths + 1 if len(left) == before else 0
                if deaths >= _DEATHS:
                    raise EngineError(
                        f"worker processes keep dying, the last ones on cells such as "
                        f"{next(iter(left.values()))[0].key!r}; is there enough memory? "
                        "Fewer --jobs may help"
                    ) from error

    def _round(self, batches: Mapping[int, Sequence[Cell]]) -> Iterator[tuple[int, list[Outcome]]]:
        spawn = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(min(self.jobs, len(batches)), spawn, _begin_worker)
        try:
            with _environment(_ONE_THREAD):
                futures = {executor.submit(run_batch, b): n for n, b in batches.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            executor.shutdown(cancel_futures=True)


def engine_for(name: str, jobs: int | None = None, scheduler: str | None = None) -> Engine:
    """Return an engine by name.

    Parameters
    ----------
    name : {"local", "dask"}
    jobs : int, optional
        How many processes on this machine; as many as there are cores when not given.
    scheduler : str, optional
        Address of a Dask scheduler; a cluster on this machine is started when not given.

    Raises
    ------
    OptionError
        If the name is not known, or the options do not go together.
    """
    if name not in ENGINES:
        raise OptionError(f"unknown engine {name!r}; expected one of {', '.join(ENGINES)}")
    if name == "dask":
        from useralign.lab.engines_dask import Dask  # noqa: PLC0415 - an optional extra

        return Dask(scheduler, jobs)
    if scheduler is not None:
        raise OptionError("a scheduler goes with the dask engine; give --engine dask too")
    return Local(jobs)


def run_batch(batch: Sequence[Cell]) -> list[Outcome]:
    """Compute a batch of cells in a worker; a cell that fails takes no other with it."""
    return [_outcome(cell) for cell in batch]


def in_batches(cells: Sequence[Cell], jobs: int) -> list[list[Cell]]:
    """Cut cells into batches: few enough to cost nothing, small enough to share evenly."""
    size = min(_LARGEST_BATCH, max(1, math.ceil(len(cells) / (16 * jobs))))
    return [list(cells[start : start + size]) for start in range(0, len(cells), size)]


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _outcome(cell: Cell) -> Outcome:
    began = time.perf_counter()
    try:
        result = cell.run()
    except Exception as caught:  # noqa: BLE001 - a plug-in may raise anything; the run goes on
        spent = time.perf_counter() - began
        return Outcome(cell.key, None, spent, f"{type(caught).__name__}: {caught}")
    return Outcome(cell.key, result, result.pop("seconds", time.perf_counter() - began))


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the processes started within."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
