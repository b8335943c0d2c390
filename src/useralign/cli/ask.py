"""`useralign ask`: from a question to a personal answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from useralign.cli.options import AsJson, Care, Embedder, Images

# What the saved session has decided already, and what is of use only while it goes on.
DECIDED = (
    "question", "model", "pool", "method", "epsilon", "budget", "show", "size", "embedder", "image",
    "fresh", "care", "seed",
)  # fmt: skip
GROWS_BY = ("model", "seed")  # unless the pool grows
GOES_ON_BY = ("rank", "grow", "save", "memory")


def ask(
    context: typer.Context,
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
        typer.Option(help="Who writes: openai:gpt-4o, ollama:NAME, URL#NAME, local:NAME, a .gguf."),
    ] = None,
    pool: Annotated[
        Path | None, typer.Option(help="Your own answers: .txt, .jsonl, .csv, .json, or a folder.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="few: some screens, as many answers on each as a glance takes. "
            "useralign: pairs, until the best is proven. Others: see `bench methods`.",
            show_default="few",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Stop when the answer is proven to be this close to the best (0 to 3). "
            "Alone it means --method useralign.",
        ),
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Ask at most this many screens.")] = None,
    show: Annotated[
        int | None,
        typer.Option(min=2, max=9, help="How many answers a screen shows: 2 to 9."),
    ] = None,
    rank: Annotated[
        bool,
        typer.Option("--rank", help="Put all that are shown in order; shows up to 4 by itself."),
    ] = False,
    size: Annotated[int | None, typer.Option(help="How many answers to make.")] = None,
    embedder: Embedder = None,
    image: Images = False,
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
    as_json: AsJson = False,
) -> None:
    """Ask a question, compare a few answers, get the one that fits you.

    The questions that come with useralign need no model: try "What should I cook for dinner
    tonight?". Without a terminal a simulated person answers, and the transcript is printed.
    """
    from useralign.cli import keys
    from useralign.cli.conversation import Conversation, SessionOptions
    from useralign.cli.get_pool import shipped_question
    from useralign.cli.saved import Saved
    from useralign.pooling import PoolRequest

    conversation = Conversation(
        file=save or resume,
        memory=None if no_memory else memory,
        rank=rank,
        grow=grow,
        model=model,
        seed=seed,
        as_json=as_json,
    )
    simulated = persona is not None or as_json or not keys.has_terminal()
    if as_json and persona is None and resume is None and sys.stderr.isatty():
        typer.echo("With --json nobody is asked: a simulated person answers.", err=True)
    if resume is not None:
        only_shows = simulated and persona is None  # nobody is there to go on
        _refuse_ignored(context, grow=grow, only_shows=only_shows)
        _check_save(save)
        session = Saved(resume).read()
        shipped = shipped_question(session.pool) if persona else None
        if only_shows:
            conversation.print_result(session, "person", resume)
            return
        if session.stop_reason == "stopped":
            session.undo()
    else:
        if pool is None and not (question or "").strip():
            raise typer.BadParameter("give a question, for example: useralign ask 'What ...?'")
        _check_save(save)
        shipped, session = conversation.start(
            PoolRequest(question or "", pool, model, embedder, size, image, fresh, care),
            SessionOptions(method, epsilon, budget, show, rank=rank, seed=seed),
        )
    if simulated:
        conversation.simulate(session, shipped, persona)
    else:
        conversation.interview(session)


def _refuse_ignored(context: typer.Context, *, grow: bool, only_shows: bool) -> None:
    """Raise if an option was given that has no effect on a session that is resumed."""
    ignored = {*DECIDED, *GOES_ON_BY} if only_shows else {*DECIDED} - {*GROWS_BY * grow}
    names = [
        parameter.opts[0] if parameter.opts[0].startswith("-") else "the question"
        for parameter in context.command.params
        if parameter.name in ignored
        and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    ]
    if names:
        why = (
            "only shows how it stands, since nobody answers" if only_shows else "goes on as it was"
        )
        raise typer.BadParameter(f"--resume {why}; leave out {', '.join(names)}")


def _check_save(save: Path | None) -> None:
    if save is not None and save.exists():
        raise typer.BadParameter(
            f"{save} is there already; go on with it by --resume, or name another file"
        )
