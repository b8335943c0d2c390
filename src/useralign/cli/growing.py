"""New answers while a person compares: made beside them, joined between two questions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from useralign.cli.screens import clean
from useralign.pooling import Growth, load_generator
from useralign.pooling.grow import OVER

if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Self

    from rich.console import Console

    from useralign.pooling.grow import Proposal
    from useralign.session import Session


def grower(
    session: Session, model: str | None, seed: int, console: Console, *, aside: bool
) -> Grower:
    """Return what grows a session's pool, once it is clear that it can.

    Parameters
    ----------
    session : Session
    model : str, optional
        The best one at hand when not named.
    seed : int
    console : Console
    aside : bool
        As for `Grower`.
    """
    growth = Growth(load_generator(model), seed=seed)
    growth.check(session.pool)
    return Grower(growth, session, console, aside=aside)


class Grower:
    """Grows the pool of one session. Call it after every answer; close it at the end.

    Parameters
    ----------
    growth : Growth
    session : Session
    console : Console
    aside : bool
        Whether the model works while the person goes on answering. Without, everybody waits, and
        what happens does not depend on how fast the model is.
    """

    def __init__(
        self, growth: Growth, session: Session, console: Console, *, aside: bool = True
    ) -> None:
        self._growth = growth
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
            self._say(f"{count} new answer{'s' * (count != 1)}, near those chosen")
        if grown.problem:
            self._say(f"{'fewer' if count else 'no'} new answers: {clean(grown.problem)}")

    def _say(self, line: str) -> None:
        self._console.print(f"  {line}", style="dim", markup=False, highlight=False)
