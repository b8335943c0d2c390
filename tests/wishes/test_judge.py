"""What wishes do to pools: which candidates are hidden, which come first, and in which words."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import useralign as ua
from useralign.domains import load
from useralign.errors import AnswerError, ModelAnswerError
from useralign.models import Scripted, TextRequest
from useralign.wishes import chips, judge
from useralign.wishes.judge import describe, judge_with_model

TEXTS = [
    "Hot chilli noodles.", "Beef burritos with salsa.", "Grilled trout.", "Tofu salad, quick.",
    "Duck in orange sauce.", "Pea soup without ham.", "Apple pie with cream.", "Spicy lentils.",
]  # fmt: skip


@pytest.fixture
def pool() -> ua.Pool:
    features = np.random.default_rng(3).normal(size=(len(TEXTS), 4))
    return ua.Pool("What shall I cook?", TEXTS, features)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the replies of one test from the next."""
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "hidden", "favoured", "effect"),
    [
        ("no fish", [2], [], "hiding 1 with fish"),
        ("vegetarian", [1, 2, 4], [], "hiding 3 with meat or fish"),
        ("vegetarian, no meat and no fish please", [1, 2, 4], [], "hiding 3 with meat or fish"),
        ("no ham", [], [5], "none here names ham; first those that say no ham"),
        ("végétarien", [1, 2, 4], [], "hiding 3 with meat or fish"),
        ("spicy", [], [0, 7], "spicy first"),
        ("less spicy", [], [1, 2, 3, 4, 5, 6], "spicy last"),
        ("not spicy", [0, 7], [], "hiding 2 that are spicy"),
        ("spicy, but no noodles", [0], [7], "hiding 1 with noodles; spicy first"),
        ("no whale", [], [], "none here names whale"),
        ("tofu", [], [3], "tofu first"),
        ("vegan", [1, 2, 4, 6], [], "hiding 4 with meat, fish or dairy"),
    ],
)
def test_by_words(
    pool: ua.Pool, text: str, hidden: list[int], favoured: list[int], effect: str
) -> None:
    judgement = judge(text, pool)
    assert judgement.hidden == tuple(hidden)
    assert judgement.favoured == tuple(favoured)
    assert describe(text, pool, judgement) == effect


def test_what_is_wanted_points_towards_those_that_have_it(pool: ua.Pool) -> None:
    judgement = judge("spicy", pool)
    along = pool.raw_features @ np.array(judgement.direction)
    assert min(along[[0, 7]]) > np.delete(along, [0, 7]).mean()
    assert judge("no fish", pool).direction == ()


def test_without_the_word_embeddings_find_the_nearest() -> None:
    texts = ["A fast train through the Alps.", "A slow boat.", "Railway museum.", "Beach.", "Pub."]
    pool = ua.Pool.from_texts("Where?", texts, embedder="wordllama")
    judgement = judge("locomotives and carriages", pool)
    assert judgement.favoured
    assert set(judgement.favoured) <= {0, 2}
    assert describe("carriages", pool, judgement) == "closest to carriages first"


@pytest.mark.parametrize("text", ["", "  ", "please", "!!!", 3, "x" * 1001])
def test_a_wish_that_says_nothing(pool: ua.Pool, text: str) -> None:
    with pytest.raises(AnswerError, match="wish"):
        judge(text, pool)


def test_candidates_need_texts() -> None:
    with pytest.raises(AnswerError, match="texts"):
        judge("no fish", ua.Pool.from_features(np.eye(3)))


def reply(breaks: list[int], fits: list[int]) -> str:
    return f"Sure!\n```json\n{json.dumps({'breaks': breaks, 'fits': fits})}\n```"


def test_a_model_adds_to_the_words_in_one_call(pool: ua.Pool) -> None:
    model = Scripted([reply([1], [3, 7])])
    judgement = judge("no fish", pool, model=model)
    assert judgement.hidden == (0, 2), "what the words find stays hidden"
    assert judgement.favoured == (6,), "2 is hidden, so it cannot come first"
    (request,) = model.requests
    assert isinstance(request, TextRequest)
    asked = json.loads(request.prompt)
    assert asked["wish"] == "no fish"
    assert asked["answers"]["3"] == TEXTS[2]
    assert request.temperature == 0.0


