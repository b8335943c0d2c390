"""Ideas before answers: lists, what is dropped of them, and what is written from the others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from useralign import weights
from useralign.errors import ModelAnswerError, ModelUnavailableError
from useralign.generators.local import Local
from useralign.pooling import Event, Recipe, generate_pool
from useralign.pooling.prompts import CHECKING, TURNING
from useralign.pooling.words import content_words

from .conftest import QUESTION, Answer, Fingerprints, Scripted, answer, is_ideas, is_interests

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from useralign.generators.base import TextRequest

CARE = Recipe(care=True, size=6, style="unbiased", baseline=False)
DISHES = ("ramen", "lasagna", "tacos", "dosa", "paella", "goulash", "pierogi", "tagine")


def listing(*ideas: str) -> str:
    return json.dumps({"answers": list(ideas)})


def flat(says: Answer) -> Answer:
    """Know no opposite of the question, so that no idea fits it better than another."""
    return lambda request, number: "" if request.system == TURNING else says(request, number)


def chef(request: TextRequest, number: int) -> str:
    """List eight dishes, call none bad, and keep to what the tests' model says otherwise."""
    return listing(*DISHES) if is_ideas(request) else answer(request, number)


def test_each_answer_is_written_for_an_idea_of_its_own(embedder: Fingerprints) -> None:
    model = Scripted(flat(chef))
    pool = generate_pool(QUESTION, model, embedder, CARE)
    ideas = [c.meta["idea"] for c in pool]
    assert len(set(ideas)) == 6
    assert set(ideas) <= set(DISHES)
    for candidate in pool:
        assert f'Suggest this:\n"""\n{candidate.meta["idea"]}\n"""' in candidate.meta["prompt"]
        assert candidate.source == "unbiased"
    assert pool.meta["rejected"] == {"unused idea": 2}
    assert pool.meta["recipe"]["care"] is True


def test_without_care_nothing_is_asked_that_the_paper_does_not(embedder: Fingerprints) -> None:
    model = Scripted()
    pool = generate_pool(QUESTION, model, embedder, Recipe(size=4))
    assert not any(is_ideas(r) or r.system in (CHECKING, TURNING) for r in model.requests)
    assert pool.meta["usage"]["ideas"]["calls"] == pool.meta["usage"]["checks"]["calls"] == 0


def test_repeated_ideas_are_dropped_and_counted(embedder: Fingerprints) -> None:
    lists = [
        ("go for a walk", "take a walk alone", "read a book", "read story books", "Read books!"),
        ("visit a museum", "museums", "visit a friend", "play chess"),
    ]

    def says(request: TextRequest, number: int) -> str:
        if not is_ideas(request):
            return answer(request, number)
        return listing(*lists[number > 2])

    pool = generate_pool(QUESTION, Scripted(flat(says)), embedder, replace(CARE, size=5))
    kept = {"go for a walk", "read a book", "visit a museum", "visit a friend", "play chess"}
    assert {c.meta["idea"] for c in pool} == kept
    assert pool.meta["rejected"]["repeated idea"] == 4


