"""One question in the terminal: find or make its pool, let somebody answer, show the result."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from useralign.answers import losers_to
from useralign.cli import keys, memory, screens
from useralign.cli.get_pool import get_pool
from useralign.cli.growing import Grower
from useralign.cli.interview import Interview
from useralign.cli.options import print_json
from useralign.cli.pictures import Gallery
from useralign.cli.saved import Saved, default_file
from useralign.errors import OptionError
from useralign.methods import method_for
from useralign.presets import SCREENS, few
from useralign.reasons import why
from useralign.session import Session, check_options
from useralign.users import Consistent, LikenessUser, RankedPersona, simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rich.console import Console

    from useralign.answers import Answer
    from useralign.domains import Question
    from useralign.methods import Method
    from useralign.pool import Pool
    from useralign.pooling import PoolRequest
    from useralign.users import User


FEW = "few"  # the name of the preset, beside those of methods
MOST_RANKED = 4  # that are shown to be ranked unless more are asked for


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How screens are to be chosen and when to stop, as the options of the command line say."""

    method: str | None = None  # a method or `few`; with an epsilon alone the paper's
    epsilon: float | None = None
    budget: int | None = None
    show: int | None = None  # candidates per screen
    rank: bool = False
    seed: int = 0

    @property
    def preset(self) -> bool:
        """Whether it is the preset, and not a method by its name."""
        return self.method == FEW if self.method else self.epsilon is None

    def check(self) -> Method:
        """Return the method, once it is clear that a session can be started like this."""
        if self.preset and self.epsilon is not None:
            raise OptionError(
                "the preset few stops when it is sure enough, not by a bound: leave out "
                "--epsilon, or give --method useralign"
            )
        method = method_for("frugal" if self.preset else self.method or "useralign")
        budget = SCREENS if self.preset and self.budget is None else self.budget
        check_options(
            method,
            epsilon=self.epsilon or 0.0,
            budget=budget,
            seed=self.seed,
            per_screen=self.show or 2,
        )
        return method

    def start(self, pool: Pool, method: Method) -> Session:
        """Return a new session over a pool; the method is as `check` returned it, or informed."""
        count = self.show
        if count is None and self.rank:
            count = min(few(pool)["per_screen"], MOST_RANKED) if self.preset else MOST_RANKED
        options = {"epsilon": self.epsilon, "budget": self.budget, "per_screen": count}
        changes: dict[str, Any] = {k: value for k, value in options.items() if value is not None}
        if self.preset:
            return Session.few(pool, self.seed, prior=method.options()["prior"], **changes)
        return Session(pool, method, seed=self.seed, **changes)


