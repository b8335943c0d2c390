"""Whether an idea suits the circumstances of a question: read off the question it calls to mind.

Asked whether a picnic suits a rainy Sunday, a small model says yes. But asked which question "Have
a picnic" is the answer to, and led as far as "How should I spend a", it goes on with "sunny"
rather than with "rainy". So the model turns the question round once, which shows the words that
matter, and then tells for each idea how much likelier these are than those of the opposite.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from useralign.errors import ModelAnswerError
from useralign.models.generators.base import TextRequest
from useralign.pooling import prompts
from useralign.pooling.desk import together
from useralign.pooling.parse import clean_answer
from useralign.pooling.plan import seed_of
from useralign.pooling.spending import OverBudgetError
from useralign.pooling.words import is_function_word, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from useralign.pooling.desk import Desk

MOST = 3
"""How many circumstances are looked at: each costs a call for every idea."""
_WORD = re.compile(r"[\w'’-]+")  # noqa: RUF001


class Circumstance(NamedTuple):
    """A word of the question, the one in its place in the opposite, and what comes before both."""

    before: str
    word: str
    other: str


class Circumstances:
    """Tells how well ideas suit a question.

    Parameters
    ----------
    question : str
    seed : int
        The recipe's.
    desk : Desk
        Whose writer must be one that `continues`.

    Attributes
    ----------
    known : sequence of Circumstance
        Empty until `learn`, and when the question has none.
    """

    def __init__(self, question: str, seed: int, desk: Desk) -> None:
        self.known: Sequence[Circumstance] = ()
        self._question = question
        self._seed = seed
        self._desk = desk

    @property
    def in_short(self) -> str:
        """What is known, in words such as `rainy, not sunny`."""
        return "; ".join(f"{one.word}, not {one.other}" for one in self.known)

    def named_in(self, text: str) -> bool:
        """Return whether a text speaks of all circumstances itself."""
        said = words(text)
        return all(word in said for one in self.known for word in words(one.word))

    async def learn(self) -> None:
        """Have the question turned round; without a usable reply nothing is known."""
        request = TextRequest(
            prompt=self._question,
            system=prompts.TURNING,
            examples=prompts.TURNED,
            temperature=0.0,
            max_tokens=20 + len(self._question) // 2,
            seed=seed_of(self._seed, "opposite"),
        )
        try:
            reply = await self._desk.text("ideas", "opposite", request)
        except (ModelAnswerError, OverBudgetError):
            return
        self.known = differing(self._question, clean_answer(reply.text))[:MOST]

    async def fit(self, idea: str) -> float | None:
        """Return the log-odds of the question's words, given the idea, against the opposite's.

        None when nothing is known of it.
        """
        if not self.known:
            return None
        odds = await together(*(self._odds(idea, one) for one in self.known))
        known = [value for value in odds if value is not None]
        return sum(known) if len(known) == len(odds) else None

    async def _odds(self, idea: str, one: Circumstance) -> float | None:
        request = TextRequest(
            prompt=f"{idea.rstrip('.')}.",
            system=prompts.GUESSING,
            examples=prompts.GUESSED,
            begin=one.before,
            weigh=(one.word, one.other),
            temperature=0.0,
            max_tokens=1,
            seed=seed_of(self._seed, "fit"),
        )
        try:
            reply = await self._desk.text("checks", "fit", request)
        except (ModelAnswerError, OverBudgetError):
            return None
        return _read(reply.text, one)


def differing(question: str, opposite: str) -> list[Circumstance]:
    """Return the words that say something and stand in each other's place in two questions.

    Words that are only in one of them have no counterpart, and do not count.
    """
    own, other = list(_WORD.finditer(question)), list(_WORD.finditer(opposite))
    matcher = difflib.SequenceMatcher(None, _folded(own), _folded(other), autojunk=False)
    found = []
    for kind, first, end, first_other, end_other in matcher.get_opcodes():
        here, there = _content(own[first:end]), _content(other[first_other:end_other])
        if kind == "replace" and here and there:
            before = question[: here[0].start()].rstrip()
            found.append(Circumstance(before, here[0].group(), there[0].group()))
    return [one for one in found if one.before]


def _folded(matches: Sequence[re.Match[str]]) -> list[str]:
    return [match.group().casefold() for match in matches]


def _content(matches: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    return [match for match in matches if not is_function_word(match.group())]


def _read(text: str, one: Circumstance) -> float | None:
    try:
        likely = json.loads(text)
        odds = float(likely[one.word]) - float(likely[one.other])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return odds if math.isfinite(odds) else None
