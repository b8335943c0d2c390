"""Make a pool: ask a model for candidates, choose among them, embed them.

The procedure is the paper's (appendix "Details about Pool Generation"). Candidates are asked for in
rounds, side by side within a round; what is refused, cut short, or like another is replaced in the
next one under another seed, until the pool is full or a limit is reached.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import (
    ModelAnswerError,
    ModelError,
    ModelUnavailableError,
    OptionError,
)
from useralign.files import cache_dir
from useralign.models.embedders import embedder_for
from useralign.models.generators.base import Generator
from useralign.models.generators.choose import default_name, generator_for
from useralign.models.generators.waiting import wait_for
from useralign.pooling.desk import Desk
from useralign.pooling.features import Features
from useralign.pooling.journal import Journal, digest
from useralign.pooling.maker import Maker
from useralign.pooling.recipe import Recipe
from useralign.pooling.spending import Ledger
from useralign.pooling.words import tidy

if TYPE_CHECKING:
    from useralign.pool import Pool
    from useralign.pooling.events import Progress
    from useralign.pooling.features import AnyEmbedder
    from useralign.pooling.recipe import Kind

_LONGEST_QUESTION = 4000


async def make_pool(
    question: str,
    generator: Generator,
    embedder: AnyEmbedder = None,
    recipe: Recipe | None = None,
    *,
    draft: str | Path | None = None,
    progress: Progress | None = None,
    writer: Generator | None = None,
) -> Pool:
    """Make a pool of candidate answers to a question.

    Every reply is in the draft the moment it arrives. When the making fails or is killed, the same
    call again takes from the draft what is there and asks for the rest only.

    Parameters
    ----------
    question : str
    generator : Generator
        The model that makes the candidates. It stays open.
    embedder : str, Embedder or callable, optional
        The default one for texts or pictures when not given.
    recipe : Recipe, optional
        The paper's when not given.
    draft : str or Path, optional
        The draft's file; one in the cache folder when not given. Pictures are put beside it.
    progress : callable, optional
        Called with an `Event` at every step.
    writer : Generator, optional
        The model that reasons about interests; `generator` when not given.

    Returns
    -------
    Pool
        `meta` holds the recipe, the usage, the near-duplicates found, and notes for the user. The
        pool is smaller than asked for if a limit was reached and it has at least two candidates.

    Raises
    ------
    OptionError
        If the question is empty or too long.
    FileFormatError
        If the draft's file is something else, or cannot be written.
    ModelError
        If a model failed for good, or nothing of what it said is usable. The message says what is
        kept, and how to go on.
    """
    recipe = recipe or Recipe()
    question = checked_question(question)
    writer = writer or generator
    _check_models(generator, writer, recipe)
    chosen = embedder_for(embedder, recipe.kind)
    # Better now than after everything is paid for.
    if trouble := chosen.trouble():
        raise ModelUnavailableError(trouble)
    features = Features(chosen, recipe.kind)
    header = {
        "question": question,
        "model": generator.identity,
        "writer": writer.identity,
        "recipe": recipe.identity(),
    }
    path = Path(draft) if draft else cache_dir("drafts") / f"{digest(header)}.jsonl"
    with Journal(path, header) as journal:
        desk = Desk(generator, writer, journal, Ledger(recipe.max_cost))
        maker = Maker(question, recipe, desk, features, progress)
        try:
            return await maker.run()
        except ModelError as error:
            if len(journal) == 0:
                raise
            raise _kept(error, maker.made, recipe.count, path) from error


def generate_pool(
    question: str,
    model: str | Path | Generator | None = None,
    embedder: AnyEmbedder = None,
    recipe: Recipe | None = None,
    *,
    size: int | None = None,
    kind: Kind = "text",
    draft: str | Path | None = None,
    progress: Progress | None = None,
    writer: Generator | None = None,
) -> Pool:
    """Generate a pool and wait for it; also from within a notebook.

    Parameters
    ----------
    question : str
    model : str, Path or Generator, optional
        A generator or its name, such as "openai:gpt-4o" or "local:smollm2-135m"; the best one
        available when not given.
    embedder : str, Embedder or callable, optional
        The default one for texts or pictures when not given.
    recipe : Recipe, optional
        When not given, that of `default_recipe` for this model, `kind` and `size`.
    size : int, optional
        How many candidates, unless there is a recipe.
    kind : {"text", "image"}
        Unless there is a recipe.
    draft, progress, writer
        As for `make_pool`, which also says what is raised.
    """
    generator = load_generator(model)
    if recipe is None:
        recipe = default_recipe(generator, kind=kind, size=size)
    elif size is not None:
        raise OptionError(f"give recipe= or size=, not both; got size={size!r} and a recipe")
    call = make_pool(
        question, generator, embedder, recipe, draft=draft, progress=progress, writer=writer
    )
    return wait_for(call, generator, *([writer] if writer else []))


def default_recipe(
    generator: Generator,
    *,
    kind: Kind = "text",
    size: int | None = None,
    care: bool | None = None,
) -> Recipe:
    """Return the recipe for a model: small local ones are asked for one sentence, and with care.

    Parameters
    ----------
    generator : Generator
    kind : {"text", "image"}
    size : int, optional
    care : bool, optional
        As for `Recipe`; when not given, a local model takes care and a service does not.
    """
    small = generator.name == "local"
    settings: dict[str, Any] = {"kind": kind, "size": size, "care": small if care is None else care}
    return Recipe.concise(**settings) if small else Recipe(**settings)


def load_generator(model: str | Path | Generator | None = None) -> Generator:
    """Return a generator by name; a local model writes four answers at once, 1.6 times as fast."""
    if isinstance(model, Generator):
        return model
    name = str(model or default_name())
    return generator_for(name, **({"parallel": 4} if name.startswith("local") else {}))


def checked_question(question: str) -> str:
    """Return the question without what cannot be shown or saved.

    Raises
    ------
    OptionError
        If there is nothing left of it, or it is too long.
    """
    clean = tidy(question)
    if not clean:
        raise OptionError(f"the question is empty: got {question!r}; give what you want to ask")
    if len(question) > _LONGEST_QUESTION:
        raise OptionError(
            f"the question has {len(question)} characters; expected at most {_LONGEST_QUESTION}"
        )
    return clean


def _check_models(generator: Generator, writer: Generator, recipe: Recipe) -> None:
    if recipe.kind not in generator.makes:
        what = "writes no texts" if recipe.kind == "text" else "draws no pictures"
        raise ModelUnavailableError(f"{generator.model} {what}; choose a model that does")
    if recipe.style == "mixed" and "text" not in writer.makes:
        raise ModelUnavailableError(
            f"{writer.model} writes no texts, so it cannot reason about interests; give a text "
            "model as writer=, or use style='unbiased'"
        )


def _kept(error: ModelError, made: int, wanted: int, path: Path) -> ModelError:
    message = (
        f"{error}\n{made} of {wanted} candidates were made; all replies are kept in {path}. Make "
        "the pool again with the same question, recipe, model and draft to go on from there: only "
        "what is missing is asked for"
    )
    kinds = (ModelUnavailableError, ModelAnswerError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), ModelError)
    return kind(message)
