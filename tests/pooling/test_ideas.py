"""Ideas before answers: lists, what is dropped of them, and what is written from the others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from useralign.errors import ModelAnswerError, ModelUnavailableError
from useralign.models import weights
from useralign.models.local import Local
from useralign.pooling import Event, Recipe, generate_pool
from useralign.pooling.ideas import Circumstance, differing
from useralign.pooling.parse import content_words
from useralign.pooling.prompts import GUESSING, LISTING, TURNING

from .conftest import QUESTION, Answer, Fingerprints, Scripted, answer, is_ideas, is_interests

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from useralign.models import TextRequest

CARE = Recipe(care=True, size=6, style="unbiased", baseline=False)
DISHES = ("ramen", "lasagna", "tacos", "dosa", "paella", "goulash", "pierogi", "tagine")
RAINY = "How should I spend a rainy Sunday?"


class Continuing(Scripted):
    """A model that goes on from a beginning, and finds some ideas fit for a sunny day."""

    continues = True

    def __init__(self, says: Answer = answer, sunny: Sequence[str] = ()) -> None:
        super().__init__(lambda request, number: self._answer(request, says(request, number)))
        self._sunny = sunny

    def _answer(self, request: TextRequest, said: str) -> str:
        if request.system == TURNING:
            return request.prompt.replace("rainy", "sunny")
        if request.system == GUESSING:
            assert request.begin == "How should I spend a"
            assert request.weigh == ("rainy", "sunny")
            sunny = any(word in request.prompt for word in self._sunny)
            return json.dumps({"rainy": -3.0 if sunny else -1.0, "sunny": -2.0})
        return f"{request.begin} {said}" if request.begin else said


def listing(*ideas: str) -> str:
    return "\n".join(ideas)


def chef(request: TextRequest, number: int) -> str:
    """List eight dishes, and keep to what the tests' model says otherwise."""
    return listing(*DISHES) if is_ideas(request) else answer(request, number)


def test_each_answer_is_written_for_an_idea_of_its_own(embedder: Fingerprints) -> None:
    pool = generate_pool(QUESTION, Scripted(chef), embedder, CARE)
    ideas = [c.meta["idea"] for c in pool]
    assert len(set(ideas)) == 6
    assert set(ideas) <= set(DISHES)
    for candidate in pool:
        assert f'Suggest this:\n"""\n{candidate.meta["idea"]}\n"""' in candidate.meta["prompt"]
        assert candidate.source == "unbiased"
    assert pool.meta["rejected"] == {"repeated idea": 8, "unused idea": 2}
    assert pool.meta["recipe"]["care"] is True


def test_a_model_that_can_begins_with_the_idea(embedder: Fingerprints) -> None:
    model = Continuing(chef)
    pool = generate_pool(QUESTION, model, embedder, CARE)
    for candidate in pool:
        assert candidate.text.startswith(f"{candidate.meta['idea']}, Cook ")
        assert candidate.meta["temperature"] == 0.5


def test_without_care_nothing_is_asked_that_the_paper_does_not(embedder: Fingerprints) -> None:
    model = Continuing()
    pool = generate_pool(QUESTION, model, embedder, Recipe(size=4))
    assert not any(r.system in (LISTING, GUESSING, TURNING) or r.begin for r in model.requests)
    assert pool.meta["usage"]["ideas"]["calls"] == pool.meta["usage"]["checks"]["calls"] == 0


def test_repeated_ideas_are_dropped_and_counted(embedder: Fingerprints) -> None:
    lists = [
        (
            "1. go for a walk",
            "- take a walk alone",
            "read a book",
            "read story books",
            "Read books!",
        ),
        ("visit a museum", "museums", "visit a friend", "play chess"),
    ]

    def says(request: TextRequest, number: int) -> str:
        return listing(*lists[number > 1]) if is_ideas(request) else answer(request, number)

    pool = generate_pool(QUESTION, Scripted(says), embedder, replace(CARE, size=5))
    kept = {"go for a walk", "read a book", "visit a museum", "visit a friend", "play chess"}
    assert {c.meta["idea"] for c in pool} == kept
    assert pool.meta["rejected"]["repeated idea"] == 4


