"""New answers while a person compares: made beside them, joined between two questions."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from useralign.cli.screens import clean
from useralign.pooling import Growth, load_generator
from useralign.pooling.grow import OVER

PAIRS = 4  # answers to pairs after which the pool grows

if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Self

    from rich.console import Console

    from useralign.pooling.grow import Proposal
    from useralign.session import Session


class Grower:
    """Grows the pool of one session, if it can. Call it after every answer; close it at the end.

    `aside` is whether the model works while the person goes on answering. Without, everybody waits,
    and what happens does not depend on how fast the model is.
    """

    def __init__(
        self, session: Session, model: str | None, seed: int, console: Console, *, aside: bool
    ) -> None:
        # A screen of four says as much as three pairs do.
        every = math.ceil(PAIRS / (session.per_screen - 1))
        self._growth = Growth(load_generator(model), every=every, seed=seed)
        self._growth.check(session.pool)
        self._session = session
        self._console = console
        self._aside = aside
        self._threads = ThreadPoolExecutor(1)
        self._call: Future[Proposal] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._growth.close()
        self._threads.shutdown()

    def __call__(self) -> bool:
        """Start a round of growth if due, and join one that is ready; return whether it did."""
        if self._call is None and self._growth.due(self._session):
            snapshot = self._growth.snapshot(self._session)
            self._call = self._threads.submit(self._growth.propose, snapshot)
        if self._call is None or self._session.stop_reason in OVER:
            return False
        if not self._call.done() and (self._session.finished or not self._aside):
            with self._console.status("More answers, near those chosen ..."):
                self._call.result()
        if not self._call.done():
            return False
        self._join(self._call.result())
        self._call = None
        return True

    def _join(self, proposal: Proposal) -> None:
        grown = self._growth.join(self._session, proposal)
        if count := len(grown.joined):
            line = f"  {count} new answer{'s' * (count != 1)}, near those chosen"
            self._console.print(line, style="dim")
        if grown.problem:
            line = f"  {'fewer' if count else 'no'} new answers: {clean(grown.problem)}"
            self._console.print(line, style="dim")
