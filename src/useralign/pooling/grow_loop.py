"""An event loop that is kept from one call to the next.

A service's connections belong to the loop they were opened in. With a loop of its own for every
call they would be left open each time, or the generator closed, a local model's weights included.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Result = TypeVar("Result")


class OwnLoop:
    """Runs coroutines to their end, one at a time, from any thread."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._task: asyncio.Task[Any] | None = None
        self._alone = threading.Lock()
        self._closed = False

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine and return what it returns; also from within another loop.

        Raises
        ------
        asyncio.CancelledError
            If the loop was closed meanwhile, or before.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._run(work)
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(self._run, work).result()

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel what is under way, run one last coroutine, and close; the second time nothing."""
        self._closed = True
        task = self._task
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)
        with self._alone:
            if self._runner is not None:
                self._runner.run(last())
                self._runner.close()
                self._runner = None

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        with self._alone:
            if self._closed:
                work.close()
                raise asyncio.CancelledError
            if self._runner is None:
                self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
                weakref.finalize(self, self._runner.get_loop().close)
            return self._runner.run(self._noted(work))

    async def _noted(self, work: Coroutine[Any, Any, Result]) -> Result:
        self._task = asyncio.current_task()
        try:
            return await work
        finally:
            self._task = None
