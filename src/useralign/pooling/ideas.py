"""Ideas before answers: the care that small models need.

Asked the same question again and again, a small model gives the same few answers, and some that
forget half of the question. Asked for lists, it names many different ones in a few words each. So
with `Recipe.care` the model lists ideas first. Those that repeat another are dropped while they
are still cheap, and so is the half that suits the question's circumstances least (see
`useralign.pooling.circumstances`). Then one answer is written for each of the others, always for
the idea that is least like those before it.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import ModelAnswerError
from useralign.models.generators.base import TextRequest
from useralign.pooling import prompts
from useralign.pooling.circumstances import Circumstances
from useralign.pooling.desk import together
from useralign.pooling.parse import parse_lines
from useralign.pooling.plan import seed_of
from useralign.pooling.spending import OverBudgetError
from useralign.pooling.words import content_words, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from useralign.pooling.desk import Desk
    from useralign.pooling.features import Features
    from useralign.pooling.plan import Ask
    from useralign.pooling.recipe import Recipe

LENGTH = 8
"""Ideas in one list, as in the example: in longer ones a small model begins to turn in circles."""
OWN_LENGTH = 2
"""Ideas in the list of one interest."""
MAX_SHARED = 0.7
"""From which share of the words that say what the shorter one is about two ideas are the same."""
_SPARE = 2
_TRIES = 2
_UNFIT = 1 / 2
_OUT_OF_PLACE = 1 / 4
_ROUNDS = 3
_TOKENS = 12  # of one idea, at most
_TINY = 1e-12
_FILLERS = frozenset(["favorite", "favourite", "good", "local", "nearby", "nice", "through"])
# The answer begins with its idea, and "In a hotel, because" makes no sentence.
_PLACE = re.compile(r"(?:in|on|at|to|for|with|from|by|of)\b", re.IGNORECASE)


@dataclass(eq=False)
class Idea:
    """A short answer, how well it suits the question (None: not known), and its features."""

    text: str
    fit: float | None
    row: NDArray[np.float64] | None
    used: bool = False
    tries: int = 0


class Ideas:
    """Finds an idea for each candidate that is to be asked for.

    Parameters
    ----------
    question : str
    recipe : Recipe
    desk : Desk
    features : Features
    tell : callable
        Called with a note: how many ideas are listed and weighed.
    """

    def __init__(
        self,
        question: str,
        recipe: Recipe,
        desk: Desk,
        features: Features,
        tell: Callable[[str], None],
    ) -> None:
        self._dropped: Counter[str] = Counter()
        self._question = question
        self._recipe = recipe
        self._desk = desk
        self._features = features
        self._tell = tell
        self._circumstances = Circumstances(question, recipe.seed, desk)
        self._borrowed = prompts.TELLTALE - content_words(question)
        self._topics: list[frozenset[str]] = []
        self._known: list[Idea] = []
        self._own: dict[str, list[Idea]] = {}
        self._lists = 0
        self._rounds = 0
        self._listed = 0
        self._weighed = 0

    @property
    def rejected(self) -> Counter[str]:
        """How many ideas came to nothing, by reason."""
        left = [idea for idea in self._known if not idea.used]
        unused = sum(self._is_fit(idea.fit) for idea in left)
        found = {"unused idea": unused, "less fitting": len(left) - unused}
        return self._dropped + Counter(found)

    async def assign(self, asks: Sequence[Ask]) -> list[Ask]:
        """Return the asks with an idea each, as far as there are ideas.

        An interest gets one made for it, if that fits; else any other.

        Parameters
        ----------
        asks : sequence of Ask
        """
        wanting = [ask for ask in asks if ask.source != "given"]
        people = [ask.interest for ask in wanting if ask.interest]
        await self._list_for([who for who in dict.fromkeys(people) if who not in self._own])
        await self._stock(len(wanting))
        return [ask if ask.source == "given" else self._with_idea(ask) for ask in asks]

    async def suits(self, answer: str, idea: str) -> bool:
        """Return whether a finished answer suits the question better than the worst ideas did.

        A good idea can get a reason that is out of place: a museum, to enjoy the sunshine. It
        may then be tried once more.

        Parameters
        ----------
        answer : str
        idea : str
            What it was written from.
        """
        if self._circumstances.named_in(answer):
            return True
        if self._is_fit(await self._circumstances.fit(answer), _OUT_OF_PLACE):
            return True
        for known in self._known:
            if known.text == idea and known.tries < _TRIES:
                known.used = False
        return False

    def _with_idea(self, ask: Ask) -> Ask:
        own = self._left(self._own.get(ask.interest or "", []))
        # What was made for somebody else is taken only when nothing else is left.
        others = [idea for made in self._own.values() for idea in made]
        free = self._left([idea for idea in self._known if idea not in others])
        for choice in (own, free, self._left(others)):
            if choice:
                idea = self._least_alike(choice)
                idea.used = True
                idea.tries += 1
                return ask._replace(idea=idea.text)
        return ask

    def _left(self, ideas: Sequence[Idea]) -> list[Idea]:
        return [idea for idea in ideas if not idea.used and self._is_fit(idea.fit)]

    def _is_fit(self, fit: float | None, unfit: float = _UNFIT) -> bool:
        """Return whether it is not in the share of all ideas that suits the question least."""
        fits = [idea.fit for idea in self._known if idea.fit is not None]
        if fit is None or not fits:
            return True
        return fit >= sorted(fits)[math.floor(unfit * len(fits))]

    def _least_alike(self, choice: Sequence[Idea]) -> Idea:
        """Return the idea farthest from its nearest neighbour among those that are used."""
        best = sorted(choice, key=lambda idea: -(idea.fit or 0.0))
        used = [idea.row for idea in self._known if idea.used and idea.row is not None]
        if not used or any(idea.row is None for idea in best):
            return best[0]
        rows = np.array([idea.row for idea in best])
        nearest = (rows @ np.array(used).T).max(axis=1)
        return best[int(nearest.argmin())]

    async def _stock(self, wanted: int) -> None:
        """Have so many ideas that fit, if the model has them; after lists without any, no more."""
        while (missing := wanted - len(self._left(self._known))) > 0 and self._rounds < _ROUNDS:
            self._rounds += 1
            if self._rounds == 1 and self._desk.writer.continues:
                await self._circumstances.learn()
            spare = _SPARE / (1 - _UNFIT) if self._circumstances.known else _SPARE
            count = math.ceil(spare * missing / LENGTH)
            lists = await together(*(self._list(LENGTH) for _ in range(count)))
            # Another seed brings something new; a list of what to leave out brings just that.
            if not await self._learn([idea for ideas in lists for idea in ideas]):
                self._rounds = _ROUNDS

    async def _list_for(self, people: Sequence[str]) -> None:
        """Ask for ideas for each interest."""
        lists = await together(*(self._list(OWN_LENGTH, who) for who in people))
        found = {idea.text: idea for idea in await self._learn([i for own in lists for i in own])}
        for who, own in zip(people, lists, strict=True):
            self._own[who] = [found[text] for text in dict.fromkeys(own) if text in found]

    async def _list(self, length: int, interest: str | None = None) -> list[str]:
        self._lists += 1
        name = f"ideas{self._lists}"
        request = TextRequest(
            prompt=prompts.ideas(self._question, interest, self._circumstances.in_short),
            system=prompts.LISTING,
            examples=tuple((prompts.ideas(asked), said) for asked, said in prompts.LISTED),
            temperature=self._recipe.temperature,
            max_tokens=_TOKENS * length,
            seed=seed_of(self._recipe.seed, name),
            min_p=self._recipe.min_p,
        )
        try:
            reply = await self._desk.text("ideas", name, request)
        except (ModelAnswerError, OverBudgetError):
            return []
        found = parse_lines(reply.text, cut_off=reply.finish == "length")[:length]
        self._listed += len(found)
        self._tell(f"{self._listed} ideas listed")
        return found

    async def _learn(self, texts: Sequence[str]) -> list[Idea]:
        """Weigh those that repeat no earlier one; return them."""
        new = [text for text in texts if self._is_new(text)]
        if not new:
            return []
        fits = await together(*map(self._fit, new))
        rows = await asyncio.to_thread(self._rows, new)
        found = [Idea(*facts) for facts in zip(new, fits, rows, strict=True)]
        self._known += found
        return found

    async def _fit(self, text: str) -> float | None:
        fit = await self._circumstances.fit(text)
        self._weighed += 1
        self._tell(f"{self._weighed} of {len(self._topics)} ideas weighed")
        return fit

    def _is_new(self, text: str) -> bool:
        topic = self._topic(text)
        if _PLACE.match(text):
            self._dropped["idea that begins no sentence"] += 1
            return False
        if content_words(text) & self._borrowed:
            self._dropped["borrowed idea"] += 1
            return False
        if any(_shared(topic, other) >= MAX_SHARED for other in self._topics):
            self._dropped["repeated idea"] += 1
            return False
        self._topics.append(topic)
        return True

    def _topic(self, idea: str) -> frozenset[str]:
        """Return what an idea is about: neither its verb, which comes first, nor the question."""
        _, *others = words(idea) or [""]
        own = content_words(" ".join(others)) - content_words(self._question) - _FILLERS
        return own or content_words(idea)

    def _rows(self, texts: Sequence[str]) -> list[NDArray[np.float64] | None]:
        """Return the features of ideas, of length one; None where they do not tell ideas apart."""
        if not self._features.tell_alike:
            return [None] * len(texts)
        rows = self._features.of_texts(texts)
        return list(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY))


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    fewer = min(len(first), len(second))
    return len(first & second) / fewer if fewer else 0.0
