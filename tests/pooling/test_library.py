from __future__ import annotations

import os
from pathlib import Path

from useralign.pooling import Recipe, generate_pool
from useralign.pooling.library import find_generated, save_generated

from .conftest import QUESTION, Fingerprints, Scripted


def test_a_pool_is_found_again_without_any_embedding(embedder: Fingerprints) -> None:
    assert find_generated(QUESTION) is None
    pool = generate_pool(QUESTION, Scripted(), embedder)
    save_generated(pool)
    count = len(embedder.embedded)
    again = find_generated("what should I cook for dinner  tonight", embedder=embedder)
    assert again is not None
    assert again.to_dict() == pool.to_dict()
    assert len(embedder.embedded) == count


def test_the_newest_pool_for_a_question(embedder: Fingerprints) -> None:
    for number, size in enumerate((5, 4)):
        pool = generate_pool(QUESTION, Scripted(), embedder, Recipe(size=size, seed=8))
        os.utime(save_generated(pool), (number, number))
    newest = find_generated(QUESTION)
    assert newest is not None
    assert len(newest) == 4
    assert find_generated(QUESTION, kind="image") is None
    assert find_generated("What else?") is None


def test_a_pool_that_stopped_at_a_limit_is_found(embedder: Fingerprints) -> None:
    save_generated(generate_pool(QUESTION, Scripted(), embedder, Recipe(max_attempts=4)))
    assert find_generated(QUESTION) is not None


def test_pictures_are_kept_with_the_pool(tmp_path: Path, embedder: Fingerprints) -> None:
    recipe = Recipe(kind="image", size=3)
    pool = generate_pool(QUESTION, Scripted(), embedder, recipe, draft=tmp_path / "d.jsonl")
    save_generated(pool)
    for candidate in pool:
        Path(candidate.image or "").unlink()
    again = find_generated(QUESTION, kind="image")
    assert again is not None
    save_generated(again)
    Path(again[0].image or "").unlink()
    assert find_generated(QUESTION, kind="image") is None


def test_another_embedder_embeds_anew(embedder: Fingerprints) -> None:
    save_generated(generate_pool(QUESTION, Scripted(), embedder, Recipe(size=4)))
    same = find_generated(QUESTION, embedder=Fingerprints())
    other = find_generated(QUESTION, embedder=Fingerprints(64))
    assert same is not None
    assert other is not None
    assert (same.dimension, other.dimension) == (32, 64)
    assert other.embedder == "fingerprints-64"


def test_a_damaged_pool_counts_as_not_there(embedder: Fingerprints) -> None:
    path = save_generated(generate_pool(QUESTION, Scripted(), embedder))
    path.write_bytes(path.read_bytes()[:100])
    assert find_generated(QUESTION) is None