def test_a_model_is_not_asked_twice(pool: ua.Pool) -> None:
    model = Scripted([reply([1], [])])
    assert judge("no fish", pool, model=model) == judge("no fish", pool, model=model)
    assert len(model.requests) == 1


@pytest.mark.parametrize("bad", ["no", "{}", reply([99], []), reply([0], []), '{"breaks": "1"}'])
def test_what_a_model_says_is_checked(pool: ua.Pool, bad: str) -> None:
    good = asyncio.run(judge_with_model(Scripted([bad, reply([1], [2])]), "no fish", pool))
    assert good == ({0}, {1})
    with pytest.raises(ModelAnswerError, match="in 2 tries"):
        asyncio.run(judge_with_model(Scripted([bad]), "no fish", pool))
    assert judge("no fish", pool, model=Scripted([bad])).hidden == (2,), "words do without it"


def test_a_model_that_would_hide_everything_is_not_followed(pool: ua.Pool) -> None:
    everything = Scripted([reply(list(range(1, 9)), [])])
    assert judge("no fish", pool, model=everything).hidden == (2,)
    most = Scripted([reply([1, 2, 3, 4, 5], [])])
    assert judge("spicy", pool, model=most).hidden == (), "nothing was ruled out"


def test_a_pool_is_judged_within_limits() -> None:
    pool = ua.Pool("?", [f"{k} " + "long " * 1000 for k in range(100)], np.eye(100))
    model = Scripted([reply([60], [])])
    assert judge("no whale", pool, model=model).hidden == (59,)
    asked = json.loads(model.requests[0].prompt)["answers"]
    assert len(asked) == 60
    assert max(map(len, asked.values())) == 400


def test_chips_come_from_the_pool(pool: ua.Pool) -> None:
    texts = [chip.text for chip in chips(pool)]
    assert texts[0] == "vegetarian"
    assert "spicy" in texts
    assert len(chips(pool, most=1)) == 1
    assert chips(pool, most=0) == []
    assert chips(ua.Pool.from_features(np.eye(3))) == []


@pytest.mark.parametrize("name", ["food64d", "travel64d", "dsp64d"])
def test_every_chip_of_a_shipped_question_does_what_it_says(name: str) -> None:
    for question in load(name).questions[:4]:
        pool = ua.Pool(question.text, question.select(), np.eye(20))
        proposed = chips(pool)
        assert 5 <= len(proposed) <= 12, question.id
        assert len({chip.text for chip in proposed}) == len(proposed)
        for chip in proposed:
            judgement = judge(chip.text, pool)
            assert len(judgement.hidden) == chip.hides
            assert len(judgement.favoured) >= chip.favours
            assert chip.hides or chip.favours


def test_words_without_end_are_no_chips() -> None:
    pool = ua.Pool("?", [f"{'x' * 3000} {k}" for k in range(4)] + ["tea", "rice"] * 4, np.eye(12))
    assert all(len(chip.text) < 30 for chip in chips(pool))


def test_pictures_are_not_asked_about_diets() -> None:
    pool = load("visual512d").questions[0].pool()
    stored = [replace(c, image=None, meta={"media": c.id}) for c in pool]  # as a page has them
    for one in (pool, ua.Pool(pool.question, stored, np.eye(len(stored)))):
        texts = {chip.text for chip in chips(one)}
        assert texts
        assert texts.isdisjoint({"vegan", "vegetarian", "no meat", "no dairy", "healthy", "spicy"})


def test_interests_are_chips() -> None:
    question = load("travel64d").questions[0]
    pool = ua.Pool(question.text, question.select(), np.eye(20))
    interests = {candidate.interest for candidate in pool} - {None}
    proposed = [chip.text for chip in chips(pool)]
    assert interests.intersection(proposed)
    judgement = judge("birdwatching", pool)
    assert any(pool[k].interest == "birdwatching" for k in judgement.favoured)
