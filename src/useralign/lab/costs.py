"""What a run costs: seconds per step beside the paper's, and dollars with the paper's models."""

from __future__ import annotations

import importlib.util
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from useralign import domains, registry
from useralign.lab import paper
from useralign.lab.cell import embedder_of, pool_of
from useralign.lab.tables import Table, Value
from useralign.lab.wording import words
from useralign.methods.base import DELTA, NORM_BOUND
from useralign.methods.paper import BACKENDS
from useralign.models import default_embedder
from useralign.models.providers import find_price
from useralign.users.judge import REPLY_TOKENS, SYSTEM, comparison_prompt, tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.domains import Question
    from useralign.models import Embedder

LONGEST = 60  # steps of an interaction with our engine
REFERENCE_SECONDS = 15.0  # how long the reference may take a domain
QUESTIONS = 49  # the paper's cap for the table of costs
_JUDGE = "gpt-4o-mini"
_DRAWN = 272  # tokens of a picture that a model makes, in low quality
_SEEN = 2833  # tokens of a picture that it looks at, in low detail
_REQUEST = 60  # tokens around a question that asks for one answer


class StepSeconds(NamedTuple):
    """Mean seconds per step: the estimate, the first response and the second."""

    steps: int
    estimate: float
    first: float
    second: float

    @property
    def total(self) -> float:
        """The whole step."""
        return self.estimate + self.first + self.second


def clock(
    features: NDArray[np.float64],
    backend: str = "exact",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    now: Callable[[], float] = time.perf_counter,
) -> StepSeconds:
    """Time the steps of one interaction with a consistent user, until nothing is left to ask.

    The features have shape (K, d). It ends after so many seconds at the latest; `seed` is that of
    the user's taste and of the first incumbent.
    """
    rng = np.random.default_rng([seed, *features.shape])
    taste = features @ rng.normal(size=features.shape[1])
    engine = BACKENDS[backend](features, NORM_BOUND, DELTA, True)
    incumbent = int(rng.integers(len(features)))
    spent = np.zeros(3)
    began, steps = now(), 0
    while steps < LONGEST and now() - began < seconds:
        times = [now()]
        theta = engine.estimate()
        times.append(now())
        if steps:
            incumbent = int((features @ theta).argmax())
        times.append(now())
        challenger, _ = engine.challenge(incumbent)
        times.append(now())
        spent += np.diff(times)
        steps += 1
        if challenger is None:
            break
        pair = (incumbent, challenger)
        engine.add(*(pair if taste[incumbent] >= taste[challenger] else pair[::-1]))
    return StepSeconds(steps, *(float(part) / steps for part in spent))


def wall_clock(*, reference: bool | None = None, repeats: int = 5) -> Table:
    """Build the wall-clock table, measured now.

    The paper's solver is timed too if it is installed, or as `reference` says; `repeats` is how
    many interactions our engine has.
    """
    if reference is None:
        reference = importlib.util.find_spec("cvxpy") is not None
    rows: list[tuple[Value, ...]] = []
    notes = []
    for theirs in paper.load().wall_clock:
        features, note = _features(theirs.domain)
        notes.append(note)
        name = f"{theirs.domain} (K = {theirs.candidates})"
        clock(features)  # first calls
        runs = [clock(features, seed=seed) for seed in range(repeats)]
        rows.append(_row(name, "useralign", _mean(runs)))
        if reference:
            slow = clock(features, "reference", seconds=REFERENCE_SECONDS)
            rows.append(_row(name, "paper's solver, here", slow))
        rows.append(_row(name, "as printed in the paper", theirs))
    missing = "" if reference else f" {words('missing_solver')}"
    return Table.worded("wall-clock", rows, sources=" ".join(notes), missing=missing)


def _features(domain: str) -> tuple[NDArray[np.float64], str]:
    """Return the features of a domain's first pool, and where they are from."""
    loaded = domains.load(domain)
    embedder = embedder_of(loaded)
    pool = pool_of(domain, "mixed", loaded.questions[0].id, embedder)
    return pool.features, f"{domain}: its first question ({embedder})."


def _mean(runs: list[StepSeconds]) -> StepSeconds:
    steps = [run.steps for run in runs]
    parts = np.average([run[1:] for run in runs], axis=0, weights=steps)
    return StepSeconds(round(sum(steps) / len(runs)), *parts.tolist())


def _row(name: str, solver: str, mean: StepSeconds | paper.WallClock) -> tuple[Value, ...]:
    steps = mean.steps if isinstance(mean, StepSeconds) else None
    seconds = mean.total, mean.estimate, mean.first, mean.second
    return name, solver, steps, *(1e3 * value for value in seconds)


def costs() -> Table:
    """Build the table of costs for one question and one user, beside the paper's."""
    rows: list[tuple[Value, ...]] = []
    for theirs in paper.load().costs:
        question = domains.load(theirs.domain).questions[0]
        pool_usd, judge_usd = _dollars(question)
        seconds = _embedding_seconds(question)
        rows += [
            (theirs.domain, "generating the pool, USD", pool_usd, theirs.pool_usd),
            (theirs.domain, "embedding it, seconds", seconds, theirs.embedding_seconds),
            (theirs.domain, f"answers of {theirs.user}, USD", judge_usd, theirs.comparisons_usd),
        ]
    return Table.worded("costs", rows, questions=QUESTIONS)


def _dollars(question: Question) -> tuple[float | None, float | None]:
    """Return what the pool, and a user who compares it, would cost with the paper's models."""
    pictures, candidates = question.kind == "image", question.select()
    request = len(candidates) * (_REQUEST + tokens(question.text))
    reply = _DRAWN * len(candidates) if pictures else sum(tokens(c.text) for c in candidates)
    maker, judge = find_price("gpt-image-1" if pictures else "gpt-4o"), find_price(_JUDGE)
    texts = ("", "") if pictures else (candidates[0].text, candidates[1].text)
    prompt = comparison_prompt(question.personas[0].description, question.text, *texts)
    prompt_tokens = tokens(SYSTEM + prompt) + (2 * _SEEN if pictures else 0)
    calls = 2 * QUESTIONS if pictures else QUESTIONS
    return (
        None if maker is None else maker.of(request, reply),
        None if judge is None else calls * judge.of(prompt_tokens, REPLY_TOKENS),
    )


def _embedding_seconds(question: Question) -> float | None:
    """Return how long a pool takes to embed, pictures by eight of them; None if it cannot be."""
    embedder: Embedder = registry.load("embedders", default_embedder(question.kind))()
    if embedder.trouble() is not None:
        return None
    if question.kind == "image":
        paths = [str(candidate.image) for candidate in question.select()]
        began = time.perf_counter()
        embedder.embed_images(paths[:8])
        return (time.perf_counter() - began) * len(paths) / 8
    texts = [candidate.text for candidate in question.select()]
    embedder.embed_texts(texts[:1])  # loads it
    began = time.perf_counter()
    embedder.embed_texts(texts)
    return time.perf_counter() - began
