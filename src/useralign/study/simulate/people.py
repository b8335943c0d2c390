"""Simulated people: what they like, and how they behave.

With a persona they follow its ranking. Without one they have a taste of their own that no file
knows: two of the question's personas mixed, and shaken; and they are twice as unsure. How sure
someone is grows with how far apart two answers are in their ranking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from useralign.errors import InputError
from useralign.study.views import spaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from useralign.domains import Question

_SHAKEN = 0.15  # of the length of the ranking


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How simulated people behave.

    Parameters
    ----------
    noise : float
        How far apart two answers must be, as a share of the ranking, for their order to be told
        with 73% certainty; 0 is always.
    drop_out : float
        The share that leaves on the way.
    lost : float
        The share of requests that is lost, half of them on the way there, half on the way back.
    double : float
        The share of forms that is sent twice at once.
    reload : float
        The share of pages that is loaded once more.
    inattentive : float
        The share of attention checks that is answered without reading.
    plain : float
        The share of people whose browser runs no script.
    think : float
        Seconds that a person looks at a page, on average.
    """

    noise: float = 0.1
    drop_out: float = 0.3
    lost: float = 0.0
    double: float = 0.05
    reload: float = 0.05
    inattentive: float = 0.03
    plain: float = 0.2
    think: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value < 0 or (name not in ("noise", "think") and value >= 1):
                raise InputError(f"{name} must be at least 0 and below 1, got {value}")


@dataclass(frozen=True, slots=True)
class Taste:
    """What someone likes.

    Parameters
    ----------
    places : mapping of str to float
        By the text of an answer, without its punctuation; lower is better.
    noise : float
        In places.
    """

    places: Mapping[str, float]
    noise: float

    def choose(self, options: list[str], behaviour: Behaviour, rng: Random) -> int:
        """Return which of two options someone takes, 0 or 1."""
        first, second = (self.places.get(bare(text)) for text in options)
        if first is None or second is None:
            return _checked(options, behaviour, rng)
        if self.noise == 0.0 or first == second:
            return int(second < first)
        sure = 1.0 / (1.0 + math.exp(-(second - first) / self.noise))
        return int(rng.random() >= sure)


def _checked(options: list[str], behaviour: Behaviour, rng: Random) -> int:
    """Answer a comparison of something other than answers: a check of attention."""
    told = [number for number, text in enumerate(options) if "choosethis" in bare(text)]
    if len(told) != 1:
        raise InputError(f"a page shows options that nobody knows: {options!r:.200}")
    return rng.randrange(2) if rng.random() < behaviour.inattentive else told[0]


class Minds:
    """What simulated people know of the questions: what each persona likes.

    Parameters
    ----------
    questions : iterable of Question
    behaviour : Behaviour
    """

    def __init__(self, questions: Iterable[Question], behaviour: Behaviour) -> None:
        self._questions = {bare(question.text): question for question in questions}
        self._behaviour = behaviour

    def taste(self, query: str, persona: str | None, rng: Random) -> Taste:
        """Return what someone likes who reads this query, and plays this persona.

        Raises
        ------
        InputError
            If the query or the persona is not known.
        """
        question = self._questions.get(bare(query))
        if question is None:
            raise InputError(f"a page shows a query that nobody knows: {query!r:.200}")
        texts = {str(c.id): bare(c.text) for c in (*question.candidates, question.baseline)}
        places = [
            {texts[name]: float(place) for place, name in enumerate(p.ranking)}
            for p in question.personas
        ]
        noise = self._behaviour.noise * len(texts)
        if persona is not None:
            names = [bare(spaced(p.name)) for p in question.personas]
            if bare(persona) not in names:
                raise InputError(f"a page shows a persona that nobody knows: {persona!r:.200}")
            return Taste(places[names.index(bare(persona))], noise)
        one, other = rng.sample(places, 2) if len(places) > 1 else places * 2
        weight, shaken = rng.uniform(0.6, 1.0), _SHAKEN * len(texts)
        mixed = {
            text: weight * one[text] + (1.0 - weight) * other[text] + rng.gauss(0.0, shaken)
            for text in one
        }
        return Taste(mixed, 2.0 * noise)


def bare(text: str) -> str:
    """Return the letters and digits of a text: what is the same however it is shown."""
    return "".join(char for char in text.casefold() if char.isalnum())
