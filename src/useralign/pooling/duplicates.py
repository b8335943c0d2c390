"""Near-duplicates: candidates so alike that a person cannot choose between them.

Texts are compared by the word triples they share, and all candidates by the cosine of their
features where these say what a candidate is (an embedding), not merely how spicy it is.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from useralign.pooling.words import shingles, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FEW_AXES = 16
"""With fewer features than this, equal directions do not mean equal candidates."""
MAX_OVERLAP = 0.5
"""Two sentences of twenty words that differ in two places share this much."""
MAX_COSINE = {"text": 0.92, "image": 0.97}
"""With the default text embedder, candidates of one question in food64d and travel64d reach 0.88 at
most; three paraphrases tried had 0.93 to 0.97. The limit for pictures is not measured: those for
one prompt are taken to be closer by nature."""
_BLOCK = 512


class Twins(NamedTuple):
    """Two candidates that are alike, by their places, and how much: 1 is the same."""

    first: int
    second: int
    similarity: float


def same(first: str, second: str) -> bool:
    """Return whether two texts have the same words in the same order."""
    return words(first) == words(second)


def overlap(first: str, second: str) -> float:
    """Return the share of word triples that two texts have in common (the Jaccard index)."""
    one, other = shingles(first), shingles(second)
    return len(one & other) / len(one | other) if one or other else 1.0


def cosine(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the cosine of two vectors; 0 when one of them has no direction."""
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size > 0 else 0.0


def near_duplicates(
    texts: Sequence[str],
    features: NDArray[np.float64] | None = None,
    *,
    max_overlap: float = MAX_OVERLAP,
    max_cosine: float = MAX_COSINE["text"],
) -> list[Twins]:
    """List all pairs of candidates that are alike.

    Parameters
    ----------
    texts : sequence of str
        Empty texts, such as those of pictures, are alike by their features only.
    features : ndarray, shape (K, d), optional
    max_overlap, max_cosine : float
        From which on two candidates are alike.

    Returns
    -------
    list of Twins
        By their places in the pool; the similarity is the larger of the two measures.
    """
    found: dict[tuple[int, int], float] = defaultdict(float)
    for pairs in (_by_words(texts, max_overlap), _by_features(features, max_cosine)):
        for first, second, similarity in pairs:
            found[first, second] = max(found[first, second], similarity)
    return [Twins(i, j, round(s, 4)) for (i, j), s in sorted(found.items())]


def _by_words(texts: Sequence[str], limit: float) -> list[tuple[int, int, float]]:
    """Compare all texts at once: the product of the incidence matrix with itself counts."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to load, and not needed to serve

    places: dict[tuple[str, ...], int] = {}
    rows, columns = [], []
    for row, text in enumerate(texts):
        for shingle in shingles(text):
            rows.append(row)
            columns.append(places.setdefault(shingle, len(places)))
    if not places:
        return []
    shape = (len(texts), len(places))
    incidence = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    sizes: NDArray[np.float64] = np.asarray(incidence.sum(axis=1)).ravel()
    found = []
    for start in range(0, len(texts), _BLOCK):
        shared = (incidence[start : start + _BLOCK] @ incidence.T).tocoo()
        first, second = shared.row + start, shared.col
        share = shared.data / (sizes[first] + sizes[second] - shared.data)
        alike = (share >= limit) & (first < second)
        found += list(zip(first[alike], second[alike], share[alike], strict=True))
    return [(int(i), int(j), float(s)) for i, j, s in found]


def _by_features(
    features: NDArray[np.float64] | None, limit: float
) -> list[tuple[int, int, float]]:
    if features is None or features.shape[1] < FEW_AXES:
        return []
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms > 0, norms, 1.0)
    found = []
    for start in range(0, len(unit), _BLOCK):
        cosines = unit[start : start + _BLOCK] @ unit.T
        for i, j in np.argwhere(cosines >= limit):
            if i + start < j:
                found.append((int(i + start), int(j), min(1.0, float(cosines[i, j]))))
    return found
