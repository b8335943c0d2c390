"""The food pool of N = 1,000, for the paper's large-pool table.

The 300 answers of food64d, and 700 composed from hand-written dishes, ways of serving and reasons.
Every answer is rated on six attributes, and people are weights over these, so that each of them
ranks all answers and the baseline. Nothing is drawn at random: the pool is always the same.

`food64d-large` has one question, and people whose taste is linear in the attributes from which the
texts were composed. `food64d-large-ten` has ten, and people whose taste is not: they want enough of
a thing and not the most of it, are content with one of two things, and have something that rules an
answer out.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from useralign.domains.questions import DATA, Domain, Persona, Question, load_folder
from useralign.pool import Candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAME = "food64d-large"
NAME_TEN = "food64d-large-ten"
SIZE = 1000
_ENOUGH, _VETO = 0.5, 0.4  # on the scale of ratings, from -1 to 1
_LOW, _HIGH = 3, 6  # digits up to the one and from the other on count as low and high

Ratings = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Part:
    """A serving or a reason: words, what they change, and the dishes they suit."""

    words: str
    changes: Mapping[str, int]
    condition: tuple[str, str] | None = None

    def suits(self, digits: Mapping[str, int]) -> bool:
        if self.condition is None:
            return True
        side, attribute = self.condition
        return digits[attribute] <= _LOW if side == "low" else digits[attribute] >= _HIGH


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
    base, one = load_folder("food64d"), question()
    data = _data()
    questions = []
    for number, source in enumerate(base.questions):
        code = data["baselines"][source.id]
        baseline = _rated(source.baseline, "baseline", _four(data, code))
        people = data["personas"][3 * number : 3 * number + 3]
        answers = (*one.candidates, baseline)
        personas = tuple(_persona(item, answers, _ideal) for item in people)
        name = f"{one.id}-{number + 1:02}"
        questions.append(
            Question(name, source.text, baseline, one.candidates, personas, whole=True)
        )
    title = f"{base.title}, {SIZE:,} answers to ten questions"
    return Domain(NAME_TEN, title, "text", base.dimension, tuple(questions))


@cache
def question() -> Question:
    """Build the question with its 1,000 answers and 30 people.

    Every candidate's `meta` has its attributes, each in [-1, 1].
    """
    data = _data()
    candidates = (*_written(data), *_composed(data))
    first = load_folder("food64d").questions[0].baseline
    baseline = _rated(first, "baseline", _four(data, data["baseline"]))
    people = data["personas"]
    personas = tuple(_persona(item, (*candidates, baseline), _linear) for item in people)
    return Question(data["id"], data["text"], baseline, candidates, personas, whole=True)


def _data() -> dict[str, Any]:
    return tomllib.loads((DATA / "food64d" / "large.toml").read_text(encoding="utf-8"))


def _written(data: Mapping[str, Any]) -> Iterator[Candidate]:
    """Yield the domain's own answers, with ratings."""
    for source in load_folder("food64d").questions:
        codes = data["answers"][source.id].split()
        for candidate, code in zip(source.candidates, codes, strict=True):
            yield _rated(candidate, f"{source.id}-{candidate.id}", _four(data, code))


def _composed(data: Mapping[str, Any]) -> Iterator[Candidate]:
    """Yield each dish in several ways; counters step through the parts, so that no two agree."""
    reasons = [_part(line, conditional=True) for line in _lines(data["reasons"]["any"])]
    frames, number = data["frames"]["all"], 0
    for kind, dishes in data["dishes"].items():
        servings = [_part(line) for line in _lines(data["servings"][kind])]
        for row, line in enumerate(_lines(dishes)):
            code, dish = line.split(" ", 1)
            digits = dict(zip(data["attributes"], map(int, code), strict=True))
            for turn in range(data["servings_each"]):
                serving = servings[(row + turn) % len(servings)]
                served = _changed(digits, serving)
                fitting = [reason for reason in reasons if reason.suits(served)]
                reason = fitting[(3 * row + 5 * turn) % len(fitting)]
                text = _sentence(frames[number % len(frames)], dish, serving.words, reason.words)
                number += 1
                yield Candidate(
                    text=text,
                    id=f"c{number:03d}",
                    source="composed",
                    meta={k: _scaled(v) for k, v in _changed(served, reason).items()},
                )


def _sentence(frame: str, dish: str, serving: str, reason: str) -> str:
    return frame.format(
        dish=dish,
        Dish=dish[0].upper() + dish[1:],
        serving=serving,
        reason=reason,
        Reason=reason[0].upper() + reason[1:],
    )


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


def _rated(candidate: Candidate, name: str, ratings: Ratings) -> Candidate:
    meta = {**candidate.meta, **ratings}
    return Candidate(
        text=candidate.text,
        id=name,
        source=candidate.source,
        interest=candidate.interest,
        meta=meta,
    )


def _four(data: Mapping[str, Any], code: str) -> Ratings:
    """Return the ratings that an answer does not have itself: all but the first two."""
    return {
        name: _scaled(int(digit)) for name, digit in zip(data["attributes"][2:], code, strict=True)
    }


def _changed(digits: Mapping[str, int], part: _Part) -> dict[str, int]:
    """Return the digits with a part's changes made to them."""
    return {
        name: min(max(digit + part.changes.get(name, 0), 0), 9) for name, digit in digits.items()
    }


def _scaled(digit: int) -> float:
    """Map 0 to 9 onto [-1, 1]."""
    return round((digit - 4.5) / 4.5, 4)


def _part(line: str, *, conditional: bool = False) -> _Part:
    """Parse `condition | changes | words`, or `changes | words`."""
    *front, words = (field.strip() for field in line.split("|"))
    condition = tuple(front[0].split()) if conditional and front[0] else None
    changes = {}
    for change in front[-1].split():
        sign = "+" if "+" in change else "-"
        name, amount = change.split(sign)
        changes[name] = int(sign + amount)
    return _Part(words, changes, (condition[0], condition[1]) if condition else None)


def _lines(block: str) -> list[str]:
    return [line for line in block.splitlines() if line]