@dataclass(slots=True)
class Conversation:
    """One run of `useralign ask`."""

    file: Path | None  # where the session is saved after every answer; in the cache if not given
    memory: Path | None  # the memory file to start from and to add to
    rank: bool  # whether all candidates of a comparison are put in order
    grow: bool
    model: str | None  # for a pool that grows
    seed: int
    as_json: bool  # the result is printed as JSON, and nothing else
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        self.console = screens.console(stderr=self.as_json)

    def start(
        self, request: PoolRequest, options: SessionOptions
    ) -> tuple[Question | None, Session]:
        """Return a new session, and the shipped question if it is one.

        Options are checked, and the memory is read, before anything is paid for.
        """
        method = options.check()
        if self.memory is not None:
            memory.check(method, self.memory, self.console)
        pool, question = get_pool(request, self.console)
        informed = memory.recalled(method, self.memory, pool, grows=self.grow)
        return question, options.start(pool, informed)

    def simulate(self, session: Session, question: Question | None, persona: str | None) -> None:
        """Let a simulated person answer, and print the transcript and the result.

        The transcript has the best first and the rest dim. The session is saved before an answer is
        printed, because what reads the transcript may go away.
        """
        user, name = _simulated_user(session, question, persona, grow=self.grow)
        console = screens.console(quiet=self.as_json)

        def keep() -> None:
            if self.file:
                Saved(self.file).write(session, f"simulated: {name}")

        keep()
        with self._growing(session, console, aside=False) as between:
            console.print(screens.clean(session.pool.question), style="bold")
            console.print(f"Answering: {screens.clean(name)}\n", style="dim")
            for answer in simulate(session, user, rank=self.rank):
                keep()
                order = answer.order or sorted(answer.candidates, key=lambda k: k != answer.winner)
                for position, index in enumerate(order):
                    candidate = session.pool[index]
                    screens.print_line(console, session.cost, position, candidate, rank=self.rank)
                between()
            console.print()
        keep()
        self.print_result(session, f"simulated: {name}", self.file)

    def interview(self, session: Session) -> None:
        """Let the person at the terminal answer, and take one of the shortlist."""
        saved = Saved(self.file) if self.file else default_file(session)
        with self._growing(session, self.console, aside=True) as between:
            self._interview(session, saved, between)
        if self.memory is not None:
            memory.remember(self.memory, session)

    def print_result(self, session: Session, answered_by: str, path: Path | None) -> None:
        """Print how the session stands, with where it is saved."""
        if self.as_json:
            extra = {"answered_by": answered_by, "saved": str(path) if path else None}
            print_json(outcome(session) | extra)
        else:
            self.console.print()
            self.console.print(screens.result(session, self.console.width))

    def _interview(self, session: Session, saved: Saved, between: Callable[[], bool]) -> None:
        writable = self._can_save(session, saved)
        self.console.print(screens.clean(session.pool.question), style="bold")
        gallery = Gallery(self.console) if session.pool[0].image else None
        try:
            with keys.keyboard():
                Interview(session, self.console, rank=self.rank, gallery=gallery).run(
                    saved if writable else None, between
                )
        except KeyboardInterrupt:
            if writable:
                line = f"\nKept. Go on with: useralign ask --resume {shlex.quote(str(saved.path))}"
                self.console.print(line, soft_wrap=True)
            raise

    def _can_save(self, session: Session, saved: Saved) -> bool:
        """Save the session; a default place that cannot be written is no reason to stop."""
        try:
            saved.write(session)
        except OSError as error:
            if self.file is not None:
                raise
            line = f"The session is not kept: {saved.path}: {error.strerror}"
            self.console.print(line, style="dim")
            return False
        return True

    def _growing(
        self, session: Session, console: Console, *, aside: bool
    ) -> AbstractContextManager[Callable[[], bool]]:
        """Return what is called between comparisons: a pool that grows, or nothing."""
        if not self.grow:
            return nullcontext(lambda: False)
        return Grower(session, self.model, self.seed, console, aside=aside)


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
    read, words = screens.reading(session)
    return {
        "question": session.pool.question,
        "answer": best.to_dict() | {"index": best.index},
        "questions_asked": session.cost,
        "bound": session.bound,
        "stop_reason": session.stop_reason,
        "viable": [candidate.label for candidate in session.viable],
        "preferred_to": [str(session.pool[k]) for k in losers_to(best.index, session.answers)],
        "transcript": [_entry(session, answer) for answer in session.answers],
        "cost": screens.spending(session),
        "usage": session.pool.meta.get("usage"),
        "method": session.method.name,
        "seed": session.seed,
        "screens": session.cost,
        "expected_screens": session.expected_screens,
        "shortlist": [c.to_dict() | {"index": c.index} for c in session.shortlist],
        "why": why(session),
        "words_read": read,
        "words": words,
    }


def _entry(session: Session, answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data, candidates by their labels."""
    if not answer.candidates:  # said in words
        return {"kind": answer.kind, "text": answer.text}
    labels = [session.pool[k].label for k in answer.candidates]
    entry: dict[str, Any] = {"kind": answer.kind, "first": labels[0], "second": labels[1]}
    if answer.others:
        entry["shown"] = labels
    if answer.kind == "ranking":
        entry["order"] = [session.pool[k].label for k in answer.order]
    entry["winner"] = None if answer.winner is None else session.pool[answer.winner].label
    return entry
