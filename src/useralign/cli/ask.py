"""`useralign ask`: from a question to a personal answer."""

from __future__ import annotations

import json
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from useralign.cli.options import Care, Embedder  # noqa: TC001 - typer reads them

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from rich.console import Console

    from useralign.cli.saved import Saved
    from useralign.domains import Question
    from useralign.pooling import PoolRequest
    from useralign.session import Session
    from useralign.users import User


def ask(
    question: Annotated[
        str | None, typer.Argument(help="What you want answered. Not needed with --resume.")
    ] = None,
    persona: Annotated[
        str | None,
        typer.Option(
            help="Let a simulated person answer: a description, or the name of a shipped persona."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="The model that makes the answers: openai:gpt-4o, local:NAME, a .gguf."),
    ] = None,
    pool: Annotated[
        Path | None, typer.Option(help="Your own answers: .txt, .jsonl, .csv, .json, or a folder.")
    ] = None,
    method: Annotated[str, typer.Option(help="How pairs are chosen.")] = "useralign",
    epsilon: Annotated[
        float, typer.Option(help="Stop when the answer is this close to the best (0 to 3).")
    ] = 0.0,
    budget: Annotated[int | None, typer.Option(help="Ask at most this many questions.")] = None,
    show: Annotated[
        int | None, typer.Option(help="How many answers a question shows: 2, 3 or 4.")
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank", help="Put all that are shown in order; shows 4 by itself.")
    ] = False,
    size: Annotated[int | None, typer.Option(help="How many answers to make.")] = None,
    embedder: Embedder = None,
    image: Annotated[bool, typer.Option("--image", help="Pictures instead of texts.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make new answers.")] = False,
    care: Care = None,
    grow: Annotated[
        bool, typer.Option("--grow", help="Make more answers near those you choose, as you go.")
    ] = False,
    seed: Annotated[int, typer.Option(help="All randomness comes from it.")] = 0,
    save: Annotated[
        Path | None, typer.Option(help="Keep the session in this file after every answer.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a kept session.")] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            help="Ask less by what you answered before, kept in this file; adds this session.",
            envvar="USERALIGN_MEMORY",
        ),
    ] = None,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Neither use nor keep a memory this time.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the outcome as JSON, nothing else.")
    ] = False,
) -> None:
    """Ask a question, compare a few answers, get the one that fits you.

    The questions that come with useralign need no model: try "What should I cook for dinner
    tonight?". Without a terminal a simulated person answers, and the transcript is printed.
    """
    from rich.console import Console

    from useralign.cli import keys, transcript
    from useralign.cli.memory import check, remember
    from useralign.cli.saved import Saved, default_place
    from useralign.methods import method_for
    from useralign.pooling import PoolRequest

    console = Console(stderr=as_json)
    simulated = persona is not None or as_json or not keys.has_terminal()
    shipped = None
    memory = None if no_memory else memory
    if resume is not None:
        _refuse_with_resume({"a question": question, "--pool": pool})
        _refuse_with_resume({"--model": None if grow else model})
        _refuse_with_resume({"--show": show}, "shows as many as before")
        session = Saved(resume).read()
        if simulated and persona is None:  # nobody is there to go on: tell how it stands
            _finish(session, console, Saved(resume), as_json, "person")
            return
        if session.stop_reason == "stopped":
            session.undo()
    else:
        _check_new(question, pool, save)
        chosen = method_for(method)  # before anything is paid for
        if memory is not None:
            check(chosen, memory, console)
        shipped, session = _begin(
            PoolRequest(question or "", pool, model, embedder, size, image, fresh, care),
            console,
            {
                "method": chosen,
                "epsilon": epsilon,
                "budget": budget,
                "seed": seed,
                "shown": (4 if rank else 2) if show is None else show,
            },
            memory=memory,
            grow=grow,
        )
    file = save or resume
    place = Saved(file) if file else default_place(session)
    if simulated:
        user, name = _stand_in(session, shipped, persona, grow=grow)
        quiet = Console(quiet=as_json)
        with _growing(session, quiet, model, seed, wanted=grow, aside=False) as between:
            transcript.hold(session, quiet, user, name, rank=rank, between=between)
        if file:
            place.write(session, f"simulated: {name}")
        _finish(session, console, place if file else None, as_json, f"simulated: {name}")
    else:
        with _growing(session, console, model, seed, wanted=grow, aside=True) as between:
            _with_person(
                session, console, place, must_keep=file is not None, rank=rank, between=between
            )
        if memory is not None:
            remember(memory, session)
        _finish(session, console, place, as_json, "person")


