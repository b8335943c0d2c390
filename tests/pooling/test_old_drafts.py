"""Drafts that the first version left on disk are finished from what is in them.

They were written at commit 3f10a76, by a model that refuses every fifth seed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from useralign.pooling import Growth, Recipe, generate_pool

from .conftest import QUESTION, Fingerprints, Scripted
from .growing import begun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from useralign import Candidate
    from useralign.models import TextRequest

DRAFTS = Path(__file__).parent / "drafts"
RECIPES = {
    "text": Recipe(size=6),
    "care": Recipe.concise(size=4, care=True),
    "image": Recipe(kind="image", size=4),
}


class Silent(Scripted):
    """Must not be asked."""

    def __init__(self, *, continues: bool = False) -> None:
        super().__init__(self.fail)
        self.draws = self.fail  # type: ignore[assignment]
        self.continues = continues

    @staticmethod
    def fail(request: TextRequest, number: int) -> str:
        raise AssertionError(f"call {number} asked for {request}")


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DRAFTS, tmp_path / "drafts"))


def expected(name: str) -> list[list[str]]:
    content: dict[str, list[list[str]]] = json.loads((DRAFTS / "expected.json").read_text())
    return content[name]


def facts(candidates: Iterable[Candidate]) -> list[list[str | None]]:
    return [[candidate.id, candidate.text] for candidate in candidates]


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_pool_is_finished_without_a_call(name: str, drafts: Path, embedder: Fingerprints) -> None:
    draft = drafts / f"{name}.jsonl"
    before = draft.read_bytes()
    model = Silent(continues=name == "care")
    pool = generate_pool(QUESTION, model, embedder, RECIPES[name], draft=draft)
    assert facts(pool) == expected(name)
    assert pool.meta["replayed"] > 0
    assert draft.read_bytes() == before


def test_a_session_grows_without_a_call(drafts: Path, embedder: Fingerprints) -> None:
    with Growth(Silent(), embedder, folder=drafts) as growth:
        grown = growth.grow(begun(embedder))
    assert facts(grown.joined) == expected("growth")
