"""People played by a language model: what it would cost, and every pair judged once.

A method may ask for any pair, and Oracle for all, so each person judges each pair of a pool and the
baseline, in both orders: two calls per pair. The verdicts go to a file as they come in; a run that
is cut off, or ends at its limit on the cost, goes on where it stopped. Everything after that is
computed from the file, as often as wanted, without the model.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, BinaryIO

from useralign.domains.pools import VERDICTS, read_verdicts
from useralign.errors import OptionError
from useralign.files import append_lines, open_to_append
from useralign.lab.tables import Table
from useralign.lab.wording import words
from useralign.models import CachedGenerator, Usage
from useralign.models.providers import find_price
from useralign.pooling.client import Ledger, OverBudgetError
from useralign.users.judge import (
    REPLY_TOKENS,
    SYSTEM,
    comparison_prompt,
    judge_pair,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from useralign.domains import Domain, Persona, Question
    from useralign.models import Generator
    from useralign.pool import Candidate

_PICTURE = 2900  # tokens of a picture in low detail, for the dearest of the models that see
_TOO_BIASED = 0.5
_ROLE = "judge"  # under which calls are counted
_AT_ONCE = 8  # pairs under way; the generator limits how many calls reach the model


@dataclass(frozen=True, slots=True)
class Estimate:
    """What it would take to judge what is not judged yet, at four characters a token."""

    people: int
    pairs: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None  # in US dollars; None if no price is known

    def __str__(self) -> str:
        price = "a price that is not known" if self.cost is None else f"about {self.cost:.2f} USD"
        return (
            f"{self.people} people judge {self.pairs:,} pairs, twice each: {self.calls:,} calls, "
            f"about {self.input_tokens:,} tokens in and {self.output_tokens:,} out, {price}"
        )


@dataclass(frozen=True, slots=True)
class _Pair:
    question: Question
    persona: Persona
    first: Candidate
    second: Candidate


def prepare(domain: Domain, folder: Path, *, questions: int | None, embedder: str | None) -> Path:
    """Write a domain's pools and people into a folder of their own, and return it.

    The folder's name will be the domain's in results. `questions` is how many, from the first;
    features are made by `embedder`, or as they were when it is not given.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for question in domain.questions[:questions]:
        path = folder / f"{question.id}.json"
        if not path.exists():
            pool = question.pool("mixed", embedder)
            pool.meta["users"] = {p.name: p.description for p in question.personas}
            pool.save(path)
    return folder


def estimate(domain: Domain, model: str, *, sees: bool = False) -> Estimate:
    """Estimate what it takes to judge what is not judged yet.

    `model` is its own name, as prices have it; `sees` is whether it is shown pictures.
    """
    pairs = list(_pairs(domain))
    prompts = sum(_tokens(pair, sees) for pair in pairs)
    people = {(pair.question.id, pair.persona.name) for pair in pairs}
    price = find_price(model)
    counts = 2 * prompts, 2 * REPLY_TOKENS * len(pairs)
    cost = None if price is None else price.of(*counts)
    return Estimate(len(people), len(pairs), 2 * len(pairs), *counts, cost)


def judge(
    domain: Domain,
    generator: Generator,
    folder: Path,
    *,
    max_cost: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Judge every pair that is not judged yet, and write each verdict down at once.

    The domain is that of the folder. After `max_cost` US dollars no further pair is begun; that,
    and a model that fails, raises an error, and what was judged is kept.
    """
    with open_to_append(folder / VERDICTS) as file:
        asyncio.run(
            _judge(list(_pairs(domain)), CachedGenerator(generator), file, max_cost, progress)
        )


def spent(folder: Path) -> tuple[Usage, list[str]]:
    """Return what the verdicts of a folder cost, and those on each pair, as in "AB"."""
    entries = read_verdicts(folder / VERDICTS)
    usage = sum((Usage(**entry["usage"]) for entry in entries), Usage())
    return usage, [entry["verdicts"] for entry in entries]


def table(folder: Path, model: str, seen: bool) -> Table:
    """Build the table of what a judge cost, and how much it went by places."""
    usage, both = spent(folder)
    first, second = (both.count(sides) / max(len(both), 1) for sides in ("AA", "BB"))
    rows = [
        ("pairs judged, each in both orders", len(both)),
        ("calls that were not answered from the cache", usage.calls),
        ("tokens in", usage.input_tokens),
        ("tokens out", usage.output_tokens),
        ("US dollars", usage.cost),
        ("seconds in calls", usage.seconds),
        ("undecided: the same place won both times, %", 100.0 * (first + second)),
        ("lean towards what is shown first, %", 100.0 * (first - second)),
        ("pictures", "seen" if seen else "none, or described in words"),
    ]
    trouble = words("by_place") if first + second > _TOO_BIASED else ""
    return Table.worded("judge", rows, model=model, trouble=trouble)


async def _judge(
    pairs: list[_Pair],
    generator: Generator,
    file: BinaryIO,
    max_cost: float | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    gate, ledger = asyncio.Semaphore(_AT_ONCE), Ledger(max_cost, (_ROLE,))
    done, stopped = 0, False

    async def one(pair: _Pair) -> None:
        nonlocal done, stopped
        async with gate:
            if stopped:
                return
            try:
                async with ledger.call():
                    verdicts, usage = await judge_pair(
                        pair.persona.description,
                        pair.question.text,
                        generator,
                        pair.first,
                        pair.second,
                    )
                    ledger.pay(usage)
                    ledger.add(_ROLE, usage)
            except BaseException:
                stopped = True
                raise
            append_lines(file, _line(pair, verdicts, usage))
            done += 1
            if progress is not None:
                progress(done, len(pairs))

    try:
        # Those under way when one fails are paid for: they come to their end.
        outcomes = await asyncio.gather(*map(one, pairs), return_exceptions=True)
    finally:
        await generator.aclose()
    for outcome in outcomes:
        if isinstance(outcome, OverBudgetError):
            raise OptionError(
                f"{done:,} of {len(pairs):,} pairs are judged for {ledger.total.cost or 0.0:.2f} "
                f"USD, and the next might go beyond the limit of {max_cost:g}. They are kept: run "
                "again with a larger --max-cost to go on"
            )
        if isinstance(outcome, BaseException):
            raise outcome


def _line(pair: _Pair, verdicts: tuple[str, str], usage: Usage) -> str:
    entry = {
        "question": pair.question.id,
        "person": pair.persona.name,
        "first": pair.first.label,
        "second": pair.second.label,
        "verdicts": "".join(verdicts),
        "usage": asdict(usage),
    }
    return json.dumps(entry, ensure_ascii=False)


def _pairs(domain: Domain) -> Iterator[_Pair]:
    """Yield what is to be judged, the one whose text comes first in the alphabet first."""
    for question in domain.questions:
        everything = sorted((*question.candidates, question.baseline), key=lambda c: c.text)
        for persona in question.personas:
            for first, second in combinations(everything, 2):
                judged = (first.label, second.label) in persona.verdicts
                if first.text != second.text and not judged:
                    yield _Pair(question, persona, first, second)


def _tokens(pair: _Pair, sees: bool) -> int:
    texts = pair.first.text, pair.second.text
    prompt = comparison_prompt(pair.persona.description, pair.question.text, *texts)
    pictures = 2 * _PICTURE if sees and pair.first.image else 0
    return tokens(SYSTEM + prompt) + pictures