def _refuse_with_resume(given: dict[str, object], why: str = "goes on with its own pool") -> None:
    if extra := [name for name, value in given.items() if value is not None]:
        raise typer.BadParameter(f"--resume {why}; leave out {extra[0]}")


def _check_new(question: str | None, pool: Path | None, save: Path | None) -> None:
    if pool is None and not (question or "").strip():
        raise typer.BadParameter("give a question, for example: useralign ask 'What ...?'")
    if save is not None and save.exists():
        raise typer.BadParameter(
            f"{save} is there already; go on with it by --resume, or name another file"
        )


def _begin(
    request: PoolRequest,
    console: Console,
    options: dict[str, Any],
    *,
    memory: Path | None,
    grow: bool,
) -> tuple[Question | None, Session]:
    """Check the options on a pool of two, then find or make the real one."""
    from useralign.cli.get_pool import get_pool
    from useralign.cli.memory import recalled
    from useralign.pool import Pool
    from useralign.session import Session

    Session(Pool.from_features([[0.0], [1.0]]), **options)
    made, shipped = get_pool(request, console)
    options["method"] = recalled(options["method"], memory, made, grows=grow)
    return shipped, Session(made, **options)


def _with_person(
    session: Session,
    console: Console,
    place: Saved,
    *,
    must_keep: bool,
    rank: bool,
    between: Callable[[], bool],
) -> None:
    """Let the person at the terminal answer; a default place that cannot be written is no end."""
    from useralign.cli import keys, screens
    from useralign.cli.interview import Interview
    from useralign.cli.pictures import Gallery

    kept = _can_keep(session, place, console, must_keep=must_keep)
    console.print(screens.clean(session.pool.question), style="bold", highlight=False, markup=False)
    gallery = Gallery(console) if session.pool[0].image else None
    try:
        with keys.keyboard():
            Interview(session, console, rank=rank).run(
                place if kept else None, gallery.show if gallery else None, between
            )
    except KeyboardInterrupt:
        if kept:
            line = f"\nKept. Go on with: useralign ask --resume {shlex.quote(str(place.path))}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        raise


def _growing(
    session: Session, console: Console, model: str | None, seed: int, *, wanted: bool, aside: bool
) -> AbstractContextManager[Callable[[], bool]]:
    """Lend what is called between questions: a pool that grows, or nothing."""
    if not wanted:
        return nullcontext(lambda: False)
    from useralign.cli.growing import grower

    return grower(session, model, seed, console, aside=aside)


def _can_keep(session: Session, place: Saved, console: Console, *, must_keep: bool) -> bool:
    try:
        place.write(session)
    except OSError as error:
        if must_keep:
            raise
        line = f"The session is not kept: {place.path}: {error.strerror}"
        console.print(line, style="dim", markup=False, highlight=False)
        return False
    return True


def _stand_in(
    session: Session, shipped: Question | None, persona: str | None, *, grow: bool
) -> tuple[User, str]:
    """Find someone to answer: a shipped persona, one by description, or a consistent taste.

    Only one by description can judge answers that are not there yet.
    """
    from useralign.users import Consistent, LikenessUser, RankedPersona

    if shipped is not None:
        names = {p.name.lower(): p for p in shipped.personas}
        chosen = shipped.personas[0] if persona is None else names.get(persona.lower())
        if chosen is not None and grow:
            persona = chosen.description
        elif chosen is not None:
            return RankedPersona(chosen), f"{chosen.name}: {chosen.description}"
    if persona is not None and session.pool[0].text:
        return LikenessUser(session.pool, persona), persona
    if grow:
        raise typer.BadParameter("--grow without a person at a terminal needs --persona, in words")
    return Consistent(session.pool, seed=session.seed), "someone with a consistent taste"


def _finish(
    session: Session, console: Console, place: Saved | None, as_json: bool, answered_by: str
) -> None:
    from useralign.cli import screens

    if as_json:
        extra = {"answered_by": answered_by, "saved": str(place.path) if place else None}
        typer.echo(json.dumps(outcome(session) | extra, ensure_ascii=False))
    else:
        console.print()
        console.print(screens.result(session))


def outcome(session: Session) -> dict[str, Any]:
    """Return how a session ended, as plain data."""
    from useralign.cli import transcript, words

    best = session.best
    return {
        "question": session.pool.question,
        "answer": best.to_dict() | {"index": best.index},
        "questions_asked": session.cost,
        "bound": session.bound,
        "stop_reason": session.stop_reason,
        "viable": [candidate.label for candidate in session.viable],
        "preferred_to": words.why(session, most=len(session.pool)),
        "transcript": transcript.plain(session),
        "cost": words.spending(session),
        "usage": session.pool.meta.get("usage"),
        "method": session.method.name,
        "seed": session.seed,
    }
