"""dsp64d from the public Domain Specific Preference file, which a user downloads themselves.

The file is a JSON list of `{"query": ..., "responses": {"academy": ..., "business": ...,
"entertainment": ..., "literature": ..., "normal": ...}}`. As in the paper's appendix on pools, 100
questions are sampled; half of a pool is unbiased, the other half is sampled from five answers to
each of the four interests; and three user descriptions per question are drawn from the interests.
"""

from __future__ import annotations

import hashlib
import math
import re
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.checks import whole
from useralign.errors import FileFormatError, ModelUnavailableError
from useralign.files import cache_dir, read_json, write_atomically
from useralign.pool import Candidate, Pool
from useralign.pooling.generate import generate_pool
from useralign.pooling.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from useralign.models import Generator

INTERESTS = {
    "academy": "works at a university and wants precise terms, evidence and context",
    "business": "runs a business and wants what is practical, measurable and worth the money",
    "entertainment": "lives for films, games and music and wants to be amused and surprised",
    "literature": "reads novels and poetry and wants images, rhythm and a story",
}
NORMAL = "normal"
_USERS = 3  # of a question
SOURCE = (
    "https://raw.githubusercontent.com/Linear95/DSP/850e84fef7688fd25f667d079e0c1276e42eb57f"
    "/data/domain_specific_preference.test.json"
)
_LARGEST = 20_000_000  # bytes; it has 2.3 million
SHA256 = "e4aac8fe77dfd4e41168785856a552402b7f28a359606e6d3c28818489fda9e6"
LICENCE = (
    "The DSP test file is by Cheng and others (2023), github.com/Linear95/DSP, under CC BY-NC 4.0: "
    "not for commercial use, and its authors are to be named."
)


@dataclass(frozen=True, slots=True)
class DspQuestion:
    """One question of the file."""

    id: str  # `dsp-` and its index in the file
    query: str
    responses: dict[str, str]  # for each interest, and the normal one
    users: tuple[str, ...]  # the interests that its simulated users have


def read_dsp(path: str | Path, *, count: int = 100, seed: int = 0) -> list[DspQuestion]:
    """Read the file and sample questions, and three users of each, from it.

    Raises `FileFormatError` if the file is missing, or an entry has another form; it says which.
    """
    if not Path(path).is_file():
        raise FileFormatError(
            f"{path}: there is no such file. The DSP data are not part of useralign: download the "
            "JSON file from its authors and give its path, or use the shipped sample, dsp64d"
        )
    whole("count", count, 1)
    data = read_json(path)
    if not isinstance(data, list) or not data:
        raise FileFormatError(f"{path}: expected a JSON list of questions")
    draw = np.random.default_rng(seed)
    indices = np.sort(draw.choice(len(data), min(count, len(data)), replace=False))
    return [_entry(path, int(k), data[int(k)], draw) for k in indices]


def fetch_dsp(source: str = SOURCE, sha256: str = SHA256) -> Path:
    """Download the file into the cache folder, unless it is there, and return its path.

    Raises `ModelUnavailableError` if it cannot be had, or is not the file that was expected.
    """
    path = cache_dir("dsp") / "domain_specific_preference.test.json"
    if not path.exists():
        try:
            with urllib.request.urlopen(source, timeout=60) as reply:  # noqa: S310 - pinned by hash
                data = reply.read(_LARGEST)
        except (OSError, ValueError) as error:
            raise ModelUnavailableError(
                f"the DSP file cannot be fetched from {source} ({error}); download it by other "
                "means and give its path"
            ) from error
        if (actual := hashlib.sha256(data).hexdigest()) != sha256:
            raise ModelUnavailableError(
                f"{source}: has the checksum {actual}, expected {sha256}; it is not the file that "
                "was measured here. Give the path of one that you trust"
            )
        write_atomically(path, data)
    return path


