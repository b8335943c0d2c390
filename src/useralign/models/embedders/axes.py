"""Named axes that a language model scores, such as the paper's "spiciness" and "veginess".

Section "Evaluation Setup" of the paper, domain food2d: a language model scores each answer on each
axis in [-1, 1], and the scores are the features.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import ModelAnswerError, OptionError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.cache import text_key
from useralign.models.embedders.checks import as_texts, as_vectors
from useralign.models.embedders.scores import SYSTEM, Scale
from useralign.models.embedders.store import VectorStore
from useralign.models.generators.base import TextRequest
from useralign.models.generators.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from useralign.models.generators.base import Generator

FOOD2D = {
    "spiciness": "how hot and spicy the food is",
    "veginess": "how far the food is made of vegetables instead of meat or fish",
}
_TOKENS_AN_AXIS = 24


@dataclass(frozen=True, slots=True)
class _Item:
    place: int
    text: str
    key: bytes

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        return f"item {self.place} ({shown!r})"


class AxesEmbedder(Embedder):
    """Texts on axes that have a name and a meaning, scored by a language model.

    Each score is kept as soon as it is there, so that a run that fails is not paid for twice.

    Parameters
    ----------
    generator : Generator
        Who scores. It is asked for JSON, and its replies are read by schema.
    axes : mapping of str to str
        What each axis is called, and what it means; `FOOD2D` are the paper's.
    question : str
        What the texts answer.
    attempts : int
        How many replies to ask for before an item is given up, each with another seed.
    seed : int
        The first seed.
    name : str, optional
        What to call it; "axes:" and the names of the axes when not given.
    cache : bool
        Whether scores are kept between runs.
    folder : Path, optional
        Where they are kept; `embeddings` in the cache folder when not given.
    """

    embeds = frozenset({"text"})

    def __init__(
        self,
        generator: Generator,
        axes: Mapping[str, str],
        *,
        question: str = "",
        attempts: int = 3,
        seed: int = 0,
        name: str | None = None,
        cache: bool = True,
        folder: Path | None = None,
    ) -> None:
        if not axes or not all(key.strip() for key in axes):
            raise OptionError(f"axes={axes!r}: expected at least one axis, each with a name")
        if attempts < 1:
            raise OptionError(f"attempts={attempts}: expected at least 1")
        self.generator = generator
        self.scale = Scale(axes)
        self.question = question
        self.attempts = attempts
        self.seed = seed
        self.name = name or f"axes:{','.join(axes)}"
        self.dimension = len(axes)
        self._store = VectorStore(self.identity, folder) if cache else None

    @property
    def identity(self) -> str:
        """The model, the axes, the question and the seed: each of them changes scores."""
        parts = [self.generator.model, list(self.scale.axes.items()), self.question, self.seed]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
        return f"{self.name}:{digest}"

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts, shape (n, d), one column an axis; works within a running loop, too."""
        return wait_for(self.score(as_texts(texts)), self.generator)

    async def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts, shape (n, d), within a running loop.

        Raises
        ------
        ModelAnswerError
            If an item has no usable scores after all attempts; it names the item. The scores of
            the other items are kept.
        """
        texts = as_texts(texts)
        keys = [text_key(text) for text in texts]
        known = self._store.get(keys) if self._store else {}
        absent = {
            key: _Item(place, text, key)
            for place, (key, text) in enumerate(zip(keys, texts, strict=True))
            if key not in known
        }
        results = await asyncio.gather(
            *(self._score_item(item) for item in absent.values()), return_exceptions=True
        )
        for key, result in zip(absent, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            known[key] = result
        return as_vectors([known[key] for key in keys], len(keys), self.dimension, self.name)

    async def _score_item(self, item: _Item) -> NDArray[np.float64]:
        problem = ""
        for attempt in range(self.attempts):
            reply = (await self.generator.text(self._request(item, attempt))).text
            try:
                scores = np.array(self.scale.read(reply))
            except ValueError as error:
                problem = f"{error}; it said {reply[:80]!r}"
                continue
            if self._store:
                self._store.put({item.key: scores})
            return scores
        raise ModelAnswerError(
            f"{item}: {self.generator.model} gave no usable scores in {self.attempts} "
            f"attempt(s): {problem}. Try again, use a larger model, or leave the item out"
        )

    def _request(self, item: _Item, attempt: int) -> TextRequest:
        return TextRequest(
            prompt=self.scale.prompt(self.question, item.text),
            system=SYSTEM,
            # The first try is the model's best guess; more of the same would be the same.
            temperature=0.0 if attempt == 0 else 0.5,
            max_tokens=_TOKENS_AN_AXIS * (len(self.scale.axes) + 1),
            seed=self.seed + attempt,
            schema=self.scale.schema,
        )
