"""Ideas before answers: the care that small models need.

Asked the same question again and again, a small model gives the same few answers, and some that
forget half of the question. Asked for a list, it names many different ones in a few words each.
So with `Recipe.care` the model first lists ideas. Those that repeat another, and those that it
calls bad itself, are dropped while they are still cheap; then one answer is written for each of
the others, the most fitting first. These are the ones whose features lie nearer to the question
than to its opposite, which the model is asked for: a picnic suits a sunny Sunday better than a
rainy one. That costs one call, where a small model asked about each idea does not see it. The
last third of each list by this order is dropped, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter, deque
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import ModelAnswerError
from useralign.generators.base import TextRequest
from useralign.pooling import prompts
from useralign.pooling.desk import together
from useralign.pooling.duplicates import FEW_AXES
from useralign.pooling.parse import clean_answer, parse_interests
from useralign.pooling.plan import seed_of
from useralign.pooling.spending import OverBudgetError
from useralign.pooling.words import content_words, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from useralign.pooling.desk import Desk
    from useralign.pooling.features import Features
    from useralign.pooling.plan import Ask
    from useralign.pooling.recipe import Recipe

LENGTH = 12
"""Ideas in one list: in longer ones a small model begins to turn in circles."""
MAX_SHARED = 0.7
"""From which share of the words that say what the shorter one is about two ideas are the same."""
SAME_QUESTION = 0.9
"""From which cosine on an opposite is a mere negation ("dislikes gardening"): its features are
those of the question, and what is nearer to which of them says nothing."""
_SPARE = 2.0
_KEPT = 2 / 3
_ROUNDS = 3
_TINY = 1e-12


class Ideas:
    """Finds an idea for each candidate that is to be asked for.

    Parameters
    ----------
    question : str
    recipe : Recipe
    desk : Desk
    features : Features
    tell : callable
        Called with the kind of an event, and a note: lists have come, or an idea is off topic.

    Attributes
    ----------
    opposite : str
        The question turned round; empty as long as there is none.
    """

    def __init__(
        self,
        question: str,
        recipe: Recipe,
        desk: Desk,
        features: Features,
        tell: Callable[[str, str], None],
    ) -> None:
        self.opposite = ""
        self._dropped: Counter[str] = Counter()
        self._question = question
        self._recipe = recipe
        self._desk = desk
        self._features = features
        self._tell = tell
        self._known: list[frozenset[str]] = []
        self._fresh: deque[str] = deque()
        self._ready: deque[str] = deque()
        self._served: set[str | None] = set()
        self._lists = 0
        self._rounds = 0

    @property
    def rejected(self) -> Counter[str]:
        """How many ideas came to nothing, by reason."""
        left = len(self._ready) + len(self._fresh)
        return self._dropped + Counter({"unused idea": left})

    async def assign(self, asks: Sequence[Ask]) -> list[Ask]:
        """Return the asks with an idea each, as far as there are ideas.

        An interest gets one made for it the first time, if that is good; else any other.

        Parameters
        ----------
        asks : sequence of Ask
        """
        people = [ask.interest for ask in asks if ask.source == "interest" and ask.interest]
        made = await self._for_people([who for who in people if who not in self._served])
        wanting = [ask for ask in asks if ask.source != "given" and ask.interest not in made]
        await self._stock(len(wanting))
        return [ask._replace(idea=self._next(ask, made)) for ask in asks]

    def _next(self, ask: Ask, made: dict[str, str]) -> str | None:
        if ask.source == "given":
            return None
        if ask.interest in made:
            return made.pop(ask.interest)
        return self._ready.popleft() if self._ready else None

    async def _stock(self, wanted: int) -> None:
        """Have so many ideas ready that are checked, if the model has them."""
        while (missing := wanted - len(self._ready)) > 0:
            if not self._fresh:
                if self._rounds >= _ROUNDS:
                    return
                await self._list_more(missing)
                continue
            batch = [self._fresh.popleft() for _ in range(min(missing, len(self._fresh)))]
            self._ready += await self._fitting(batch)

    async def _list_more(self, missing: int) -> None:
        """Ask for lists side by side; after lists without anything new, no more.

        What is known is not told: named, it comes back, where another seed brings something new.
        """
        self._rounds += 1
        prompt = prompts.ideas(self._question, LENGTH)
        count = math.ceil(_SPARE * missing / LENGTH)
        lists = await together(
            self._turn_round(), *(self._ask(prompt, LENGTH) for _ in range(count))
        )
        fresh = self._new(idea for items in lists for idea in items)
        self._fresh += await self._best(fresh)
        if not fresh:
            self._rounds = _ROUNDS
        self._tell("ideas", f"{len(self._fresh)} ideas to write from")

    async def _turn_round(self) -> list[str]:
        """Ask for the opposite of the question, once; return no ideas."""
        request = TextRequest(
            prompt=prompts.opposite(self._question),
            system=prompts.TURNING,
            temperature=0.0,
            max_tokens=20 + len(self._question) // 2,
            seed=seed_of(self._recipe.seed, "opposite"),
        )
        with contextlib.suppress(ModelAnswerError, OverBudgetError):
            if self._rounds == 1:
                reply = await self._desk.text("ideas", "opposite", request)
                self.opposite = clean_answer(reply.text)
        return []

    async def _best(self, ideas: Sequence[str]) -> list[str]:
        """Return the most fitting ideas, best first; the last third of them is dropped."""
        ranked = await asyncio.to_thread(self._ranked, ideas)
        if ranked is None:
            return list(ideas)
        keep = math.ceil(_KEPT * len(ranked))
        self._dropped["less fitting"] += len(ranked) - keep
        return ranked[:keep]

    def _ranked(self, ideas: Sequence[str]) -> list[str] | None:
        """Sort ideas by how much nearer they are to the question than to its opposite.

        None when the features cannot tell.
        """
        if not self.opposite or not ideas or not self._features.tell_alike:
            return None
        rows = self._features.of_texts([self._question, self.opposite, *ideas])
        if rows.shape[1] < FEW_AXES:
            return None
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY)
        if rows[0] @ rows[1] >= SAME_QUESTION:
            return None
        scores = rows[2:] @ (rows[0] - rows[1])
        return [ideas[place] for place in np.argsort(-scores, kind="stable")]

    async def _for_people(self, people: Sequence[str]) -> dict[str, str]:
        """Ask for one idea for each interest; those without a new one that fits have none."""
        people = list(dict.fromkeys(people))
        self._served.update(people)
        if not people:
            return {}
        items = await self._ask(prompts.ideas_for(self._question, people), len(people))
        if len(items) != len(people):
            return {}  # It cannot be told which one is for whom.
        owners = dict(zip(items, people, strict=True))
        fitting = await self._fitting(await self._best(self._new(items)))
        return {owners[idea]: idea for idea in fitting}

    async def _ask(self, prompt: str, count: int) -> list[str]:
        self._lists += 1
        name = f"ideas{self._lists}"
        request = TextRequest(
            prompt=prompt,
            system=prompts.LISTING,
            temperature=self._recipe.temperature,
            max_tokens=40 + 16 * count,
            seed=seed_of(self._recipe.seed, name),
            min_p=self._recipe.min_p,
            schema=prompts.ideas_schema(count),
        )
        try:
            reply = await self._desk.text("ideas", name, request)
            return parse_interests(reply.text)[:count]
        except (ModelAnswerError, OverBudgetError):
            return []

    def _new(self, ideas: Iterable[str]) -> list[str]:
        """Return those that repeat no earlier one, and know them from now on."""
        found = []
        for idea in ideas:
            own = self._topic(idea)
            if any(_shared(own, other) >= MAX_SHARED for other in self._known):
                self._dropped["repeated idea"] += 1
            else:
                self._known.append(own)
                found.append(idea)
        return found

    def _topic(self, idea: str) -> frozenset[str]:
        """Return what an idea is about: neither its verb, which comes first, nor the question."""
        _, *others = words(idea) or [""]
        own = content_words(" ".join(others)) - content_words(self._question)
        return own or content_words(idea)

    async def _fitting(self, ideas: Sequence[str]) -> list[str]:
        fits = await together(*(self._fits(idea) for idea in ideas))
        for idea, good in zip(ideas, fits, strict=True):
            if not good:
                self._dropped["off topic"] += 1
                self._tell("rejected", f"off topic: {idea}")
        return [idea for idea, good in zip(ideas, fits, strict=True) if good]

    async def _fits(self, idea: str) -> bool:
        """Ask the model whether an idea is good or bad; only a plain "bad" counts against it."""
        request = TextRequest(
            prompt=prompts.check(self._question, idea),
            system=prompts.CHECKING,
            temperature=0.0,
            max_tokens=3,
            seed=seed_of(self._recipe.seed, "check"),
        )
        try:
            reply = await self._desk.text("checks", "check", request)
        except (ModelAnswerError, OverBudgetError):
            return True
        return not reply.text.strip(" \n\"'*.").casefold().startswith("bad")


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    fewer = min(len(first), len(second))
    return len(first & second) / fewer if fewer else 0.0
