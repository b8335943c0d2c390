"""A person answers in the terminal, one key per screen, and takes one of the shortlist."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from useralign.cli import keys, screens
from useralign.errors import AnswerError, ModelError, SessionStateError
from useralign.wishes import chips

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from useralign.answers import Comparison
    from useralign.cli.pictures import Gallery
    from useralign.cli.saved import Saved
    from useralign.pool import Candidate
    from useralign.session import Session

POSITIONS = {
    **{digit: index for index, digit in enumerate("123456789")},
    "left": 0, "a": 0, "right": 1, "b": 1, "c": 2, "d": 3,
}  # fmt: skip
RESPONSES = {
    "=": ("equal", "equal: not asked again"),
    "n": ("neither", "none of these: left out"),
    "s": ("skip", "skipped"),
}
ENTER = ("\r", "\n")
MORE = 2  # screens at a time
# Nobody has read a new screen so soon: a number pressed by then was meant for the one before.
SETTLE = 0.5
# The last number of a ranking, which is clear without being pressed, may come as late as this.
PATIENCE = 2.0


class Interview:
    """A person at a terminal, with a session to answer.

    With `rank` all that are shown are put in order, instead of the best being picked. The gallery
    shows candidates that are pictures.
    """

    def __init__(
        self,
        session: Session,
        console: Console,
        *,
        rank: bool = False,
        gallery: Gallery | None = None,
    ) -> None:
        self.session = session
        self.console = console
        self.rank = rank
        self._gallery = gallery
        self._order: list[int] = []
        self._chips: list[str] = []  # wishes that are proposed, by their numbers
        self._unsettled = False  # whether the next key may be meant for the screen before
        self._implied = ""  # the key of the last one of a ranking, which need not be pressed

    def run(self, saved: Saved | None, between: Callable[[], bool] = lambda: False) -> None:
        """Ask until the person takes an answer or leaves; each answer is on disk before the next.

        `between` is called after every answer, and returns whether it changed the session.
        """

        def save() -> None:
            if saved is not None:
                saved.write(self.session)

        if "wish" in self.session.takes and not self.session.answers:
            self._offer_wishes()
        on = True
        while on:
            while (comparison := self.session.ask()) is not None:
                self._compare(comparison)
                save()
                if between():
                    save()
            on = self._end()
            save()

    def _offer_wishes(self) -> None:
        """Propose what may matter to the person, in a line; nobody has to answer it."""
        proposed = [chip.text for chip in chips(self.session.pool)]
        line, self._chips = screens.wishes(proposed, self.console.width)
        if self._chips:
            self.console.print(line)

    def _compare(self, comparison: Comparison) -> None:
        """Show a screen until it is answered."""
        self.console.print()
        self.console.print(screens.heading(self.session))
        if self._gallery is None or not self._gallery.draws:
            self.console.print(screens.cards(comparison.candidates, self.console.width))
        if self._gallery is not None:
            self._gallery.show(comparison.candidates)
        count, short = len(comparison.candidates), self.console.width < screens.NARROW
        line = screens.keys(self.session, count, rank=self.rank, short=short)
        self.console.print(line, style="dim")
        self._order = []
        answered = False
        while not answered:
            try:
                answered = self._act(comparison, self._next_key())
            except (AnswerError, ModelError) as error:
                self._note(screens.clean(str(error)))

    def _next_key(self) -> str:
        """Return the next key that is meant for what is on the screen now."""
        implied, unsettled = self._implied, self._unsettled
        self._implied, self._unsettled = "", False
        start = time.monotonic()
        patience = PATIENCE if implied else SETTLE
        while unsettled and (key := keys.read_key(start + patience - time.monotonic())):
            early = time.monotonic() < start + SETTLE and (key.isdigit() or key in ENTER)
            if key != implied and not early:
                return key
        return keys.read_key() or ""

    def _act(self, comparison: Comparison, key: str) -> bool:
        """Do what a key says; False when the screen is still open."""
        if POSITIONS.get(key, 9) < len(comparison.candidates):
            choose = self._rank if self.rank else self._pick
            return choose(comparison, POSITIONS[key])
        if key in RESPONSES:
            call, done = RESPONSES[key]
            getattr(self.session, call)()
            self._note(done)
            return True
        actions = {"/": self._wish, "r": self._remark, "u": self._undo}
        if key in actions:
            return actions[key]()
        if key in ("q", *ENTER):
            self.session.stop()
            return True
        count = len(comparison.candidates)
        numbers = "1 or 2 (or an arrow)" if count == 2 else f"1 to {count}"
        order = ", best first" if self.rank else ""
        return self._note(f"press {numbers}{order}; u undo, s skip, = equal, q good enough")

    def _pick(self, comparison: Comparison, position: int) -> bool:
        self.session.tell(comparison.candidates[position])
        self._say(f"you chose {position + 1}")
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
        self._implied, self._unsettled = str(order[-1] + 1), True
        self._say("your order: " + " > ".join(str(k + 1) for k in order))
        return True

    def _remark(self) -> bool:
        """Take a remark; the screen may be another after it."""
        if "remark" not in self.session.takes:
            return self._note("this method takes no remarks")
        text = self._type("your remark")
        if not text:
            return self._note("no remark")
        self.session.remark(text)
        self._note("noted")
        return True

    def _wish(self) -> bool:
        """Take what matters to the person, by its number or in words; said again, it is taken back.

        The screen may be another after it.
        """
        if "wish" not in self.session.takes:
            return self._remark()
        text = self._type("a number or words")
        if not text:
            return self._note("left as it was")
        if text.isdigit() and 0 < int(text) <= len(self._chips):
            text = self._chips[int(text) - 1]
        if text.casefold() in {wish.text.casefold() for wish in self.session.wishes}:
            self.session.withdraw(text)
            self._say(f"{screens.clean(text)}: taken back")
        else:
            self._say(screens.clean(str(self.session.wish(text))))
        return True

    def _type(self, what: str) -> str:
        """Return a line that the person types; nothing if they leave it."""
        line = f"  {what}, then Enter (Esc to leave it): "
        self.console.print(line, end="", style="bold")
        text = keys.read_text(self._echo)
        self.console.print()
        return text

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

    def _end(self) -> bool:
        """Show the shortlist until one is taken; return whether to go on asking instead."""
        shortlist = self.session.shortlist
        self.console.print()
        if self._gallery is not None:
            self._gallery.show(shortlist)
        self.console.print(screens.result(self.session, self.console.width))
        self._offer()
        self._unsettled = True  # a number pressed twice must not take an answer
        more = {"m": self._go_on, "p": self._prove, "u": self._undo}
        while (key := self._next_key()) not in ("q", "escape"):
            position = 0 if key in ENTER else POSITIONS.get(key, 9) if key.isdigit() else 9
            if position < len(shortlist):
                self._take(shortlist[position])
                return False
            if key in more and more[key]():
                return True
            if key == "a":
                self.console.print()
                self.console.print(screens.ordered(self.session))
            if key not in more:
                self._offer()
        return False

    def _offer(self) -> None:
        self.console.print()
        self.console.print(screens.choices(self.session, self.console.width))

    def _take(self, candidate: Candidate) -> None:
        if candidate != self.session.best:
            self.console.print()
            self.console.print(screens.winner(candidate))
        self.session.choose(candidate)
        self._say("this one it is")

    def _go_on(self) -> bool:
        self.session.go_on(MORE)
        return self._asks_more()

    def _prove(self) -> bool:
        self.session.prove()
        return self._asks_more()

    def _asks_more(self) -> bool:
        """Whether there is more to ask; if not, what asked for it is taken back."""
        if self.session.ask() is not None:
            return True
        self.session.undo()
        return self._note("there is nothing left that is worth asking")

    def _say(self, line: str) -> None:
        self.console.print(f"  {line}", style="green")

    def _note(self, line: str) -> bool:
        """Print a line beside the question; it answers nothing."""
        self.console.print(f"  {line}", style="dim")
        return False
