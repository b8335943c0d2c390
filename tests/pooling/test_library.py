from __future__ import annotations

import time
from pathlib import Path

import pytest

from useralign import Pool
from useralign.errors import OptionError
from useralign.pooling import Library, Recipe, generate_pool

from .conftest import QUESTION, Fingerprints, Scripted


def test_a_made_pool_is_found_again_in_no_time(embedder: Fingerprints) -> None:
    library = Library()
    assert library.find(QUESTION, Recipe(), "scripted-1") is None
    pool = generate_pool(QUESTION, Scripted(), embedder)
    library.add(pool)
    start = time.perf_counter()
    found = library.find("what should I cook for dinner  tonight", Recipe(), "scripted-1")
    assert time.perf_counter() - start < 0.1
    assert found is not None
    assert found.to_dict() == pool.to_dict()
    assert library.find(QUESTION, Recipe(seed=1), "scripted-1") is None
    assert library.find(QUESTION, Recipe(), "other") is None


def test_any_pool_for_a_question(embedder: Fingerprints) -> None:
    library = Library()
    library.add(generate_pool(QUESTION, Scripted(), embedder, Recipe(size=4, seed=8)))
    found = library.find(QUESTION)
    assert found is not None
    assert len(found) == 4
    assert library.find(QUESTION, kind="image") is None
    assert library.find("What else?") is None
    assert [len(pool) for pool in library] == [4]


def test_a_pool_that_stopped_at_a_limit_is_to_be_resumed(embedder: Fingerprints) -> None:
    library = Library()
    library.add(generate_pool(QUESTION, Scripted(), embedder, Recipe(max_attempts=4)))
    assert library.find(QUESTION, Recipe(), "scripted-1") is None
    assert library.find(QUESTION) is not None


def test_pictures_are_kept_with_the_pool(tmp_path: Path, embedder: Fingerprints) -> None:
    library = Library(tmp_path / "library")
    recipe = Recipe(kind="image", size=3)
    pool = generate_pool(QUESTION, Scripted(), embedder, recipe, draft=tmp_path / "d.jsonl")
    library.add(pool)
    for candidate in pool:
        Path(candidate.image or "").unlink()
    found = library.find(QUESTION, kind="image")
    assert found is not None
    library.add(found)
    Path(found[0].image or "").unlink()
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
    assert list(library) == []


def test_what_the_library_cannot_do() -> None:
    with pytest.raises(OptionError, match="generate_pool"):
        Library().add(Pool("Which?", ["a", "b"], [[1.0], [0.0]]))
    with pytest.raises(OptionError, match="both"):
        Library().find(QUESTION, Recipe())
