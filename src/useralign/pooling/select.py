"""Which candidates make up a pool: no two of them alike, if possible.

Texts are compared by the word triples they share, and all candidates by the cosine of their
features where these say what a candidate is (an embedding), not merely how spicy it is.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from useralign.errors import ModelUnavailableError
from useralign.models import embedder_for
from useralign.models.embedder import as_vectors
from useralign.pool import Candidate, Pool
from useralign.pooling.parse import shingles, words
from useralign.pooling.recipe import MAX_COSINE, MAX_OVERLAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from useralign.models import Embedder
    from useralign.pooling.recipe import Recipe

FEW_AXES = 16
"""With fewer features than this, equal directions do not mean equal candidates."""
_COPIED = 0.4  # the share of its word triples, in one other candidate, from which a text is a copy
_BLOCK = 512
_CELLS = 2_000_000

AnyEmbedder: TypeAlias = "str | Embedder | Callable[[list[str]], Any] | None"
"""A registered name, an embedder, a function of a list of items, or None for the default."""


class Features:
    """Features of candidates: each is embedded once, and `seconds` is the time that took."""

    def __init__(self, embedder: Embedder, kind: str) -> None:
        self.embedder = embedder
        self.seconds = 0.0
        self._images = kind == "image"
        self._rows: dict[str, NDArray[np.float64]] = {}

    @property
    def comparable(self) -> bool:
        """Whether they say what a candidate is, so that near ones are near-duplicates.

        True as long as their number is not known; it is when the first ones are embedded.
        """
        first = next(iter(self._rows.values()), ())
        dimension = self.embedder.dimension or len(first)
        return dimension == 0 or dimension >= FEW_AXES

    def embed(self, candidates: Sequence[Candidate]) -> None:
        """Embed the candidates that have no features yet."""
        items = [i for i in dict.fromkeys(map(self._item, candidates)) if i not in self._rows]
        if not items:
            return
        embed = self.embedder.embed_images if self._images else self.embedder.embed_texts
        matrix = as_vectors(self._timed(embed, items), len(items), 0, self.embedder.name)
        self._rows.update(zip(items, matrix, strict=True))

    def of_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the features of texts that are no candidates, shape (K, d)."""
        return self._timed(self.embedder.embed_texts, list(texts))

    def of(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return one candidate's features, shape (d,)."""
        return self._rows[self._item(candidate)]

    def matrix(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        """Return the features of candidates, shape (K, d)."""
        self.embed(candidates)
        return np.array([self.of(candidate) for candidate in candidates])

    def _timed(self, embed: Callable[[list[str]], Any], items: list[str]) -> NDArray[np.float64]:
        start = time.perf_counter()
        matrix = np.array(embed(items), dtype=np.float64)
        self.seconds += time.perf_counter() - start
        return matrix

    def _item(self, candidate: Candidate) -> str:
        return str(candidate.image) if self._images else candidate.text


def usable_features(embedder: AnyEmbedder, kind: str) -> Features:
    """Return the features by an embedder, or raise `ModelUnavailableError` if it cannot work here.

    Better before than after everything is paid for.
    """
    features = Features(embedder_for(embedder, kind), kind)
    if trouble := features.embedder.trouble():
        raise ModelUnavailableError(trouble)
    return features


def normalisation(features: NDArray[np.float64]) -> str:
    """Return how embedded features are normalised: `unit` as in the paper, where that can be.

    On a few named axes the length says as much as the direction, and a row of zeros has no
    direction: these keep their geometry.
    """
    few = features.shape[1] < FEW_AXES
    return "ball" if few or not features.any(axis=1).all() else "unit"


def embedded_pool(
    question: str,
    candidates: Sequence[Candidate],
    features: Features,
    baseline: Candidate | None = None,
    meta: dict[str, Any] | None = None,
) -> Pool:
    """Build a pool of candidates with these features."""
    rows = features.matrix(candidates)
    return Pool(
        question,
        candidates,
        rows,
        baseline,
        normalise=normalisation(rows),
        embedder=features.embedder.name,
        meta=meta,
    )


class Twins(NamedTuple):
    """Two candidates that are alike, by their indices, and how much: 1 is the same."""

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
    max_cosine: float = MAX_COSINE["text"],
    most: int | None = None,
) -> list[Twins]:
    """Return the pairs of candidates that are alike, by their indices; `most` are enough.

    Empty texts, such as those of pictures, are alike by their features only, shape (K, d). The
    similarity is the larger of the two measures.
    """
    similarities: dict[tuple[int, int], float] = defaultdict(float)
    for pairs in (_by_words(texts, MAX_OVERLAP), _by_features(features, max_cosine)):
        for first, second, similarity in islice(pairs, most):
            similarities[first, second] = max(similarities[first, second], similarity)
    twins = [Twins(i, j, round(s, 4)) for (i, j), s in sorted(similarities.items())]
    return twins[:most]


def _block(count: int) -> int:
    """Return how many rows are compared with all the others at once, in about the same memory."""
    return max(1, min(_BLOCK, _CELLS // max(1, count)))


def _by_words(texts: Sequence[str], limit: float) -> Iterator[tuple[int, int, float]]:
    """Compare all texts at once: the product of the incidence matrix with itself counts."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to load, and not needed to serve

    column_of: dict[tuple[str, ...], int] = {}
    rows, columns = [], []
    for row, text in enumerate(texts):
        for shingle in shingles(text):
            rows.append(row)
            columns.append(column_of.setdefault(shingle, len(column_of)))
    if not column_of:
        return
    shape = (len(texts), len(column_of))
    incidence = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    sizes: NDArray[np.float64] = np.asarray(incidence.sum(axis=1)).ravel()
    block = _block(len(texts))
    for start in range(0, len(texts), block):
        shared = (incidence[start : start + block] @ incidence.T).tocoo()
        first, second = shared.row + start, shared.col
        share = shared.data / (sizes[first] + sizes[second] - shared.data)
        alike = (share >= limit) & (first < second)
        for i, j, s in zip(first[alike], second[alike], share[alike], strict=True):
            yield int(i), int(j), float(s)


def _by_features(
    features: NDArray[np.float64] | None, limit: float
) -> Iterator[tuple[int, int, float]]:
    if features is None or features.shape[1] < FEW_AXES:
        return
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms > 0, norms, 1.0)
    block = _block(len(unit))
    for start in range(0, len(unit), block):
        cosines = unit[start : start + block] @ unit.T
        for i, j in np.argwhere(cosines >= limit):
            if i + start < j:
                yield int(i + start), int(j), min(1.0, float(cosines[i, j]))


class Likeness(NamedTuple):
    """How alike two candidates are: whether too much so, and the larger of the two measures."""

    alike: bool
    similarity: float


def likeness(
    first: Candidate,
    second: Candidate,
    recipe: Recipe,
    rows: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> Likeness:
    """Compare two candidates by their words, and by their features where these are given."""
    if _identical(first, second, recipe.kind):
        return Likeness(alike=True, similarity=1.0)
    # Pictures for the same interest have the same text, and may differ all the same.
    shared = overlap(first.text, second.text) if recipe.kind == "text" else 0.0
    near = cosine(*rows) if rows is not None and len(rows[0]) >= FEW_AXES else 0.0
    alike = shared >= recipe.max_overlap or near >= recipe.nearest
    return Likeness(alike, round(max(shared, near), 4))


def _identical(candidate: Candidate, other: Candidate, kind: str) -> bool:
    if kind == "image":
        return bool(candidate.meta.get("sha256") == other.meta.get("sha256", ""))
    return same(candidate.text, other.text)


def twin_of(
    candidate: Candidate,
    row: NDArray[np.float64],
    others: Sequence[Candidate],
    rows: NDArray[np.float64],
    recipe: Recipe,
) -> Candidate | None:
    """Return the first of other candidates that a new one is too much like or copied from.

    The candidate has the features `row`, shape (d,), and the others `rows`, shape (n, d).
    """
    own = shingles(candidate.text) if recipe.kind == "text" else frozenset()
    for other, theirs in zip(others, rows, strict=True):
        copied = own and len(own & shingles(other.text)) / len(own) >= _COPIED
        if copied or likeness(candidate, other, recipe, (row, theirs)).alike:
            return other
    return None


class Selection:
    """The candidates selected so far, and those set aside because they are like one of them.

    `duplicates` lists the pairs that are alike: the ids, the similarity, and whether the second is
    in the pool.
    """

    def __init__(self, recipe: Recipe, features: Features) -> None:
        self.candidates: list[Candidate] = []
        self.duplicates: list[dict[str, Any]] = []
        self._spares: list[Candidate] = []
        self._recipe = recipe
        self._features = features

    async def offer(self, candidates: Sequence[Candidate], quota: int) -> list[Candidate]:
        """Select those unlike all the selected ones, in order; return those set aside.

        No more than the quota are selected.
        """
        if self._features.comparable:
            await asyncio.to_thread(self._features.embed, candidates)
        aside = []
        for candidate in candidates:
            if quota <= 0:
                break
            measure, twin = self._most_alike(candidate)
            if twin is not None and measure.alike:
                aside.append(candidate)
                self._flag(candidate, twin, measure)
            else:
                self.candidates.append(candidate)
                quota -= 1
        self._spares += aside
        return aside

    def fill(self, count: int) -> None:
        """Fill the pool up with the least alike of those set aside, and mark them.

        The very same answer twice is left out: there is nothing to choose between.
        """
        while len(self.candidates) < count and self._spares:
            ranked = [(self._most_alike(spare), spare) for spare in self._spares]
            (measure, twin), spare = min(ranked, key=lambda pair: pair[0][0].similarity)
            self._spares.remove(spare)
            if twin is None or _identical(spare, twin, self._recipe.kind):
                continue
            mark = {"near_duplicate_of": twin.id, "similarity": measure.similarity}
            self.candidates.append(replace(spare, meta={**spare.meta, **mark}))
            self._flag(spare, twin, measure, selected=True)

    def _flag(
        self, candidate: Candidate, twin: Candidate, measure: Likeness, *, selected: bool = False
    ) -> None:
        self.duplicates = [d for d in self.duplicates if d["second"] != candidate.id]
        entry = {"first": twin.id, "second": candidate.id, "similarity": measure.similarity}
        self.duplicates.append({**entry, "kept": selected})

    def _most_alike(self, candidate: Candidate) -> tuple[Likeness, Candidate | None]:
        """Return the selected candidate that is most like another, and how much."""
        compare = self._features.comparable
        measures: list[tuple[Likeness, Candidate | None]] = []
        for other in self.candidates:
            rows = (self._features.of(candidate), self._features.of(other)) if compare else None
            measures.append((likeness(candidate, other, self._recipe, rows), other))
        nothing = (Likeness(alike=False, similarity=-1.0), None)
        return max(measures, key=itemgetter(0), default=nothing)