def test_lists_are_asked_for_until_they_bring_nothing_new(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        return listing(*DISHES[:4]) if is_ideas(request) else answer(request, number)

    model = Scripted(flat(says))
    pool = generate_pool(QUESTION, model, embedder, CARE)
    lists = [r for r in model.requests if is_ideas(r)]
    assert len(lists) == 2
    assert len({r.seed for r in lists}) == 2
    assert len(pool) == 6
    assert sum("idea" in c.meta for c in pool) == 4


def test_what_the_model_calls_bad_is_not_written(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        if request.system == CHECKING:
            return "Bad." if "ramen" in request.prompt or "dosa" in request.prompt else "good"
        return chef(request, number)

    model = Scripted(flat(says))
    pool = generate_pool(QUESTION, model, embedder, CARE)
    assert {c.meta["idea"] for c in pool} == set(DISHES) - {"ramen", "dosa"}
    assert pool.meta["rejected"] == {"off topic": 2}
    assert pool.meta["usage"]["checks"]["calls"] == 8
    assert not any("Suggest this" in r.prompt and "ramen" in r.prompt for r in model.requests)


def test_ideas_nearer_to_the_opposite_come_last() -> None:
    class Weather(Fingerprints):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
            rows = super().embed_texts(texts) / 100
            sunny = ("sunny", "beach", "picnic")
            rows[:, 0] = [any(word in text for word in sunny) for text in texts]
            rows[:, 1] = 1 - rows[:, 0]
            return rows

    def says(request: TextRequest, number: int) -> str:
        if request.system == TURNING:
            return '"How should I spend a sunny Sunday?"'
        if is_ideas(request):
            return listing("beach", "chess", "picnic", "museum", "film", "baking")
        return answer(request, number)

    recipe = replace(CARE, size=4, max_cosine=1.0)
    pool = generate_pool("How should I spend a rainy Sunday?", Scripted(says), Weather(), recipe)
    assert {c.meta["idea"] for c in pool} == {"chess", "museum", "film", "baking"}
    assert pool.meta["rejected"] == {"less fitting": 2}


def test_an_opposite_that_says_the_same_ranks_nothing() -> None:
    class Alike(Fingerprints):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
            rows = super().embed_texts(texts)
            rows[[place for place, text in enumerate(texts) if text.endswith("?")]] = 1.0
            return rows

    def says(request: TextRequest, number: int) -> str:
        return "Not so?" if request.system == TURNING else chef(request, number)

    pool = generate_pool(QUESTION, Scripted(says), Alike(), CARE)
    assert [c.meta["idea"] for c in pool] == list(DISHES[:6])
    assert pool.meta["rejected"] == {"unused idea": 2}


def test_interests_get_ideas_of_their_own(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        if is_interests(request):
            return '["jazz", "chess", "surf"]'
        if is_ideas(request) and "people ask it" in request.prompt:
            return listing("goulash", "ramen", "pierogi")
        if is_ideas(request):
            return listing(*DISHES[:5])
        return answer(request, number)

    pool = generate_pool(QUESTION, Scripted(flat(says)), embedder, Recipe(size=6, care=True))
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
    model = Scripted(flat(says))
    pool = generate_pool(question, model, embedder, replace(CARE, size=4))
    assert {c.meta["idea"] for c in pool} == {gift.strip(".") for gift in gifts[:4]}


@pytest.mark.parametrize("reply", ["<html>no</html>", "", "error"])
def test_a_model_that_lists_nothing_is_asked_plainly(embedder: Fingerprints, reply: str) -> None:
    def says(request: TextRequest, number: int) -> str:
        if is_ideas(request) or request.system == TURNING:
            if reply == "error":
                raise ModelAnswerError("got nothing")
            return reply
        return answer(request, number)

    pool = generate_pool(QUESTION, Scripted(says), embedder, CARE)
    assert len(pool) == 6
    assert not any("idea" in c.meta for c in pool)


def test_care_is_told_and_counted(embedder: Fingerprints) -> None:
    events: list[Event] = []
    pool = generate_pool(QUESTION, Scripted(flat(chef)), embedder, CARE, progress=events.append)
    assert [e.note for e in events if e.kind == "ideas"] == ["8 ideas to write from"]
    assert events[-1].made == 6
    usage = pool.meta["usage"]
    # Six candidates want twelve ideas: one list, and the opposite of the question.
    assert (usage["ideas"]["calls"], usage["checks"]["calls"]) == (2, 6)
    assert usage["generation"]["calls"] == 2 + 6 + 6


def test_an_interrupted_pool_goes_on_and_is_the_same(embedder: Fingerprints, draft: Path) -> None:
    whole = generate_pool(QUESTION, Scripted(flat(chef)), embedder, CARE)

    def failing(request: TextRequest, number: int) -> str:
        if number > 7:
            raise ModelUnavailableError("the model cannot be reached")
        return chef(request, number)

    with pytest.raises(ModelUnavailableError, match="kept in"):
        generate_pool(QUESTION, Scripted(flat(failing)), embedder, CARE, draft=draft)
    model = Scripted(flat(chef))
    pool = generate_pool(QUESTION, model, embedder, CARE, draft=draft)
    assert len(model.requests) == 14 - 7
    assert [c.text for c in pool] == [c.text for c in whole]


def test_near_duplicates_are_counted_among_the_rejected(embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        return "Cook a bowl of ramen tonight." if number <= 2 else answer(request, number)

    recipe = Recipe(size=3, style="unbiased", baseline=False)
    pool = generate_pool(QUESTION, Scripted(says), embedder, recipe)
    assert pool.meta["rejected"] == {"near duplicate": 1}


def test_content_words() -> None:
    assert content_words("Go for a walk") == content_words("the walks") == {"walk"}
    assert content_words("go to") == {"go", "to"}
    assert content_words("") == frozenset()


def test_a_real_small_model_makes_a_pool_with_care() -> None:
    weights.ensure("smollm2-135m")
    recipe = Recipe.concise(care=True, size=2, style="unbiased", baseline=False, max_tokens=48)
    pool = generate_pool("How should I spend a rainy Sunday?", Local("smollm2-135m"), None, recipe)
    assert len({c.text for c in pool}) == len(pool) == 2
    usage = pool.meta["usage"]
    assert usage["ideas"]["calls"] >= 2
    assert usage["checks"]["calls"] >= 1
    assert any("idea" in c.meta for c in pool)
