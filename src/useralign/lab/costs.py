"""What a run costs: seconds per step beside the paper's, and dollars with the paper's models."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign import domains
from useralign.errors import UseralignError
from useralign.lab import paper
from useralign.lab.cell import embedder_of, pool_of
from useralign.lab.tables import Table, Value
from useralign.methods.base import DELTA, NORM_BOUND
from useralign.methods.paper import BACKENDS
from useralign.models import embedder_for
from useralign.models.prices import Prices
from useralign.users.judge import SYSTEM, comparison_prompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.domains import Domain, Question

LONGEST = 60  # steps of an interaction with our engine
REFERENCE_SECONDS = 15.0  # how long the reference may take a domain
QUESTIONS = 49  # the paper's cap for the table of costs
_CHARACTERS = 4  # a token of English text, roughly
_REPLY = 8  # tokens of {"better": "A"}
_REQUEST = 60  # tokens around a question that asks for one answer


@dataclass(frozen=True, slots=True)
class Clocked:
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
) -> Clocked:
    """Time the steps of one interaction with a consistent user, until nothing is left to ask.

    Parameters
    ----------
    features : ndarray, shape (K, d)
    backend : {"exact", "reference"}
    seconds : float
        Stop after this long.
    seed : int
        Of the user's taste and of the first incumbent.
    now : callable
        The clock.
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
    return Clocked(steps, *(float(part) / steps for part in spent))


def wall_clock(*, reference: bool | None = None, repeats: int = 5) -> Table:
    """Build the wall-clock table, measured now.

    Parameters
    ----------
    reference : bool, optional
        Whether to time the paper's solver too; if it is installed when not given.
    repeats : int
        Interactions with our engine.
    """
    if reference is None:
        reference = importlib.util.find_spec("cvxpy") is not None
    rows: list[tuple[Value, ...]] = []
    notes = []
    for theirs in paper.load().wall_clock:
        features, note = _features(theirs.domain, theirs.candidates)
        notes.append(note)
        name = f"{theirs.domain} (K = {theirs.candidates})"
        clock(features)  # first calls
        runs = [clock(features, seed=seed) for seed in range(repeats)]
        rows.append(_row(name, "useralign", _mean(runs)))
        if reference:
            slow = clock(features, "reference", seconds=REFERENCE_SECONDS)
            rows.append(_row(name, "paper's solver, here", slow))
        printed = (theirs.total, theirs.estimate, theirs.first, theirs.second)
        rows.append((name, "as printed in the paper", None, *_milliseconds(*printed)))
    missing = " The paper's solver is not installed: pip install 'useralign[reference]'."
    return Table(
        "wall-clock",
        "Wall-clock: milliseconds a step",
        ("Domain", "solver", "steps", "total", "estimate", "y1", "y2"),
        rows,
        f"{' '.join(notes)} Times depend on the machine." + ("" if reference else missing),
        digits=3,
    )


def _features(domain: str, count: int) -> tuple[NDArray[np.float64], str]:
    """Return the features of a domain's first pool; of random directions where it has none."""
    try:
        loaded = domains.load(domain)
        embedder = embedder_of(loaded)
        pool = pool_of(domain, "mixed", loaded.questions[0].id, embedder)
    except UseralignError:  # not written, or no embedder for it on this machine
        pass
    else:
        return pool.features, f"{domain}: its first question ({embedder})."
    rng = np.random.default_rng(0)
    features = rng.normal(size=(count, int("".join(c for c in domain if c.isdigit()))))
    features /= 2.0 * np.linalg.norm(features, axis=1, keepdims=True)
    return features, f"{domain}: random directions, as its features cannot be made here."


def _mean(runs: list[Clocked]) -> Clocked:
    steps = sum(run.steps for run in runs)
    parts = [
        sum(getattr(run, part) * run.steps for run in runs) / steps
        for part in ("estimate", "first", "second")
    ]
    return Clocked(round(steps / len(runs)), *parts)


def _row(name: str, solver: str, mean: Clocked) -> tuple[Value, ...]:
    parts = _milliseconds(mean.total, mean.estimate, mean.first, mean.second)
    return name, solver, mean.steps, *parts


def _milliseconds(*seconds: float) -> list[float]:
    return [1e3 * value for value in seconds]


def costs() -> Table:
    """Build the table of costs for one question and one user, beside the paper's."""
    rows: list[tuple[Value, ...]] = []
    for theirs in paper.load().costs:
        seconds = pool_usd = judge_usd = None
        if (domain := _text_domain(theirs.domain)) is not None:
            seconds = _embedding_seconds(domain)
            pool_usd = _pool_usd(domain.questions[0])
            judge_usd = _judge_usd(domain.questions[0])
        rows += [
            (theirs.domain, "generating the pool, USD", pool_usd, theirs.pool_usd),
            (theirs.domain, "embedding it, seconds", seconds, theirs.embedding_seconds),
            (theirs.domain, f"answers of {theirs.user}, USD", judge_usd, theirs.comparisons_usd),
        ]
    return Table(
        "costs",
        "Costs of one run: one question, one user, ε = 0",
        ("Domain", "what", "ours", "paper"),
        rows,
        "This reproduction calls no model and costs nothing; the dollars are an estimate of what "
        "our texts and prompts would cost with the paper's models, at the prices that come with "
        f"the package and four characters a token, for {QUESTIONS} questions. The seconds were "
        "measured. Pictures are drawn by our own code and have no price.",
        digits=4,
    )


def _text_domain(name: str) -> Domain | None:
    """Return a domain of texts; None for one of pictures, or one that is not there."""
    try:
        domain = domains.load(name)
    except UseralignError:
        return None
    return domain if domain.kind == "text" else None


def _embedding_seconds(domain: Domain) -> float:
    embedder = embedder_for(embedder_of(domain))
    texts = [candidate.text for candidate in domain.questions[0].select()]
    embedder.embed_texts(texts[:1])  # loads it
    began = time.perf_counter()
    embedder.embed_texts(texts)
    return time.perf_counter() - began


def _pool_usd(question: Question) -> float | None:
    price = Prices().find("gpt-4o")
    if price is None:
        return None
    texts = [candidate.text for candidate in question.select()]
    request = len(texts) * (_REQUEST + _tokens(question.text))
    return price.of(request, sum(map(_tokens, texts)))


def _judge_usd(question: Question) -> float | None:
    price = Prices().find("gpt-4o-mini")
    if price is None:
        return None
    first, second = (candidate.text for candidate in question.select()[:2])
    prompt = comparison_prompt(question.personas[0].description, question.text, first, second)
    return QUESTIONS * price.of(_tokens(SYSTEM + prompt), _REPLY)


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS)
