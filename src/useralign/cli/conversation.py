"""One question in the terminal: find or make its pool, let somebody answer, show the result."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from useralign.cli import keys, memory, screens, transcript
from useralign.cli.get_pool import get_pool
from useralign.cli.growing import grower
from useralign.cli.interview import Interview
from useralign.cli.options import print_json
from useralign.cli.pictures import Gallery
from useralign.cli.saved import Saved, default_file
from useralign.methods import method_for
from useralign.session import Session, check_options
from useralign.users import Consistent, LikenessUser, RankedPersona

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from useralign.domains import Question
    from useralign.pooling import PoolRequest
    from useralign.users import User


@dataclass(slots=True)
class Conversation:
    """One run of `useralign ask`.

    Parameters
    ----------
    file : Path, optional
        Where the session is saved after every answer; a file in the cache if not given.
    memory : Path, optional
        The memory file to start from and to add to.
    rank : bool
        Whether all candidates of a comparison are put in order.
    grow : bool
        Whether the pool grows between comparisons.
    model : str, optional
        The generator for a pool that grows.
    seed : int
    as_json : bool
        Whether the result is printed as JSON, and nothing else.
    """

    file: Path | None
    memory: Path | None
    rank: bool
    grow: bool
    model: str | None
    seed: int
    as_json: bool
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        self.console = Console(stderr=self.as_json)

    def start(
        self, request: PoolRequest, *, method: str, **options: Any
    ) -> tuple[Question | None, Session]:
        """Return a new session, and the shipped question if it is one.

        Options are checked, and the memory is read, before anything is paid for.
        """
        checked = method_for(method)
        check_options(checked, **options)
        if self.memory is not None:
            memory.check(checked, self.memory, self.console)
        pool, question = get_pool(request, self.console)
        informed = memory.recalled(checked, self.memory, pool, grows=self.grow)
        return question, Session(pool, informed, **options)

    def simulate(self, session: Session, question: Question | None, persona: str | None) -> None:
        """Let a simulated person answer, and print the transcript and the result."""
        user, name = _simulated_user(session, question, persona, grow=self.grow)
        console = Console(quiet=self.as_json)
        with self._growing(session, console, aside=False) as between:
            transcript.run(session, console, user, name, rank=self.rank, between=between)
        if self.file:
            Saved(self.file).write(session, f"simulated: {name}")
        self.print_result(session, f"simulated: {name}", self.file)

    def interview(self, session: Session) -> None:
        """Let the person at the terminal answer, and print the result."""
        saved = Saved(self.file) if self.file else default_file(session)
        with self._growing(session, self.console, aside=True) as between:
            self._interview(session, saved, between)
        if self.memory is not None:
            memory.remember(self.memory, session)
        self.print_result(session, "person", saved.path)

    def print_result(self, session: Session, answered_by: str, path: Path | None) -> None:
        """Print how the session stands, with where it is saved."""
        if self.as_json:
            extra = {"answered_by": answered_by, "saved": str(path) if path else None}
            print_json(outcome(session) | extra)
        else:
            self.console.print()
            self.console.print(screens.result(session))

    def _interview(self, session: Session, saved: Saved, between: Callable[[], bool]) -> None:
        writable = self._can_save(session, saved)
        title = screens.clean(session.pool.question)
        self.console.print(title, style="bold", highlight=False, markup=False)
        gallery = Gallery(self.console) if session.pool[0].image else None
        try:
            with keys.keyboard():
                Interview(session, self.console, rank=self.rank).run(
                    saved if writable else None, gallery.show if gallery else None, between
                )
        except KeyboardInterrupt:
            if writable:
                line = f"\nKept. Go on with: useralign ask --resume {shlex.quote(str(saved.path))}"
                self.console.print(line, markup=False, highlight=False, soft_wrap=True)
            raise

    def _can_save(self, session: Session, saved: Saved) -> bool:
        """Save the session; a default place that cannot be written is no reason to stop."""
        try:
            saved.write(session)
        except OSError as error:
            if self.file is not None:
                raise
            line = f"The session is not kept: {saved.path}: {error.strerror}"
            self.console.print(line, style="dim", markup=False, highlight=False)
            return False
        return True

    def _growing(
        self, session: Session, console: Console, *, aside: bool
    ) -> AbstractContextManager[Callable[[], bool]]:
        """Return what is called between comparisons: a pool that grows, or nothing."""
        if not self.grow:
            return nullcontext(lambda: False)
        return grower(session, self.model, self.seed, console, aside=aside)


def _simulated_user(
    session: Session, question: Question | None, persona: str | None, *, grow: bool
) -> tuple[User, str]:
    """Return who answers: a shipped persona, one by description, or a consistent taste.

    Only one by description can judge answers that are not there yet.
    """
    if question is not None:
        names = {p.name.lower(): p for p in question.personas}
        shipped = question.personas[0] if persona is None else names.get(persona.lower())
        if shipped is not None and grow:
            persona = shipped.description
        elif shipped is not None:
            return RankedPersona(shipped), f"{shipped.name}: {shipped.description}"
    if persona is not None and session.pool[0].text:
        return LikenessUser(session.pool, persona), persona
    if grow:
        raise typer.BadParameter("--grow without a person at a terminal needs --persona, in words")
    return Consistent(session.pool, seed=session.seed), "someone with a consistent taste"


def outcome(session: Session) -> dict[str, Any]:
    """Return how a session ended, as plain data."""
    best = session.best
    return {
        "question": session.pool.question,
        "answer": best.to_dict() | {"index": best.index},
        "questions_asked": session.cost,
        "bound": session.bound,
        "stop_reason": session.stop_reason,
        "viable": [candidate.label for candidate in session.viable],
        "preferred_to": screens.why(session, most=len(session.pool)),
        "transcript": transcript.plain(session),
        "cost": screens.spending(session),
        "usage": session.pool.meta.get("usage"),
        "method": session.method.name,
        "seed": session.seed,
    }
