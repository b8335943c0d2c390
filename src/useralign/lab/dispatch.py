"""Where cells are computed: in processes of this machine, or on a Dask cluster.

A dispatcher takes batches of cells and yields their outcomes, in any order, as soon as they are
there. Results do not depend on it: a cell is a function of its description. `concurrent.futures`
and Dask do the work; what is here is what they leave open: which cells to compute again when a
worker dies, one thread per worker, and workers that end with their parent.
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
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.checks import whole
from useralign.errors import OptionError, UseralignError
from useralign.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from useralign.lab.cell import Cell

    Batch = Sequence[Cell]

ENGINES = ("local", "dask")
_LARGEST_BATCH = 64
_DEATHS = 3  # rounds without any progress after which a run is given up
_PATIENCE = 10.0  # seconds to wait for a Dask scheduler to answer
# One thread per worker: as many workers as cores use them fully, and sums have one order.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class DispatchError(UseralignError):
    """Cells could not be computed. The journal has those that were."""


class CellOutcome(NamedTuple):
    """What became of one cell."""

    key: str
    cell: dict[str, Any] | None  # its result; None when it failed
    seconds: float  # how long it took, or what of that its result says counts
    error: str | None = None  # why it failed


class Dispatcher(ABC):
    """Something that computes cells, `jobs` at once; as many as there are cores when not given."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = cores() if jobs is None else whole("jobs", jobs, least=1)

    @abstractmethod
    def run(self, batches: Sequence[Batch]) -> Iterator[list[CellOutcome]]:
        """Compute batches of cells; yield the outcomes of each batch when it is done.

        Raises DispatchError when it cannot go on. What was yielded before is good.
        """


class LocalProcesses(Dispatcher):
    """Processes of this machine.

    Workers are spawned, not forked, use one thread each, and end when their parent does, however
    it ends. When one dies, the batches that were under way are computed again.
    """

    def run(self, batches: Sequence[Batch]) -> Iterator[list[CellOutcome]]:
        """Compute batches of cells; see `Dispatcher.run`."""
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
                    raise DispatchError(
                        f"worker processes keep dying, the last ones on cells such as "
                        f"{next(iter(left.values()))[0].key!r}; is there enough memory? "
                        "Fewer --jobs may help"
                    ) from error

    def _round(self, batches: Mapping[int, Batch]) -> Iterator[tuple[int, list[CellOutcome]]]:
        spawn = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(min(self.jobs, len(batches)), spawn, _begin_worker)
        try:
            with _environment(_ONE_THREAD):
                futures = {executor.submit(run_batch, b): n for n, b in batches.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            executor.shutdown(cancel_futures=True)


class DaskCluster(Dispatcher):
    """A Dask cluster; `useralign` must be installed where its workers run.

    A worker that dies is Dask's to replace: its batches are computed elsewhere.

    `scheduler` is an address, e.g. `tcp://10.0.0.5:8786`; when not given, a cluster of `jobs`
    processes is started on this machine, and ended after the run.
    """

    def __init__(self, scheduler: str | None = None, jobs: int | None = None) -> None:
        super().__init__(jobs)
        self.scheduler = scheduler
        self._distributed = import_extra("distributed", "the dask engine", "dask")

    def run(self, batches: Sequence[Batch]) -> Iterator[list[CellOutcome]]:
        """Compute batches of cells; see `Dispatcher.run`."""
        with self._client() as client:
            futures = client.map(run_batch, list(batches), pure=False)
            batch_of = {future.key: batch for future, batch in zip(futures, batches, strict=True)}
            finished = self._distributed.as_completed(futures, loop=client.loop)
            for future in finished:
                if future.status == "lost":  # with the worker that had its outcomes: Dask is at it
                    finished.add(future)
                    continue
                yield _outcomes(future, batch_of[future.key])
                future.release()

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        here = {"n_workers": self.jobs, "threads_per_worker": 1, "dashboard_address": None}
        with contextlib.ExitStack() as stack:
            address = self.scheduler
            if address is None:
                address = stack.enter_context(self._distributed.LocalCluster(**here))
            try:
                client = self._distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
            except (OSError, ValueError, TimeoutError) as error:
                raise OptionError(
                    f"no Dask scheduler answers at {address!r} ({error}); start one with "
                    "`dask scheduler`, or leave the address out to use this machine"
                ) from error
            yield stack.enter_context(client)


def dispatcher_for(
    engine: Dispatcher | str, jobs: int | None = None, scheduler: str | None = None
) -> Dispatcher:
    """Return what `engine` names: "local", or "dask" with the address of a scheduler or none."""
    if isinstance(engine, Dispatcher):
        return engine
    if engine not in ENGINES:
        raise OptionError(f"unknown engine {engine!r}; expected one of {', '.join(ENGINES)}")
    if engine == "dask":
        return DaskCluster(scheduler, jobs)
    if scheduler is not None:
        raise OptionError("a scheduler goes with the dask engine; give --engine dask too")
    return LocalProcesses(jobs)


def run_batch(batch: Batch) -> list[CellOutcome]:
    """Compute a batch of cells in a worker; a cell that fails takes no other with it."""
    return [_outcome(cell) for cell in batch]


def in_batches(cells: Batch, jobs: int) -> list[Batch]:
    """Cut cells into batches: few enough to cost nothing, small enough to share evenly."""
    size = min(_LARGEST_BATCH, max(1, math.ceil(len(cells) / (16 * jobs))))
    return [cells[start : start + size] for start in range(0, len(cells), size)]


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _outcome(cell: Cell) -> CellOutcome:
    began = time.perf_counter()
    try:
        result = cell.run()
    except Exception as caught:  # noqa: BLE001 - a plug-in may raise anything; the run goes on
        spent = time.perf_counter() - began
        return CellOutcome(cell.key, None, spent, f"{type(caught).__name__}: {caught}")
    return CellOutcome(cell.key, result, result.pop("seconds", time.perf_counter() - began))


def _outcomes(future: Any, batch: Batch) -> list[CellOutcome]:
    """Return the outcomes of a batch; if its workers died, that is the outcome of each cell."""
    if future.status == "finished":
        outcomes: list[CellOutcome] = future.result()
        return outcomes
    if future.status == "cancelled":
        raise DispatchError("the Dask scheduler went away; run again to go on where this ended")
    error = future.exception()
    return [CellOutcome(cell.key, None, 0.0, f"{type(error).__name__}: {error}") for cell in batch]


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
    before = {key: os.environ[key] for key in values if key in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for key in values:
            del os.environ[key]
        os.environ.update(before)
