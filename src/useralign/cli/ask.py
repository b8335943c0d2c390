"""`useralign ask`: from a question to a personal answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from useralign.cli.options import AsJson, Care, Embedder


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
        int | None,
        typer.Option(min=2, max=9, help="How many answers a question shows: 2 to 9."),
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
    as_json: AsJson = False,
) -> None:
    """Ask a question, compare a few answers, get the one that fits you.

    The questions that come with useralign need no model: try "What should I cook for dinner
    tonight?". Without a terminal a simulated person answers, and the transcript is printed.
    """
    from useralign.cli import keys
    from useralign.cli.conversation import Conversation
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
    if resume is not None:
        _refuse_with_resume({"a question": question, "--pool": pool})
        _refuse_with_resume({"--model": None if grow else model})
        _refuse_with_resume({"--show": show}, "shows as many as before")
        session, shipped = Saved(resume).read(), None
        if simulated and persona is None:  # nobody is there to go on: show how it stands
            conversation.print_result(session, "person", resume)
            return
        if session.stop_reason == "stopped":
            session.undo()
    else:
        _check_new(question, pool, save)
        shipped, session = conversation.start(
            PoolRequest(question or "", pool, model, embedder, size, image, fresh, care),
            method=method,
            epsilon=epsilon,
            budget=budget,
            seed=seed,
            per_screen=(4 if rank else 2) if show is None else show,
        )
    if simulated:
        conversation.simulate(session, shipped, persona)
    else:
        conversation.interview(session)


def _refuse_with_resume(values: dict[str, object], why: str = "goes on with its own pool") -> None:
    if extra := [name for name, value in values.items() if value is not None]:
        raise typer.BadParameter(f"--resume {why}; leave out {extra[0]}")


def _check_new(question: str | None, pool: Path | None, save: Path | None) -> None:
    if pool is None and not (question or "").strip():
        raise typer.BadParameter("give a question, for example: useralign ask 'What ...?'")
    if save is not None and save.exists():
        raise typer.BadParameter(
            f"{save} is there already; go on with it by --resume, or name another file"
        )
