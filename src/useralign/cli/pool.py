"""`useralign pool`: make pools of answers, bring your own, look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from useralign.cli.options import AsJson, Care, Embedder, Images, Model, emit, print_json

if TYPE_CHECKING:
    from useralign.pool import Pool

app = typer.Typer(no_args_is_help=True, help="Make pools of answers, bring your own, look at them.")

Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the pool to this file.")]


@app.command()
def generate(
    question: Annotated[str, typer.Argument(help="What the answers are to.")],
    model: Model = None,
    size: Annotated[
        int | None, typer.Option(help="How many answers: 20 texts, 40 pictures.")
    ] = None,
    embedder: Embedder = None,
    image: Images = False,
    care: Care = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Make a pool of answers with a model; one that was cut off goes on where it stopped."""
    from useralign.cli import get_pool, screens
    from useralign.pooling import PoolRequest

    request = PoolRequest(question, None, model, embedder, size, image, fresh=True, care=care)
    _deliver(get_pool.generate(request, screens.console(stderr=True)), out, as_json)


@app.command()
def dsp(
    path: Annotated[Path, typer.Argument(help="The public DSP file, a JSON list.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the pools.")] = Path("dsp"),
    count: Annotated[int, typer.Option(help="How many questions to sample.", min=1)] = 100,
    model: Model = None,
    embedder: Embedder = None,
    seed: Annotated[int, typer.Option(help="For the sampling.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make the paper's dsp64d pools from the public file; finished ones are not made again."""
    from rich.progress import Progress

    from useralign.pooling import load_generator
    from useralign.pooling.dsp import generate_dsp_pools, read_dsp

    entries = read_dsp(path, count=count, seed=seed)
    generator = load_generator(model)
    with Progress(transient=True, disable=as_json) as bar:
        pools = generate_dsp_pools(entries, generator, out, embedder=embedder)
        for _ in bar.track(pools, total=len(entries), description="Pools"):
            pass
    paths = [str(out / f"{entry.id}.json") for entry in entries]
    emit(as_json, paths, f"{len(paths)} pools in {out}")


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A .txt, .jsonl, .csv or .json file, or a folder.")],
    question: Annotated[str | None, typer.Option(help="What the answers are to.")] = None,
    embedder: Embedder = None,
    normalise: Annotated[
        str | None,
        typer.Option(help="How features are scaled: unit, ball, diameter, clip or none."),
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Make a pool of answers or pictures that you already have."""
    from useralign.pooling import read_pool

    pool = read_pool(path, question, embedder, normalise=normalise)
    _deliver(pool, out or (None if as_json else path.with_suffix(".pool.json")), as_json)


@app.command()
def show(
    what: Annotated[
        str, typer.Argument(help="A pool's file, a folder, or a question that has a pool.")
    ],
    embedder: Embedder = None,
    as_json: AsJson = False,
) -> None:
    """Show a pool: its answers, those that are nearly the same, and a map of them."""
    from useralign.cli import screens

    console = screens.console()
    pool = _existing(what, embedder)
    if as_json:
        print_json(_facts(pool))
        return
    console.print(screens.clean(pool.question), style="bold")
    console.print(screens.listing(pool))
    for pair in _near_duplicates(pool):
        first, second = pool[pair["first"]].label, pool[pair["second"]].label
        line = screens.clean(f"nearly the same: {first} and {second}")
        console.print(line, style="yellow")
    console.print(screens.scatter(pool, min(console.width, 100)))


def _existing(what: str, embedder: str | None) -> Pool:
    """Find a pool that is there already: nothing is made, and nothing paid for."""
    from useralign.errors import OptionError
    from useralign.pooling import PoolRequest, find_pool, read_pool

    if (existing := find_pool(PoolRequest(what, embedder=embedder))) is not None:
        return existing[0]
    try:
        exists = Path(what).exists()
    except OSError:  # too long for a name, say
        exists = False
    if exists:
        return read_pool(Path(what), None, embedder)
    raise OptionError(
        f"there is no file {what!r:.80} and no pool for such a question; "
        "`useralign pool generate` makes one"
    )


def _deliver(pool: Pool, out: Path | None, as_json: bool) -> None:
    """Write a pool where it was asked for, and say so."""
    if out is not None:
        pool.save(out)
    if as_json:
        print_json(_facts(pool) | {"file": str(out) if out else None})
        return
    notes = pool.meta.get("notes") or []
    for note in notes:
        typer.echo(f"note: {note}")
    where = f" in {out}" if out else ""
    typer.echo(f"{len(pool)} answers, {pool.dimension}-d by {pool.embedder}{where}")
    if usage := pool.meta.get("usage"):
        typer.echo(usage.get("summary", ""))


def _facts(pool: Pool) -> dict[str, Any]:
    return {
        "question": pool.question,
        "size": len(pool),
        "dimension": pool.dimension,
        "embedder": pool.embedder,
        "baseline": pool.baseline.to_dict() if pool.baseline else None,
        "candidates": [candidate.to_dict() for candidate in pool],
        "near_duplicates": _near_duplicates(pool),
        "meta": pool.meta,
    }


def _near_duplicates(pool: Pool) -> list[dict[str, Any]]:
    from useralign.pooling import near_duplicates

    if pool[0].image:
        return []
    pairs = near_duplicates([c.text for c in pool], pool.raw_features)
    return [pair._asdict() for pair in pairs]
