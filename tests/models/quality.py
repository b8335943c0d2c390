"""How well an embedder tells apart what people care about, on small sets of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.models import Embedder

# Eight contrasts (spicy or mild, beach or snow, ...), eight sentences on each side.
CONTRASTS: dict[str, tuple[list[str], list[str]]] = json.loads(
    Path(__file__).with_name("contrasts.json").read_text(encoding="utf-8")
)


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def sides(embedder: Embedder) -> float:
    """Share of sentences on the right side of the line between the means of the others."""
    return float(np.mean([_sides(embedder, *pair) for pair in CONTRASTS.values()]))


def _sides(embedder: Embedder, left: list[str], right: list[str]) -> float:
    vectors = unit(embedder.embed_texts(left + right))
    is_left = np.arange(len(vectors)) < len(left)
    hits = 0
    for place, vector in enumerate(vectors):
        others = np.arange(len(vectors)) != place
        a = vectors[others & is_left].mean(axis=0)
        b = vectors[others & ~is_left].mean(axis=0)
        hits += bool((vector - (a + b) / 2) @ (a - b) > 0) == bool(is_left[place])
    return hits / len(vectors)


def topics(embedder: Embedder) -> float:
    """Chance that two sentences on one topic are closer than two on different topics (AUC)."""
    texts = [text for pair in CONTRASTS.values() for side in pair for text in side]
    topic = np.repeat(np.arange(len(CONTRASTS)), [len(a) + len(b) for a, b in CONTRASTS.values()])
    vectors = unit(embedder.embed_texts(texts))
    first, second = np.triu_indices(len(texts), 1)
    close = np.einsum("nd,nd->n", vectors[first], vectors[second])
    same = topic[first] == topic[second]
    ranks = close.argsort().argsort() + 1
    positives = int(same.sum())
    below = ranks[same].sum() - positives * (positives + 1) / 2
    return float(below / (positives * (len(same) - positives)))
