"""A persona played by a language model, as the paper's simulated users are (section 5).

A description, a question and the answers are data, not instructions of ours: in the prompt they
stand between triple quotes, which they cannot close.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign.checks import whole
from useralign.errors import ModelAnswerError, ModelUnavailableError, OptionError
from useralign.models import TextRequest, Usage
from useralign.users.base import User, text_of
from useralign.users.simulated import RankedPersona

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from useralign.answers import Comparison
    from useralign.domains.questions import Question
    from useralign.models import Generator
    from useralign.pool import Candidate, Pool


_PROMPTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SYSTEM: str = _PROMPTS["system"]
REMINDER: str = _PROMPTS["reminder"]
REPLY_TOKENS = 8  # of {"better": "A"}
_MOST_OBJECTS = 20  # JSON objects of a reply that are looked at
_text = partial(text_of, purpose="for the judge to read")


async def judge_pair(
    description: str,
    question: str,
    generator: Generator,
    first: Candidate,
    second: Candidate,
    *,
    tries: int = 3,
) -> tuple[tuple[str, str], Usage]:
    """Let a model judge a pair in both orders, at temperature 0.

    A model that sees is shown pictures; any other reads what their texts say about them. Returns
    which place was better with `first` shown as A, and with `second` shown as A, and what the calls
    used. Raises ModelAnswerError if a reply could not be read in `tries` tries.
    """
    orders = (
        _verdict(description, question, generator, pair, tries)
        for pair in ((first, second), (second, first))
    )
    # Both come to their end before either's trouble is reported: each may be paid for.
    replies = await asyncio.gather(*orders, return_exceptions=True)
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
    (straight, usage), (turned, more) = replies  # type: ignore[misc]
    return (straight, turned), usage + more


async def _verdict(
    description: str,
    question: str,
    generator: Generator,
    pair: tuple[Candidate, Candidate],
    tries: int,
) -> tuple[str, Usage]:
    images = tuple(candidate.image for candidate in pair) if generator.sees else ()
    pictures = bool(images) and all(images)
    answers = [_text(candidate) for candidate in pair]
    if pictures:
        answers = ["the first of the two pictures below", "the second of the two pictures below"]
    prompt = comparison_prompt(description, question, *answers)
    usage, problem = Usage(), None
    for attempt in range(tries):
        request = TextRequest(
            prompt=f"{prompt}\n\n{REMINDER}" if attempt else prompt,
            system=SYSTEM,
            temperature=0.0,
            max_tokens=64,
            seed=attempt,  # another one is another entry in the cache
            schema=_PROMPTS["schema"],
            images=tuple(map(str, images)) if pictures else (),
        )
        try:
            reply = await generator.text(request)
            usage += reply.usage
            return read_verdict(reply.text), usage
        except ModelAnswerError as error:
            problem = error
    raise ModelAnswerError(
        f"{generator.model} gave no verdict in {tries} tries: {problem}. Use a larger model"
    ) from problem


class JudgePersona(User):
    """A persona as a language model played them: it has judged each pair beforehand.

    For two texts, in alphabetical order, the verdicts are which place was better with the first
    shown as A, and with the second shown as A. When they agree, that is the answer; when they do
    not, the pair is a tie: `prefers` is 0.5, and `choose` settles it with a generator that depends
    on the seed and the pair alone, so asking again gives the same answer.
    """

    def __init__(
        self, verdicts: Mapping[tuple[str, str], tuple[str, str]], *, seed: int = 0
    ) -> None:
        self.verdicts = dict(verdicts)
        self.seed = whole("seed", seed, least=0)

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return 1 or 0 when both orders agree, and 0.5 when they do not."""
        low, high = sorted((_text(first), _text(second)))
        if low == high:
            return 0.5
        if (low, high) not in self.verdicts:
            raise ModelUnavailableError("this pair was not judged; judge all of them first")
        straight, turned = self.verdicts[low, high]
        if straight == turned:  # the same place both times: the place decided, not the answer
            return 0.5
        return float((straight == "A") == (first.text == low))

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison."""
        share = self.prefers(pair.first, pair.second)
        if share == 0.5:
            share = self._settle(pair.first, pair.second)
        return pair.first if share > 0.5 else pair.second

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:
        """Return the question's personas: a model that is told who they are plays them."""
        return [f"judged-{name}" for name in RankedPersona.roster(question, count)]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Build the persona from what a model has judged; ties are settled by `seed`.

        Raises OptionError if nothing was judged: `useralign reproduce --users judge` does it.
        """
        persona = question.persona(name.removeprefix("judged-"))
        if not persona.verdicts:
            raise OptionError(
                f"no model has judged for {persona.name} of {question.id} yet; run `useralign "
                'reproduce tables --users judge`, or use kind = "persona"'
            )
        texts = {c.label: _text(c) for c in (*question.candidates, question.baseline)}
        verdicts = {
            (texts[first], texts[second]): both
            for (first, second), both in persona.verdicts.items()
        }
        return cls(verdicts, seed=seed)

    def _settle(self, first: Candidate, second: Candidate) -> float:
        """Settle a tie: the same way for the same pair, in either order."""
        low, high = sorted((first.text, second.text))
        digest = hashlib.sha256(f"{len(low)} {low}{high}".encode()).digest()
        draw = np.random.default_rng([self.seed, int.from_bytes(digest[:8], "big")]).random()
        return float((draw < 0.5) == (first.text == low))


def comparison_prompt(description: str, question: str, first: str, second: str) -> str:
    """Return the prompt that shows `first` as A and `second` as B."""
    parts = {"The person": description, "They asked": question, "A": first, "B": second}
    quoted = "\n\n".join(f"{title}:\n{_quoted(text)}" for title, text in parts.items())
    return f"{quoted}\n\nWhich would this person rather have, A or B?"


def tokens(text: str) -> int:
    """Estimate how many tokens a text has: a token of English is about four characters."""
    return -(-len(text) // 4)


def read_verdict(reply: str) -> str:
    """Return which answer a reply calls better, `"A"` or `"B"`.

    The first JSON object of the right form counts, so fences and words around it do no harm.

    Raises ModelAnswerError if there is none.
    """
    decoder = json.JSONDecoder()
    start = -1
    for _ in range(_MOST_OBJECTS):
        start = reply.find("{", start + 1)
        if start < 0:
            break
        with contextlib.suppress(ValueError, RecursionError):
            better = decoder.raw_decode(reply, start)[0].get("better")
            if better in ("A", "B"):
                return str(better)
    words = " ".join(reply.split())[:60]
    raise ModelAnswerError(f'expected {{"better": "A"}} or {{"better": "B"}}, got {words!r}')


def _quoted(text: str) -> str:
    inner = text.strip()
    while '"""' in inner:
        inner = inner.replace('"""', "'''")
    return f'"""\n{inner}\n"""'
