"""Ideas before answers: the care that small models need.

Asked the same question again and again, a small model gives the same few answers, and some that
forget half of the question. Asked for lists, it names many different ones in a few words each. So
with `Recipe.care` the model lists ideas first. Those that repeat another are dropped while they
are still cheap, and so is the half that suits the question's circumstances least. Then one answer
is written for each of the others, always for the idea that is least like those before it.

Whether an idea suits the circumstances is read off the question it calls to mind. Asked whether a
picnic suits a rainy Sunday, a small model says yes. But asked which question "Have a picnic" is the
answer to, and led as far as "How should I spend a", it goes on with "sunny" rather than with
"rainy". So the model turns the question round once, which shows the words that matter, and each
idea is weighed by how much likelier these are than those of the opposite.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.errors import ModelAnswerError
from useralign.pooling import prompts
from useralign.pooling.client import OverBudgetError, together
from useralign.pooling.parse import (
    clean_answer,
    content_words,
    is_function_word,
    parse_lines,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.models import Text
    from useralign.pooling.client import CandidateMaker
    from useralign.pooling.recipe import CandidateSpec

# Ideas in one list, as in the example: in longer ones a small model begins to turn in circles.
LENGTH = 8
OWN_LENGTH = 2  # ideas in the list of one interest
# From which share of the words that say what the shorter one is about two ideas are the same.
MAX_SHARED = 0.7
MAX_CIRCUMSTANCES = 3  # that are looked at: each costs a call for every idea
MAX_WORDS = 150  # of a question that are compared with those of its opposite
_SPARE = 2
_TRIES = 2
_UNFIT = 1 / 2
_OUT_OF_PLACE = 1 / 4
_ROUNDS = 3
_TOKENS = 12  # of one idea, at most
_TINY = 1e-12
_FILLERS = frozenset(["favorite", "favourite", "good", "local", "nearby", "nice", "through"])
# The answer begins with its idea, and "In a hotel, because" makes no sentence.
_PREPOSITION = re.compile(r"(?:in|on|at|to|for|with|from|by|of)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’-]+")  # noqa: RUF001


class Circumstance(NamedTuple):
    """A word of the question, the one in its place in the opposite, and what comes before both."""

    before: str
    word: str
    other: str


async def _reply(maker: CandidateMaker, role: str, name: str, **settings: Any) -> Text | None:
    """Ask a model; None without an answer or the money for one: an idea less does no harm."""
    try:
        return await maker.ask_text(role, name, **settings)
    except (ModelAnswerError, OverBudgetError):
        return None


@dataclass(eq=False)
class Circumstances:
    """Weighs how well ideas suit a question, by a generator that `continues`.

    `items` is empty until `detect`, and when the question has no circumstances.
    """

    maker: CandidateMaker
    items: Sequence[Circumstance] = ()

    @property
    def in_short(self) -> str:
        """The circumstances in words such as `rainy, not sunny`."""
        return "; ".join(f"{one.word}, not {one.other}" for one in self.items)

    def named_in(self, text: str) -> bool:
        """Return whether a text speaks of all circumstances itself."""
        present = words(text)
        return all(word in present for one in self.items for word in words(one.word))

    async def detect(self) -> None:
        """Ask for the opposite question; without a usable reply there are no circumstances."""
        question = self.maker.question
        reply = await _reply(
            self.maker,
            "ideas",
            "opposite",
            prompt=question,
            system=prompts.TURNING,
            examples=prompts.TURNED,
            temperature=0.0,
            max_tokens=20 + len(question) // 2,
        )
        if reply is not None:
            self.items = differing(question, clean_answer(reply.text))[:MAX_CIRCUMSTANCES]

    async def fit(self, idea: str) -> float | None:
        """Return the log-odds of the question's words, given the idea, against the opposite's.

        None when that is unknown.
        """
        if not self.items:
            return None
        odds = await together(*(self._odds(idea, one) for one in self.items))
        values = [value for value in odds if value is not None]
        return sum(values) if len(values) == len(odds) else None

    async def _odds(self, idea: str, one: Circumstance) -> float | None:
        reply = await _reply(
            self.maker,
            "checks",
            "fit",
            prompt=f"{idea.rstrip('.')}.",
            system=prompts.GUESSING,
            examples=prompts.GUESSED,
            begin=one.before,
            weigh=(one.word, one.other),
            temperature=0.0,
            max_tokens=1,
        )
        try:
            likely = json.loads(reply.text if reply else "")
            odds = float(likely[one.word]) - float(likely[one.other])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return odds if math.isfinite(odds) else None


def differing(question: str, opposite: str) -> list[Circumstance]:
    """Return the words that say something and stand in each other's place in two questions.

    Words that are only in one of them have no counterpart, and do not count. Of long questions the
    beginning is looked at: comparing takes time in the cube of their length at worst.
    """
    own, other = (list(islice(_WORD.finditer(t), MAX_WORDS)) for t in (question, opposite))
    first, second = ([match.group().casefold() for match in matches] for matches in (own, other))
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    circumstances = []
    for kind, i, j, k, m in matcher.get_opcodes():
        word, counterpart = _first_content(own[i:j]), _first_content(other[k:m])
        if kind == "replace" and word and counterpart:
            before = question[: word.start()].rstrip()
            circumstances.append(Circumstance(before, word.group(), counterpart.group()))
    return [one for one in circumstances if one.before]


def _first_content(matches: Sequence[re.Match[str]]) -> re.Match[str] | None:
    return next((match for match in matches if not is_function_word(match.group())), None)


@dataclass(eq=False)
class Idea:
    """A short answer, how well it suits the question (None: unknown), and its features."""

    text: str
    fit: float | None
    row: NDArray[np.float64] | None
    used: bool = False
    tries: int = 0


class Ideas:
    """Assigns an idea to each candidate that is to be asked for, and reports how many there are."""

    def __init__(self, maker: CandidateMaker) -> None:
        self._maker = maker
        self._circumstances = Circumstances(maker)
        self._borrowed = prompts.TELLTALE - content_words(self._maker.question)
        self._dropped: Counter[str] = Counter()
        self._topics: list[frozenset[str]] = []
        self._ideas: list[Idea] = []
        self._ideas_for: dict[str, list[Idea]] = {}
        self._lists = self._rounds = self._listed = self._weighed = 0

    @property
    def rejected(self) -> Counter[str]:
        """How many ideas came to nothing, by reason."""
        left = [idea for idea in self._ideas if not idea.used]
        unused = sum(self._is_fit(idea.fit) for idea in left)
        return self._dropped + Counter({"unused idea": unused, "less fitting": len(left) - unused})

    async def assign(self, specs: Sequence[CandidateSpec]) -> list[CandidateSpec]:
        """Return the specs with an idea each, as far as there are ideas.

        An interest gets one made for it, if that fits; else any other.
        """
        without = [spec for spec in specs if spec.source != "given"]
        interests = dict.fromkeys(spec.interest for spec in without if spec.interest)
        await self._list_for([name for name in interests if name not in self._ideas_for])
        await self._stock(len(without))
        return [spec if spec.source == "given" else self._with_idea(spec) for spec in specs]

    async def suits(self, answer: str, idea: str) -> bool:
        """Return whether an answer suits the question better than the worst ideas did.

        A good idea can get a reason that is out of place: a museum, to enjoy the sunshine. The idea
        that it was written from may then be tried once more.
        """
        if self._circumstances.named_in(answer):
            return True
        if self._is_fit(await self._circumstances.fit(answer), _OUT_OF_PLACE):
            return True
        for one in self._ideas:
            if one.text == idea and one.tries < _TRIES:
                one.used = False
        return False

    def _with_idea(self, spec: CandidateSpec) -> CandidateSpec:
        own = self._left(self._ideas_for.get(spec.interest or "", []))
        # What was made for somebody else is taken only when nothing else is left.
        others = [idea for ideas in self._ideas_for.values() for idea in ideas]
        free = self._left([idea for idea in self._ideas if idea not in others])
        for options in (own, free, self._left(others)):
            if options:
                idea = self._least_alike(options)
                idea.used = True
                idea.tries += 1
                return spec._replace(idea=idea.text)
        return spec

    def _left(self, ideas: Sequence[Idea]) -> list[Idea]:
        return [idea for idea in ideas if not idea.used and self._is_fit(idea.fit)]

    def _is_fit(self, fit: float | None, unfit: float = _UNFIT) -> bool:
        """Return whether it is not in the share of all ideas that suits the question least."""
        fits = [idea.fit for idea in self._ideas if idea.fit is not None]
        if fit is None or not fits:
            return True
        return fit >= sorted(fits)[math.floor(unfit * len(fits))]

    def _least_alike(self, options: Sequence[Idea]) -> Idea:
        """Return the idea farthest from its nearest neighbour among those that are used."""
        best = sorted(options, key=lambda idea: -(idea.fit or 0.0))
        used = [idea.row for idea in self._ideas if idea.used and idea.row is not None]
        if not used or any(idea.row is None for idea in best):
            return best[0]
        rows = np.array([idea.row for idea in best])
        nearest = (rows @ np.array(used).T).max(axis=1)
        return best[int(nearest.argmin())]

    async def _stock(self, target: int) -> None:
        """Ask for lists until so many ideas fit, or a list brings none that is new."""
        while (missing := target - len(self._left(self._ideas))) > 0 and self._rounds < _ROUNDS:
            self._rounds += 1
            if self._rounds == 1 and self._maker.client.generator.continues:
                await self._circumstances.detect()
            spare = _SPARE / (1 - _UNFIT) if self._circumstances.items else _SPARE
            count = math.ceil(spare * missing / LENGTH)
            lists = await together(*(self._list(LENGTH) for _ in range(count)))
            # Another seed brings something new; a list of what to leave out brings just that.
            if not await self._add([text for texts in lists for text in texts]):
                self._rounds = _ROUNDS

    async def _list_for(self, interests: Sequence[str]) -> None:
        """Ask for ideas for each interest."""
        lists = await together(*(self._list(OWN_LENGTH, interest) for interest in interests))
        new = {idea.text: idea for idea in await self._add([t for texts in lists for t in texts])}
        for interest, texts in zip(interests, lists, strict=True):
            self._ideas_for[interest] = [new[t] for t in dict.fromkeys(texts) if t in new]

    async def _list(self, length: int, interest: str | None = None) -> list[str]:
        self._lists += 1
        reply = await _reply(
            self._maker,
            "ideas",
            f"ideas{self._lists}",
            prompt=prompts.ideas(self._maker.question, interest, self._circumstances.in_short),
            system=prompts.LISTING,
            examples=tuple((prompts.ideas(question), ideas) for question, ideas in prompts.LISTED),
            temperature=self._maker.recipe.temperature,
            max_tokens=_TOKENS * length,
            min_p=self._maker.recipe.min_p,
        )
        if reply is None:
            return []
        texts = parse_lines(reply.text, cut_off=reply.finish == "length")[:length]
        self._listed += len(texts)
        self._maker.report("ideas", note=f"{self._listed} ideas listed")
        return texts

    async def _add(self, texts: Sequence[str]) -> list[Idea]:
        """Weigh those that repeat no earlier one; return them."""
        new = [text for text in texts if self._is_new(text)]
        if not new:
            return []
        fits = await together(*map(self._fit, new))
        rows = await asyncio.to_thread(self._rows, new)
        ideas = [Idea(*facts) for facts in zip(new, fits, rows, strict=True)]
        self._ideas += ideas
        return ideas

    async def _fit(self, text: str) -> float | None:
        fit = await self._circumstances.fit(text)
        self._weighed += 1
        self._maker.report("ideas", note=f"{self._weighed} of {len(self._topics)} ideas weighed")
        return fit

    def _is_new(self, text: str) -> bool:
        topic, problem = self._topic(text), ""
        if _PREPOSITION.match(text):
            problem = "idea that begins no sentence"
        elif content_words(text) & self._borrowed:
            problem = "borrowed idea"
        elif any(_shared(topic, other) >= MAX_SHARED for other in self._topics):
            problem = "repeated idea"
        if problem:
            self._dropped[problem] += 1
        else:
            self._topics.append(topic)
        return not problem

    def _topic(self, idea: str) -> frozenset[str]:
        """Return what an idea is about: neither its verb, which comes first, nor the question."""
        _, *others = words(idea) or [""]
        own = content_words(" ".join(others)) - content_words(self._maker.question) - _FILLERS
        return own or content_words(idea)

    def _rows(self, texts: Sequence[str]) -> list[NDArray[np.float64] | None]:
        """Return the features of ideas, of length one; None where they do not compare ideas."""
        if not self._maker.features.comparable:
            return [None] * len(texts)
        rows = self._maker.features.of_texts(texts)
        return list(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY))


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    fewer = min(len(first), len(second))
    return len(first & second) / fewer if fewer else 0.0