def test_what_is_borrowed_from_the_example_is_dropped(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        borrowed = listing("Buy your sister a book", "Plan the wedding", *DISHES[:6])
        return borrowed if is_ideas(request) else answer(request, number)

    pool = generate_pool(QUESTION, Scripted(says), embedder, CARE)
    assert {c.meta["idea"] for c in pool} == set(DISHES[:6])
    assert pool.meta["rejected"]["borrowed idea"] == 2 * 2
    pool = generate_pool("What should I give my sister?", Scripted(says), embedder, CARE)
    assert "borrowed idea" in pool.meta["rejected"]
    assert "Buy your sister a book" in {c.meta["idea"] for c in pool}


def test_every_answer_begins_as_a_sentence(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        mixed = listing("A ramen soup", "In Naples", "The tacos", "on a fire", "Bake a pie")
        return mixed if is_ideas(request) else answer(request, number)

    pool = generate_pool(QUESTION, Continuing(says), embedder, replace(CARE, size=3))
    assert pool.meta["rejected"]["idea that begins no sentence"] == 2
    begins = ("Choose a ramen soup, ", "Choose the tacos, ", "Bake a pie, ")
    assert sorted(c.text.partition("Cook")[0] for c in pool) == sorted(begins)


def test_lists_are_asked_for_until_they_bring_nothing_new(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        return listing(*DISHES[:4]) if is_ideas(request) else answer(request, number)

    model = Scripted(says)
    pool = generate_pool(QUESTION, model, embedder, CARE)
    lists = [r for r in model.requests if is_ideas(r)]
    # Two at first, and one more for the two ideas that are missing.
    assert len(lists) == len({r.seed for r in lists}) == 3
    assert len(pool) == 6
    assert sum("idea" in c.meta for c in pool) == 4


def test_a_list_that_was_cut_off_has_no_last_line(embedder: Fingerprints) -> None:
    model = Scripted(chef)
    model.finish = "length"
    pool = generate_pool(QUESTION, model, embedder, replace(CARE, max_tokens=20))
    assert "tagine" not in {c.meta.get("idea") for c in pool}


def test_ideas_that_suit_the_opposite_are_not_written(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        days = listing("beach", "chess", "picnic", "museum", "film", "baking")
        return days if is_ideas(request) else answer(request, number)

    model = Continuing(says, sunny=("beach", "picnic"))
    pool = generate_pool(RAINY, model, embedder, replace(CARE, size=4))
    assert {c.meta["idea"] for c in pool} == {"chess", "museum", "film", "baking"}
    assert pool.meta["rejected"] == {"repeated idea": 6, "less fitting": 2}
    assert not any("Suggest this" in r.prompt and "beach" in r.prompt for r in model.requests)
    assert all("Mind: rainy, not sunny." in r.prompt for r in model.requests if is_ideas(r))
    assert pool.meta["usage"]["checks"]["calls"] == 6 + 4


def test_an_answer_with_a_reason_out_of_place_is_replaced(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        if is_ideas(request):
            return listing(*DISHES)
        shining = "lasagna" in request.prompt and "Suggest" in request.prompt
        return "because of the sunshine." if shining else answer(request, number)

    model = Continuing(says, sunny=("sunshine",))
    pool = generate_pool(RAINY, model, embedder, replace(CARE, size=7))
    assert {c.meta["idea"] for c in pool} == set(DISHES) - {"lasagna"}
    # It had a second chance.
    assert pool.meta["rejected"]["does not suit the question"] == 2


def test_an_answer_that_speaks_of_the_circumstances_is_not_weighed(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        said = chef(request, number)
        return said if is_ideas(request) else f"{said} Even when rainy."

    model = Continuing(says, sunny=("Even",))
    pool = generate_pool(RAINY, model, embedder, CARE)
    assert len(pool) == 6
    assert pool.meta["usage"]["checks"]["calls"] == 8


@pytest.mark.parametrize("reply", ["", "{}", "no", '{"rainy": "x", "sunny": 1}', "error"])
def test_ideas_that_cannot_be_weighed_are_all_kept(embedder: Fingerprints, reply: str) -> None:
    def says(request: TextRequest, number: int) -> str:
        if request.system == GUESSING and reply == "error":
            raise ModelAnswerError("got nothing")
        return chef(request, number)

    class Speechless(Continuing):
        def _answer(self, request: TextRequest, said: str) -> str:
            return reply if request.system == GUESSING else super()._answer(request, said)

    pool = generate_pool(RAINY, Speechless(says), embedder, replace(CARE, size=8))
    assert {c.meta["idea"] for c in pool} == set(DISHES)


def test_a_question_without_an_opposite_is_not_weighed(embedder: Fingerprints) -> None:
    model = Continuing(chef)
    pool = generate_pool(QUESTION, model, embedder, CARE)
    assert [r.system for r in model.requests].count(TURNING) == 1
    assert pool.meta["usage"]["checks"]["calls"] == 0
    assert pool.meta["rejected"]["unused idea"] == 2


def test_a_service_is_not_asked_to_weigh(embedder: Fingerprints) -> None:
    model = Scripted(chef)
    generate_pool(RAINY, model, embedder, CARE)
    assert not any(r.system in (TURNING, GUESSING) or r.begin for r in model.requests)


def test_the_least_alike_is_next() -> None:
    class Kitchens(Fingerprints):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
            rows = np.abs(super().embed_texts(texts)) / 100
            for row, text in zip(rows, texts, strict=True):
                row[int("ramen" in text)] += 1.0
            return rows

    def says(request: TextRequest, number: int) -> str:
        meals = ("tofu soup", "dosa", "tagine", "soy ramen")
        return listing(*meals) if is_ideas(request) else answer(request, number)

    recipe = replace(CARE, size=2, max_cosine=1.0)
    pool = generate_pool(QUESTION, Scripted(says), Kitchens(), recipe)
    assert [c.meta["idea"] for c in pool] == ["tofu soup", "soy ramen"]


def test_interests_get_ideas_of_their_own(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        if is_interests(request):
            return '["jazz", "chess", "surf"]'
        own = {"jazz": "goulash", "chess": "ramen", "surf": "pierogi"}
        if is_ideas(request):
            return next(
                (o for who, o in own.items() if who in request.prompt), listing(*DISHES[:5])
            )
        return answer(request, number)

    pool = generate_pool(QUESTION, Scripted(says), embedder, Recipe(size=6, care=True))
    by_interest = {c.interest: c.meta["idea"] for c in pool if c.source == "interest"}
    assert (by_interest["jazz"], by_interest["surf"]) == ("goulash", "pierogi")
    # Ramen is there already, so chess takes what is left over.
    assert by_interest["chess"] in DISHES[:5]
    assert len({c.meta["idea"] for c in pool}) == 6
    assert "chess" in next(c for c in pool if c.interest == "chess").meta["prompt"]


def test_what_all_ideas_share_with_the_question_does_not_make_them_alike(
    embedder: Fingerprints,
) -> None:
    gifts = [f"Buy him a gardening {tool}." for tool in ("knife", "rake", "hose", "books", "book")]

    def says(request: TextRequest, number: int) -> str:
        return listing(*gifts) if is_ideas(request) else answer(request, number)

    question = "What gift should I give my father, who likes gardening?"
    pool = generate_pool(question, Scripted(says), embedder, replace(CARE, size=4))
    assert {c.meta["idea"] for c in pool} == {gift.strip(".") for gift in gifts[:4]}


@pytest.mark.parametrize("reply", ["<html>", "", "error"])
def test_a_model_that_lists_nothing_is_asked_plainly(embedder: Fingerprints, reply: str) -> None:
    def says(request: TextRequest, number: int) -> str:
        if is_ideas(request) or request.system == TURNING:
            if reply == "error":
                raise ModelAnswerError("got nothing")
            return reply.replace("<html>", "\n\n?")
        return answer(request, number)

    pool = generate_pool(QUESTION, Scripted(says), embedder, CARE)
    assert len(pool) == 6
    assert not any("idea" in c.meta for c in pool)


def test_care_is_told_and_counted(embedder: Fingerprints) -> None:
    events: list[Event] = []
    pool = generate_pool(RAINY, Continuing(chef), embedder, CARE, progress=events.append)
    notes = [e.note for e in events if e.kind == "ideas"]
    assert notes[:3] == [f"{count} ideas listed" for count in (8, 16, 24)]
    assert notes[-1] == "8 of 8 ideas weighed"
    assert events[-1].made == 6
    usage = pool.meta["usage"]
    # Six candidates want four times as many ideas: three lists, and the opposite.
    assert (usage["ideas"]["calls"], usage["checks"]["calls"]) == (4, 8 + 6)
    assert usage["generation"]["calls"] == 4 + 8 + 6 + 6


def test_an_interrupted_pool_goes_on_and_is_the_same(embedder: Fingerprints, draft: Path) -> None:
    whole = generate_pool(RAINY, Continuing(chef), embedder, CARE)

    def failing(request: TextRequest, number: int) -> str:
        if number > 7:
            raise ModelUnavailableError("the model cannot be reached")
        return chef(request, number)

    with pytest.raises(ModelUnavailableError, match="kept in"):
        generate_pool(RAINY, Continuing(failing), embedder, CARE, draft=draft)
    model = Continuing(chef)
    pool = generate_pool(RAINY, model, embedder, CARE, draft=draft)
    assert len(model.requests) == 24 - 7
    assert [c.text for c in pool] == [c.text for c in whole]


def test_near_duplicates_are_counted_among_the_rejected(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        return "Cook a bowl of ramen tonight." if number <= 2 else answer(request, number)

    recipe = Recipe(size=3, style="unbiased", baseline=False)
    pool = generate_pool(QUESTION, Scripted(says), embedder, recipe)
    assert pool.meta["rejected"] == {"near duplicate": 1}


@pytest.mark.parametrize(
    ("question", "opposite", "circumstances"),
    [
        (
            RAINY,
            "How should I spend a sunny Sunday?",
            [("How should I spend a", "rainy", "sunny")],
        ),
        (
            "Where should I go for a cheap trip in winter?",
            "Where should I go for an expensive trip in summer?",
            [
                ("Where should I go for a", "cheap", "expensive"),
                ("Where should I go for a cheap trip in", "winter", "summer"),
            ],
        ),
        (
            "Which is cheap for two?",
            "Which is cheap for five?",
            [("Which is cheap for", "two", "five")],
        ),
        # A word more, or other small words, are no circumstance; nor is what nothing comes before.
        ("What if I am in a hurry?", "What if I am not in a hurry?", []),
        ("What is on it?", "What is in it?", []),
        ("Rainy days, what to do?", "Sunny days, what to do?", []),
        (RAINY, RAINY.upper(), []),
        (RAINY, "", []),
    ],
)
def test_what_differs(
    question: str, opposite: str, circumstances: list[tuple[str, str, str]]
) -> None:
    assert differing(question, opposite) == [Circumstance(*one) for one in circumstances]


@pytest.mark.parametrize(("question", "opposite"), [("a x ", "a y "), ("a ", "b a ")])
def test_comparing_long_questions_ends(question: str, opposite: str) -> None:
    """Of all their words it would take minutes: time in the cube of the length."""
    differing((question * 2000)[:4000], (opposite * 20_000)[:20_000])


def test_content_words() -> None:
    assert content_words("Go for a walk") == content_words("the walks") == {"walk"}
    assert content_words("go to") == {"go", "to"}
    assert content_words("") == frozenset()


@pytest.mark.soak
def test_a_real_small_model_makes_a_pool_with_care() -> None:
    weights.ensure("smollm2-135m")
    recipe = Recipe.concise(care=True, size=2, style="unbiased", baseline=False, max_tokens=48)
    pool = generate_pool("How should I spend a rainy Sunday?", Local("smollm2-135m"), None, recipe)
    assert len({c.text for c in pool}) == len(pool) == 2
    assert pool.meta["usage"]["ideas"]["calls"] >= 2
    written = [c for c in pool if "idea" in c.meta]
    assert written
    assert all(c.text.startswith(f"{c.meta['idea']},") for c in written)
