"""A model that says what a test tells it to, and an embedder that needs no weights."""

from __future__ import annotations

import asyncio
import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from useralign.errors import ModelUnavailableError
from useralign.models import Embedder, Generator, ImageRequest, Picture, Text, TextRequest, Usage
from useralign.pooling.prompts import LISTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

QUESTION = "What should I cook for dinner tonight?"
PRICE = 0.01
Answer = Callable[[TextRequest, int], str]


def is_interests(request: TextRequest) -> bool:
    return request.schema is not None


def is_ideas(request: TextRequest) -> bool:
    return request.system == LISTING


def ideas(request: TextRequest) -> str:
    """A dozen ideas of one word each, all different."""
    return "\n".join(dish(f"{request.seed}/{i}").split()[1] for i in range(12))


def interests(request: TextRequest) -> str:
    assert request.schema is not None
    count = request.schema["properties"]["interests"]["minItems"]
    start = request.seed or 0
    return json.dumps({"interests": [f"hobby {start} number {i}" for i in range(count)]})


def dish(number: object) -> str:
    """A sentence that shares no three words with that of another number."""
    salt = hashlib.sha256(str(number).encode()).hexdigest()
    picked = " ".join(salt[i : i + 4] for i in range(0, 40, 4))
    return f"Cook {picked} because {salt[40:]}."


def answer(request: TextRequest, number: int) -> str:
    """Give sound interests and ideas, and an answer of its own to each seed."""
    if is_ideas(request):
        return ideas(request)
    return interests(request) if is_interests(request) else dish(request.seed)


class Scripted(Generator):
    """Answers by a function of the request and the number of the call, from 1."""

    name = "scripted"
    makes = frozenset({"text", "image"})

    def __init__(self, says: Answer = answer, *, price: float | None = PRICE) -> None:
        self.model = "scripted-1"
        self.says = says
        self.price = price
        self.delay = 0.0
        self.finish = "stop"
        self.draws: Callable[[ImageRequest, int], bytes] = lambda request, _: png(request.seed or 0)
        self.requests: list[TextRequest] = []
        self.drawn: list[ImageRequest] = []
        self.answered = 0

    @property
    def usage(self) -> Usage:
        return Usage(1, 10, 20, 0, 0.5, self.price)

    async def text(self, request: TextRequest) -> Text:
        self.requests.append(request)
        number = len(self.requests)
        await asyncio.sleep(self.delay)
        said = self.says(request, number)
        self.answered += 1
        return Text(said, self.model, self.finish, self.usage)

    async def image(self, request: ImageRequest) -> Picture:
        self.drawn.append(request)
        number = len(self.drawn)
        await asyncio.sleep(self.delay)
        usage = Usage(1, 10, 0, 1, 0.5, self.price)
        return Picture(self.draws(request, number), self.model, usage=usage)


class Fingerprints(Embedder):
    """Features from a hash of the words: the same for the same text, far apart for others."""

    embeds = frozenset({"text", "image"})

    def __init__(self, dimension: int = 32) -> None:
        self.name = f"fingerprints-{dimension}"
        self.dimension = dimension
        self.embedded: list[str] = []

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.embedded += texts
        return np.array([self._vector(text.encode()) for text in texts])

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        self.embedded += map(str, paths)
        return np.array([self._vector(Path(path).read_bytes()) for path in paths])

    def _vector(self, data: bytes) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(data).digest()[:8])
        return np.random.default_rng(seed).standard_normal(self.dimension)


def png(shade: int) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    size = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00" + shade.to_bytes(8)[-3:])
    parts = chunk(b"IHDR", size) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def failing_at(number: int, error: Exception | None = None) -> Answer:
    """Answer until the n-th call, and fail from there on."""

    def says(request: TextRequest, call: int) -> str:
        if call >= number:
            raise error or ModelUnavailableError("the model cannot be reached")
        return answer(request, call)

    return says


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("useralign.pooling.client.GRACE", 0.2)


@pytest.fixture
def embedder() -> Fingerprints:
    return Fingerprints()


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return tmp_path / "draft.jsonl"
