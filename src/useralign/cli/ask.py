"""`useralign ask`: from a question to a personal answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from useralign.domains import Question
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
    size: Annotated[int | None, typer.Option(help="How many answers to make.")] = None,
    embedder: Annotated[str | None, typer.Option(help="What turns answers into features.")] = None,
    image: Annotated[bool, typer.Option("--image", help="Pictures instead of texts.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make new answers.")] = False,
    seed: Annotated[int, typer.Option(help="All randomness comes from it.")] = 0,
    save: Annotated[
        Path | None, typer.Option(help="Keep the session in this file after every answer.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a kept session.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the outcome as JSON, nothing else.")
    ] = False,
) -> None:
    """Ask a question, compare a few answers, get the one that fits you.

    The questions that come with useralign need no model: try "What should I cook for dinner
    tonight?". Without a terminal a simulated person answers, and the transcript is printed.
    """
    from rich.console import Console

    from useralign.cli import keys
    from useralign.cli.obtain import Wanted, obtain
    from useralign.cli.saved import Saved, default_place
    from useralign.session import Session

    console = Console(stderr=as_json)
    shipped = None
    if resume is not None:
        session = Saved(resume).read()
    else:
        if question is None and pool is None:
            raise typer.BadParameter("give a question, for example: useralign ask 'What ...?'")
        wanted = Wanted(question or "", pool, model, embedder, size, image, fresh)
        made, shipped = obtain(wanted, console)
        session = Session(made, method, epsilon, budget, seed)
    file = save or resume
    place = Saved(file) if file else default_place(session)
    place.write(session)
    if persona is None and not as_json and keys.has_terminal():
        _with_person(session, console, place)
    else:
        user, name = _stand_in(session, shipped, persona)
        _with_user(session, Console(quiet=as_json), user, name)
        place.write(session)
    _finish(session, console, place, as_json)


def _with_person(session: Session, console: Console, place: Any) -> None:
    """Let the person at the terminal answer."""
    from useralign.cli import keys
    from useralign.cli.interview import interview
    from useralign.cli.pictures import Gallery

    console.print(f"[bold]{session.pool.question}[/]", highlight=False)
    gallery = Gallery(console) if session.pool[0].image else None
    try:
        with keys.keyboard():
            interview(session, console, place, show=gallery.show if gallery else None)
    except KeyboardInterrupt:
        console.print(f"\nKept. Go on with: useralign ask --resume {place.path}", markup=False)
        raise


def _stand_in(session: Session, shipped: Question | None, persona: str | None) -> tuple[User, str]:
    """Find someone to answer: a shipped persona, one by description, or a consistent taste."""
    from useralign.users.likeness import LikenessUser
    from useralign.users.linear import Consistent
    from useralign.users.ranked import RankedPersona

    if shipped is not None:
        names = {p.name.lower(): p for p in shipped.personas}
        chosen = shipped.personas[0] if persona is None else names.get(persona.lower())
        if chosen is not None:
            return RankedPersona(chosen), f"{chosen.name}: {chosen.description}"
    if persona is not None and session.pool[0].text:
        return LikenessUser(session.pool, persona), persona
    return Consistent(session.pool, seed=session.seed), "someone with a consistent taste"


def _with_user(session: Session, console: Console, user: User, name: str) -> None:
    """Let a simulated user answer, and print what was said."""
    from useralign.cli.screens import clean

    console.print(session.pool.question, style="bold", highlight=False)
    console.print(f"Answering: {name}\n", style="dim", markup=False, highlight=False)
    while (pair := session.ask()) is not None:
        winner = user.choose(pair)
        loser = pair.second if winner is pair.first else pair.first
        session.tell(winner)
        for sign, candidate in (("+", winner), ("-", loser)):
            number = f"{session.cost:>2}" if sign == "+" else "  "
            console.print(
                f"{number} {sign} {clean(str(candidate), 110)}",
                style="" if sign == "+" else "dim",
                markup=False,
                highlight=False,
                no_wrap=True,
                overflow="ellipsis",
            )
    console.print()


def _finish(session: Session, console: Console, place: Any, as_json: bool) -> None:
    from useralign.cli import screens

    if as_json:
        typer.echo(json.dumps(outcome(session) | {"saved": str(place.path)}, ensure_ascii=False))
    else:
        console.print()
        console.print(screens.result(session))


def outcome(session: Session) -> dict[str, Any]:
    """Return how a session ended, as plain data."""
    from useralign.cli import words

    best = session.best
    label = [candidate.label for candidate in session.pool]
    return {
        "question": session.pool.question,
        "answer": best.to_dict() | {"index": best.index},
        "questions_asked": session.cost,
        "bound": session.bound,
        "stop_reason": session.stop_reason,
        "viable": [candidate.label for candidate in session.viable],
        "preferred_to": words.why(session, most=len(session.pool)),
        "transcript": [
            {
                "first": label[answer.first],
                "second": label[answer.second],
                "winner": None if answer.winner is None else label[answer.winner],
            }
            for answer in session.answers
        ],
        "cost": words.spending(session),
        "usage": session.pool.meta.get("usage"),
        "method": session.method.name,
        "seed": session.seed,
    }
