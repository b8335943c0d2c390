"""A person answers in the terminal, one key a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.cli import keys, screens
from useralign.errors import AnswerError, ModelError, SessionStateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from useralign.answers import Comparison
    from useralign.cli.saved import Saved
    from useralign.session import Session

POSITIONS = {
    **{str(number): number - 1 for number in range(1, 10)},
    "left": 0, "a": 0, "right": 1, "b": 1, "c": 2, "d": 3,
}  # fmt: skip
RESPONSES = {
    "=": ("equal", "equal: not asked again"),
    "n": ("neither", "neither: left out"),
    "s": ("skip", "skipped"),
}


class Interview:
    """A person at a terminal, with a session to answer.

    Parameters
    ----------
    session : Session
    console : Console
    rank : bool
        Whether all that are shown are put in order, instead of the best being picked.
    read_key, read_text : callable
        Return the next key, and a line that is typed.
    """

    def __init__(
        self,
        session: Session,
        console: Console,
        *,
        rank: bool = False,
        read_key: Callable[[], str] = keys.read_key,
        read_text: Callable[[Callable[[str], None]], str] = keys.read_text,
    ) -> None:
        self.session = session
        self.console = console
        self.rank = rank
        self._read_key = read_key
        self._read_text = read_text
        self._order: list[int] = []

    def run(
        self,
        saved: Saved | None,
        show: Callable[[Comparison], None] | None = None,
        between: Callable[[], bool] = lambda: False,
    ) -> None:
        """Ask until the session is over; every answer is on disk before the next question.

        Parameters
        ----------
        saved : Saved, optional
            Where the session is kept.
        show : callable, optional
            Shows pictures in its own way, after the cards.
        between : callable
            Called after every answer; returns whether it changed the session.
        """
        while (comparison := self.session.ask()) is not None:
            self.console.print()
            width = self.console.width
            self.console.print(screens.question(self.session, comparison, width, rank=self.rank))
            if show is not None:
                show(comparison)
            self._order = []
            while not self._act(comparison, self._read_key()):
                pass
            if saved is not None:
                saved.write(self.session)
            if between() and saved is not None:
                saved.write(self.session)

    def _act(self, comparison: Comparison, key: str) -> bool:
        """Do what a key says; False when the question is still open."""
        if POSITIONS.get(key, 9) < len(comparison.candidates):
            choose = self._rank if self.rank else self._pick
            return choose(comparison, POSITIONS[key])
        if key in RESPONSES:
            return self._respond(*RESPONSES[key])
        if key in ("/", "r"):
            return self._remark()
        if key == "q":
            self.session.stop()
            return True
        if key == "u":
            return self._undo()
        count = len(comparison.candidates)
        numbers = "1 or 2 (or an arrow)" if count == 2 else f"1 to {count}"
        order = ", best first" if self.rank else ""
        return self._note(f"press {numbers}{order}; u undo, s skip, q good enough")

    def _pick(self, comparison: Comparison, position: int) -> bool:
        self.session.tell(comparison.candidates[position])
        self.console.print(f"  you chose {position + 1}", style=screens.COLOURS[position])
        return True

    def _rank(self, comparison: Comparison, position: int) -> bool:
        """Put one more in order; the last is clear once all others are in order."""
        count = len(comparison.candidates)
        if position in self._order:
            return self._note(f"{position + 1} has its place already; u starts again")
        self._order.append(position)
        if len(self._order) < count - 1:
            return self._note("  ".join(str(k + 1) for k in self._order) + "  …")
        order = [*self._order, *(k for k in range(count) if k not in self._order)]
        self.session.rank([comparison.candidates[k] for k in order])
        self.console.print("  your order: " + " > ".join(str(k + 1) for k in order), style="cyan")
        return True

    def _respond(self, call: str, done: str) -> bool:
        try:
            getattr(self.session, call)()
        except AnswerError as error:
            return self._note(screens.clean(str(error)))
        self.console.print(f"  {done}", style="dim")
        return True

    def _remark(self) -> bool:
        """Take a remark; the question may be another after it."""
        if "remark" not in self.session.takes:
            return self._note("this method takes no remarks")
        self.console.print("  your remark, then Enter (Esc to leave it): ", end="", style="bold")
        text = self._read_text(self._echo)
        self.console.print()
        if not text:
            return self._note("no remark")
        try:
            self.session.remark(text)
        except (AnswerError, ModelError) as error:
            return self._note(screens.clean(str(error)))
        self._note("noted")
        return True

    def _echo(self, typed: str) -> None:
        self.console.file.write(typed)
        self.console.file.flush()

    def _undo(self) -> bool:
        if self._order:
            self._order = []
            return self._note("the order is open again")
        try:
            self.session.undo()
        except SessionStateError:
            return self._note("nothing to undo yet")
        self._note("undone")
        return True

    def _note(self, line: str) -> bool:
        """Print a line beside the question; it answers nothing."""
        self.console.print(f"  {line}", style="dim", markup=False, highlight=False)
        return False
