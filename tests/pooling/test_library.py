from __future__ import annotations

import os
from pathlib import Path

import pytest

from useralign import Pool
from useralign.errors import OptionError
from useralign.pooling import Library, Recipe, generate_pool

from .conftest import QUESTION, Fingerprints, Scripted


def test_a_pool_is_found_again_without_any_embedding(embedder: Fingerprints) -> None:
    library = Library()
    assert library.find(QUESTION) is None
    pool = generate_pool(QUESTION, Scripted(), embedder)
    library.add(pool)
    count = len(embedder.embedded)
    again = library.find("what should I cook for dinner  tonight", embedder=embedder)
    assert again is not None
    assert again.to_dict() == pool.to_dict()
    assert len(embedder.embedded) == count


def test_the_newest_pool_for_a_question(embedder: Fingerprints) -> None:
    library = Library()
    for number, size in enumerate((5, 4)):
        pool = generate_pool(QUESTION, Scripted(), embedder, Recipe(size=size, seed=8))
        os.utime(library.add(pool), (number, number))
    newest = library.find(QUESTION)
    assert newest is not None
    assert len(newest) == 4
    assert library.find(QUESTION, kind="image") is None
    assert library.find("What else?") is None


def test_a_pool_that_stopped_at_a_limit_is_found(embedder: Fingerprints) -> None:
    library = Library()
    library.add(generate_pool(QUESTION, Scripted(), embedder, Recipe(max_attempts=4)))
    assert library.find(QUESTION) is not None


def test_pictures_are_kept_with_the_pool(tmp_path: Path, embedder: Fingerprints) -> None:
    library = Library(tmp_path / "library")
    recipe = Recipe(kind="image", size=3)
    pool = generate_pool(QUESTION, Scripted(), embedder, recipe, draft=tmp_path / "d.jsonl")
    library.add(pool)
    for candidate in pool:
        Path(candidate.image or "").unlink()
    again = library.find(QUESTION, kind="image")
    assert again is not None
    library.add(again)
    Path(again[0].image or "").unlink()
    assert library.find(QUESTION, kind="image") is None


def test_another_embedder_embeds_anew(embedder: Fingerprints) -> None:
    library = Library()
    library.add(generate_pool(QUESTION, Scripted(), embedder, Recipe(size=4)))
    same = library.find(QUESTION, embedder=Fingerprints())
    other = library.find(QUESTION, embedder=Fingerprints(64))
    assert same is not None
    assert other is not None
    assert (same.dimension, other.dimension) == (32, 64)
    assert other.embedder == "fingerprints-64"


def test_a_damaged_pool_counts_as_not_there(embedder: Fingerprints) -> None:
    library = Library()
    path = library.add(generate_pool(QUESTION, Scripted(), embedder))
    path.write_bytes(path.read_bytes()[:100])
    assert library.find(QUESTION) is None


def test_what_the_library_cannot_do() -> None:
    with pytest.raises(OptionError, match="generate_pool"):
        Library().add(Pool("Which?", ["a", "b"], [[1.0], [0.0]]))