def write_answer_pools(path: str | Path, folder: str | Path, *, count: int = 100) -> float:
    """Write a pool for each of some questions: the file's own five answers, its domains as users.

    Questions are those whose five answers differ: where two are one text, nobody can prefer one.
    A user of a domain likes its answer best: that is what the file means by a preference. The
    others are liked by how much their words are those of the domain: the mean over the words of how
    much likelier each is in the domain's answers to all other questions than in those of all
    domains (naive Bayes with one count added). The normal answer is also the baseline, and counts
    as no better than itself.

    Returns the share of users who would like their own domain's answer best by its words alone.
    """
    everything = read_dsp(path, count=10**9)
    names = [*INTERESTS, NORMAL]
    words = {e.id: {n: Counter(_words(e.responses[n])) for n in names} for e in everything}
    totals = {n: sum((words[e.id][n] for e in everything), Counter[str]()) for n in names}
    vocabulary = len(set().union(*totals.values()))
    usable = [e for e in everything if _all_differ(e)]
    if not usable:
        raise FileFormatError(f"{path}: has no question with five different answers")
    draw = np.random.default_rng(0)
    sample = np.sort(draw.choice(len(usable), min(count, len(usable)), replace=False))
    own = 0
    for entry in (usable[int(k)] for k in sample):
        rest = {n: totals[n] - words[entry.id][n] for n in names}
        worth = {n: _worth(n, words[entry.id], rest, vocabulary) for n in names}
        own += sum(max(worth[n], key=worth[n].__getitem__) == n for n in names)
        pool = Pool.from_texts(
            entry.query,
            [Candidate(text=entry.responses[n], id=n) for n in names],
            baseline=Candidate(text=entry.responses[NORMAL], id="baseline"),
        )
        users = {**INTERESTS, NORMAL: "wants a plain answer"}
        pool.meta.update({"users": users, "rankings": {n: _ranking(n, worth[n]) for n in names}})
        pool.save(Path(folder) / f"{entry.id}.json")
    return own / (len(sample) * len(names))


def _all_differ(entry: DspQuestion) -> bool:
    """Whether no two answers are the same text, and none is empty."""
    return len({text.strip() for text in entry.responses.values()} - {""}) == len(entry.responses)


def _worth(
    domain: str, answers: dict[str, Counter[str]], rest: dict[str, Counter[str]], vocabulary: int
) -> dict[str, float]:
    """Return how much the words of each answer are those of a domain."""
    ours, size = rest[domain], rest[domain].total() + vocabulary
    both = sum(counts.total() for counts in rest.values()) + vocabulary

    def gain(word: str) -> float:
        general = sum(counts[word] for counts in rest.values())
        return math.log((ours[word] + 1) / size) - math.log((general + 1) / both)

    return {
        name: sum(number * gain(word) for word, number in words.items()) / max(words.total(), 1)
        for name, words in answers.items()
    }


def _ranking(domain: str, worth: dict[str, float]) -> list[str]:
    """Rank the domain's own answer first, the others by worth, the baseline above its double."""
    order = sorted(worth, key=lambda n: (n != domain, -worth[n], n))
    order.insert(order.index(NORMAL), "baseline")
    return order


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def generate_dsp_pools(
    entries: Sequence[DspQuestion],
    generator: Generator,
    folder: str | Path,
    *,
    embedder: str | None = None,
) -> Iterator[Pool]:
    """Yield the pool of each question; those that have a file already are not generated again.

    The pools and their drafts go to the folder, so that a run that is cut off goes on where it
    stopped. A local model is asked for one sentence, as small models need it.
    """
    base = Recipe.concise if generator.name == "local" else Recipe
    recipe = base(style="given", interests=tuple(INTERESTS.values()))
    for entry in entries:
        file = Path(folder) / f"{entry.id}.json"
        if file.exists():
            pool = Pool.load(file)
        else:
            draft = Path(folder) / "drafts" / f"{entry.id}.jsonl"
            pool = generate_pool(entry.query, generator, embedder, recipe, draft=draft)
            pool.meta["users"] = {name: INTERESTS[name] for name in entry.users}
            pool.save(file)
        yield pool


def _entry(path: str | Path, index: int, item: Any, draw: np.random.Generator) -> DspQuestion:
    names = [*INTERESTS, NORMAL]
    try:
        query, responses = item["query"], {name: item["responses"][name] for name in names}
    except (TypeError, KeyError):
        query, responses = "", {}
    if not all(isinstance(text, str) for text in (query, *responses.values())) or not query.strip():
        raise FileFormatError(
            f"{path}: entry {index} is not a DSP question; expected a text under 'query' and texts "
            f"under 'responses' for {', '.join(names)}"
        )
    users = draw.choice(list(INTERESTS), _USERS, replace=False)
    return DspQuestion(f"dsp-{index}", query, responses, tuple(map(str, users)))
