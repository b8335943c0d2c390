"""The default for texts: WordLlama, static vectors from the input layers of language models.

Miller 2024. The package `wordllama` (MIT) carries the weights, so nothing is downloaded. Its code
is not imported: it would set up logging for the whole process. Its two files are read instead.
"""

from __future__ import annotations

import json
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import ModelUnavailableError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.checks import as_texts, missing
from useralign.models.embedders.pinned import read_pinned
from useralign.models.embedders.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENISER = "tokenizers/l2_supercat_tokenizer_config.json"
SHA256 = {
    WEIGHTS: ("64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",),
    # The same tokeniser in release 0.2.2.post0, and laid out differently in 0.4.0.post1, whose
    # wheels for Windows end their lines in another way.
    TOKENISER: (
        "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
        "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
        "cbcf4290c0a54f900359efb45bac46a0ec237de45fcc4c64314d5d4ac17c26da",
    ),
}
REMEDY = "pip install --force-reinstall --no-deps wordllama==0.2.2.post0"
_BLOCK = 4096


class WordLlama(Embedder):
    """WordLlama L2 supercat, the first 64 of its 256 numbers (it is trained to be cut so)."""

    name = "wordllama"
    dimension = 64
    embeds = frozenset({"text"})

    @property
    def identity(self) -> str:
        """The name and the weights."""
        return f"{self.name}:{SHA256[WEIGHTS][0]}"

    def trouble(self) -> str | None:
        """Return what is not installed, or which file the installed release lacks, or None."""
        if absent := missing(["wordllama", "tokenizers"]):
            return absent
        lost = [name for name in SHA256 if not (_folder() / name).is_file()]
        return f"the installed wordllama has no {lost[0]}: {REMEDY}" if lost else None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, 64): the mean of the vectors of their tokens."""
        rows = [self._mean(np.array(self._tokens.numbers(text))) for text in as_texts(texts)]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.dimension)

    def _mean(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Average in blocks, so that a text of a megabyte does not take a gigabyte."""
        total = np.zeros(self.dimension)
        for start in range(0, len(numbers), _BLOCK):
            total += self._table[numbers[start : start + _BLOCK]].sum(axis=0, dtype=np.float64)
        return total / len(numbers)

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(_read(TOKENISER))

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        return only_tensor(_read(WEIGHTS))[:, : self.dimension].astype(np.float32)


def _folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModelUnavailableError(f"wordllama is not installed: {REMEDY}")
    return Path(spec.origin).parent


def _read(name: str) -> bytes:
    return read_pinned(_folder() / name, SHA256[name], REMEDY)


def only_tensor(content: bytes) -> NDArray[np.float16]:
    """Return the only tensor of a safetensors file: a length, a JSON header, then the numbers."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    (entry,) = (value for name, value in header.items() if name != "__metadata__")
    first, last = entry["data_offsets"]
    numbers = np.frombuffer(content[start + first : start + last], dtype="<f2")
    return numbers.reshape(entry["shape"])
