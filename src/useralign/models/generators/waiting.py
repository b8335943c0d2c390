"""Waiting for what models say from code that is not asynchronous, a notebook's included."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from useralign.models.generators.base import Generator

Result = TypeVar("Result")


def wait_for(call: Coroutine[Any, Any, Result], *generators: Generator) -> Result:
    """Run a call to its end and return its result.

    It gets an event loop of its own, and where one is running already, which cannot wait for
    itself, a thread of its own, too.

    Parameters
    ----------
    call : coroutine
    *generators : Generator
        Those that it uses: they let go of what belongs to the loop before that ends.
    """

    async def work() -> Result:
        try:
            return await call
        finally:
            for generator in generators:
                await generator.release()

    if not _in_loop():
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, work()).result()


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
