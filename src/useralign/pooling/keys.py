"""Which pool is which: keys that drafts and the library file pools under."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.pooling.journal import digest
from useralign.pooling.words import words

if TYPE_CHECKING:
    from useralign.pooling.recipe import Recipe


def question_key(question: str, kind: str) -> str:
    """Return a key that is the same for all ways to write a question: case, spaces, marks."""
    return digest([words(question), kind])[:12]


def pool_key(question: str, recipe: Recipe, model: str) -> str:
    """Return the key of the pool that a recipe and a model make for a question."""
    return f"{question_key(question, recipe.kind)}-{digest([recipe.identity(), model])[:12]}"
