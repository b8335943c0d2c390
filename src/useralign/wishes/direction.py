"""From phrases to a direction in a pool's features.

`more` and `less` and the candidates' texts are embedded, and `more - less` scores every candidate;
the direction is the one along which the features predict those scores. Where the features are that
embedding itself, this is the projection onto what varies in the pool; where they are something
else, such as named axes or a picture's vector, it is what of the phrases can be seen in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import AnswerError
from useralign.wishes.phrases import Phrases, read, read_with_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.models import Embedder, Generator
    from useralign.pool import Pool

READER = "minilm"  # reads remarks better than the smaller default: docs/feedback.md
_RANK = 1e-6  # relative size below which a direction does not vary in the pool


def direction_of(
    text: str,
    pool: Pool,
    *,
    embedder: str | Embedder | None = None,
    generator: Generator | None = None,
) -> NDArray[np.float64]:
    """Return the direction in which a remark points, shape (d,), for `Session.remark`.

    A generator reads the remark; without one, a rule for English does. The embedder is for the
    remark and the candidates' texts; when not given, MiniLM if its weights are here, else the
    pool's own if that embeds texts, else the default. Raises `AnswerError` if there is nothing in
    the remark to go by or nothing that tells the candidates apart, and `ModelAnswerError`.
    """
    from useralign.models import wait_for  # noqa: PLC0415 - loaded when a text is embedded

    if not isinstance(text, str):
        raise AnswerError(f"a remark must be a text, got {type(text).__name__}")
    if generator is None:
        phrases = read(text)
    else:
        phrases = wait_for(read_with_model(generator, pool.question, text), generator)
    if not any(phrases):
        raise AnswerError(
            "the remark says nothing to go by; say what there should be more or less of, for "
            'example "less spicy"'
        )
    if not all(candidate.text.strip() for candidate in pool):
        raise AnswerError(
            "remarks need candidates with texts; some of this pool have none. In Python, "
            "direction= says where a remark points"
        )
    direction = along(similarities(phrases, pool, embedder=embedder), pool)
    if direction is None:
        raise AnswerError(f"the candidates do not differ in what {phrases} asks for")
    return direction


def similarities(
    phrases: Phrases, pool: Pool, *, embedder: str | Embedder | None = None
) -> NDArray[np.float64]:
    """Return how near each candidate's text is to `more` and how far from the rest, shape (K,)."""
    from useralign.models import embedder_for  # noqa: PLC0415 - loaded when a text is embedded

    less = (*phrases.less, *phrases.none)
    texts = [candidate.text for candidate in pool]
    model = embedder_for(embedder or _reader(pool))
    vectors = _units(model.embed_texts([*texts, *phrases.more, *less]))
    candidates, items = vectors[: len(texts)], vectors[len(texts) :]
    counts = [len(phrases.more), len(less)]
    signs = np.repeat([1.0, -1.0], counts) / np.repeat(np.maximum(counts, 1), counts)
    return np.asarray((candidates - candidates.mean(axis=0)) @ (signs @ items))


def along(scores: NDArray[np.float64], pool: Pool) -> NDArray[np.float64] | None:
    """Return the direction, shape (d,), in which features predict scores, shape (K,), or None."""
    varying = pool.raw_features - pool.raw_features.mean(axis=0)
    direction = np.asarray(np.linalg.lstsq(varying, scores, rcond=_RANK)[0])
    return direction if np.linalg.norm(varying @ direction) > 0.0 else None


def _reader(pool: Pool) -> str | None:
    """Return the embedder to read a remark with; None is the default."""
    from useralign.models import embedder_statuses  # noqa: PLC0415 - see above

    usable = {s.name for s in embedder_statuses() if s.usable and "text" in s.embeds}
    return next((name for name in (READER, pool.embedder) if name in usable), None)


def _units(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
