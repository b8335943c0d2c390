"""The food pool of N = 1,000, for the paper's large-pool table.

The 300 answers of food64d, and 700 composed from hand-written dishes, ways of serving and reasons.
Every answer is rated on six attributes, and people are weights over these, so that each of them
ranks all answers and the baseline.

`food64d-large` has one question, and people whose taste is linear in the attributes from which the
texts were composed. `food64d-large-ten` has ten, and people whose taste is not: they want enough of
a thing and not the most of it, are content with one of two things, and have something that rules an
answer out.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from useralign.domains.questions import DATA, Domain, Persona, Question, load_folder
from useralign.pool import Candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAME = "food64d-large"
NAME_TEN = "food64d-large-ten"
SIZE = 1000
_ENOUGH, _VETO = 0.5, 0.4  # on the scale of ratings, from -1 to 1


@cache
def domain() -> Domain:
    """Return the domain with this one question; see `question`."""
    base = load_folder("food64d")
    return Domain(NAME, f"{base.title}, {SIZE:,} answers", "text", base.dimension, (question(),))


@cache
def domain_of_ten() -> Domain:
    """Return the domain of food64d's ten questions over the same 1,000 answers.

    Each has three of the people, see `_ideal`.
    """
    base, data = load_folder("food64d"), _data()
    questions = tuple(
        _question(
            f"{data['id']}-{number + 1:02}",
            source.text,
            source,
            data["personas"][3 * number : 3 * number + 3],
            _ideal,
        )
        for number, source in enumerate(base.questions)
    )
    title = f"{base.title}, {SIZE:,} answers to ten questions"
    return Domain(NAME_TEN, title, "text", base.dimension, questions)


@cache
def question() -> Question:
    """Build the question with its 1,000 answers and 30 people.

    Every candidate's `meta` has its attributes, each in [-1, 1].
    """
    data, first = _data(), load_folder("food64d").questions[0]
    return _question(data["id"], data["text"], first, data["personas"], _linear)


def _question(
    name: str,
    text: str,
    source: Question,
    people: Sequence[Mapping[str, Any]],
    taste: Callable[[Mapping[str, float], Mapping[str, float]], float],
) -> Question:
    """Build a question over all answers, with the baseline of another."""
    ratings = {**source.baseline.meta, **_data()["baselines"][source.id]}
    baseline = replace(source.baseline, id="baseline", meta=ratings)
    answers = (*_answers(), baseline)
    personas = tuple(_persona(item, answers, taste) for item in people)
    return Question(name, text, baseline, _answers(), personas, whole=True)


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((DATA / "food64d" / "large.toml").read_text(encoding="utf-8"))


@cache
def _answers() -> tuple[Candidate, ...]:
    text = (DATA / "food64d" / "large.jsonl").read_text(encoding="utf-8")
    return tuple(Candidate.from_dict(json.loads(line)) for line in text.splitlines())


def _persona(
    item: Mapping[str, Any],
    answers: tuple[Candidate, ...],
    taste: Callable[[Mapping[str, float], Mapping[str, float]], float],
) -> Persona:
    """Rank all answers by what their attributes are worth; equals by their id."""
    worth = {str(answer.id): taste(item["weights"], answer.meta) for answer in answers}
    ranking = tuple(sorted(worth, key=lambda name: (-worth[name], name)))
    return Persona(item["name"], item["description"], ranking)


def _linear(weights: Mapping[str, float], rated: Mapping[str, float]) -> float:
    return sum(weight * rated[name] for name, weight in weights.items())


def _ideal(weights: Mapping[str, float], rated: Mapping[str, float]) -> float:
    """Return what an answer is worth to somebody with an ideal, an alternative and a veto.

    Of each attribute they want a good half in their direction, and less the farther it is from
    that on either side. Of the two that matter most the better one counts in full, the other
    little. Whatever goes far against the first is out of the question.
    """
    sides = sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))
    fits = [
        abs(weight) * (1.0 - abs(rated[name] - _ENOUGH * (1 if weight > 0 else -1)))
        for name, weight in sides
    ]
    first, strength = sides[0]
    against = rated[first] * (1 if strength > 0 else -1) < -_VETO
    best, other = sorted(fits[:2], reverse=True) if len(fits) > 1 else (fits[0], 0.0)
    return best + 0.2 * other + sum(fits[2:]) - (10.0 if against else 0.0)
