"""Cells on a Dask cluster: one that is there, or one started on this machine."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from useralign.checks import whole
from useralign.errors import MissingExtraError, OptionError
from useralign.lab.engines import Engine, EngineError, Outcome, cores, run_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from useralign.lab.engines import Cell

_PATIENCE = 10.0  # seconds to wait for a scheduler to answer


class Dask(Engine):
    """A Dask cluster; `useralign` must be installed where its workers run.

    A worker that dies is Dask's to replace: its batches are computed elsewhere.

    Parameters
    ----------
    scheduler : str, optional
        Address of a scheduler, e.g. `tcp://10.0.0.5:8786`. When not given, a cluster with one
        process a core is started on this machine, and ended after the run.
    jobs : int, optional
        How many processes that cluster has.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    """

    def __init__(self, scheduler: str | None = None, jobs: int | None = None) -> None:
        _distributed()
        self.scheduler = scheduler
        self.jobs = cores() if jobs is None else whole("jobs", jobs, least=1)

    def run(self, batches: Sequence[Sequence[Cell]]) -> Iterator[list[Outcome]]:
        """Compute batches of cells; see `Engine.run`."""
        distributed = _distributed()
        with self._client() as client:
            futures = client.map(run_batch, list(batches), pure=False)
            batch_of = {future.key: batch for future, batch in zip(futures, batches, strict=True)}
            for future in distributed.as_completed(futures, loop=client.loop):
                yield _outcomes(future, batch_of[future.key])
                future.release()

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        distributed = _distributed()
        with contextlib.ExitStack() as stack:
            address = self.scheduler
            if address is None:
                address = stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=self.jobs, threads_per_worker=1, dashboard_address=None
                    )
                )
            try:
                client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
            except (OSError, ValueError, TimeoutError) as error:
                raise OptionError(
                    f"no Dask scheduler answers at {address!r} ({error}); start one with "
                    "`dask scheduler`, or leave the address out to use this machine"
                ) from error
            yield stack.enter_context(client)


def _outcomes(future: Any, batch: Sequence[Cell]) -> list[Outcome]:
    """Return the outcomes of a batch; if its workers died, that is the outcome of each cell."""
    if future.status == "finished":
        outcomes: list[Outcome] = future.result()
        return outcomes
    if future.status in ("cancelled", "lost"):
        raise EngineError("the Dask scheduler went away; run again to go on where this ended")
    error = future.exception()
    return [Outcome(cell.key, None, 0.0, f"{type(error).__name__}: {error}") for cell in batch]


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise MissingExtraError("the dask engine", "dask") from error
    return distributed
