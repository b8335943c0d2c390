"""dsp64d from the public Domain Specific Preference file, which a user downloads themselves.

The file is a JSON list of `{"query": ..., "responses": {"academy": ..., "business": ...,
"entertainment": ..., "literature": ..., "normal": ...}}`. As in the paper's appendix on pools, 100
questions are sampled; half of a pool is unbiased, the other half is sampled from five answers to
each of the four interests; and three user descriptions per question are drawn from the interests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import FileFormatError, OptionError
from useralign.files import read_json
from useralign.pool import Pool
from useralign.pooling.generate import generate_pool
from useralign.pooling.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from useralign.models import Embedder, Generator

INTERESTS = {
    "academy": "works at a university and wants precise terms, evidence and context",
    "business": "runs a business and wants what is practical, measurable and worth the money",
    "entertainment": "lives for films, games and music and wants to be amused and surprised",
    "literature": "reads novels and poetry and wants images, rhythm and a story",
}
NORMAL = "normal"


@dataclass(frozen=True, slots=True)
class Entry:
    """One question of the file.

    Parameters
    ----------
    id : str
        `dsp-` and its index in the file.
    query : str
    responses : dict of str to str
        The data set's own answer for each interest, and the normal one.
    users : tuple of str
        The interests that its simulated users have.
    """

    id: str
    query: str
    responses: dict[str, str]
    users: tuple[str, ...]


def read_dsp(path: str | Path, *, count: int = 100, users: int = 3, seed: int = 0) -> list[Entry]:
    """Read the file and sample questions and users from it.

    Parameters
    ----------
    path : str or Path
    count : int
        How many questions; all of them when the file has no more.
    users : int
        How many users per question, from 1 to 4.
    seed : int

    Raises
    ------
    FileFormatError
        If the file is missing, or an entry has another form; it says which.
    """
    if not Path(path).is_file():
        raise FileFormatError(
            f"{path}: there is no such file. The DSP data are not part of useralign: download the "
            "JSON file from its authors and give its path, or use the shipped sample, dsp64d"
        )
    if not 1 <= users <= len(INTERESTS):
        raise OptionError(f"users must be from 1 to {len(INTERESTS)}, got {users!r}")
    data = read_json(path)
    if not isinstance(data, list) or not data:
        raise FileFormatError(f"{path}: expected a JSON list of questions")
    draw = np.random.default_rng(seed)
    indices = np.sort(draw.choice(len(data), min(count, len(data)), replace=False))
    return [_entry(path, int(k), data[int(k)], draw, users) for k in indices]


def generate_dsp_pools(
    entries: Sequence[Entry],
    generator: Generator,
    folder: str | Path,
    *,
    embedder: str | Embedder | None = None,
    small_model: bool = False,
    seen: Callable[[int, int], None] | None = None,
) -> Iterator[Pool]:
    """Yield the pool of each question; those that have a file already are not generated again.

    Parameters
    ----------
    entries : sequence of Entry
    generator : Generator
    folder : str or Path
        Where the pools and their drafts go. A run that is cut off goes on where it stopped.
    embedder : str or Embedder, optional
    small_model : bool
        Ask for one sentence, as small models need it.
    seen : callable, optional
        Called with how many of how many are done.
    """
    interests = tuple(INTERESTS.values())
    base = Recipe.concise if small_model else Recipe
    for number, entry in enumerate(entries, start=1):
        file = Path(folder) / f"{entry.id}.json"
        if file.exists():
            pool = Pool.load(file)
        else:
            recipe = base(style="given", interests=interests)
            draft = Path(folder) / "drafts" / f"{entry.id}.jsonl"
            pool = generate_pool(entry.query, generator, embedder, recipe, draft=draft)
            pool.meta["users"] = {name: INTERESTS[name] for name in entry.users}
            pool.save(file)
        if seen is not None:
            seen(number, len(entries))
        yield pool


def _entry(
    path: str | Path, index: int, item: object, draw: np.random.Generator, users: int
) -> Entry:
    query = item.get("query") if isinstance(item, dict) else None
    responses = item.get("responses") if isinstance(item, dict) else None
    needed = [*INTERESTS, NORMAL]
    good = isinstance(responses, dict) and all(isinstance(responses.get(k), str) for k in needed)
    if not isinstance(query, str) or not query.strip() or not good:
        raise FileFormatError(
            f"{path}: entry {index} is not a DSP question; expected a text under 'query' and texts "
            f"under 'responses' for {', '.join(needed)}"
        )
    assert isinstance(responses, dict)  # noqa: S101 - checked above, for the type checker
    names = draw.choice(list(INTERESTS), users, replace=False)
    answers = {name: responses[name] for name in needed}
    return Entry(f"dsp-{index}", query, answers, tuple(str(name) for name in names))
