"""Replies and vectors on disk: found again, and never in the way."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from useralign.errors import InputError, ModelAnswerError, ModelUnavailableError
from useralign.models import (
    CachedEmbedder,
    CachedGenerator,
    Embedder,
    FunctionEmbedder,
    ImageRequest,
    Scripted,
    TextRequest,
    Usage,
    embedder_for,
    plain,
)
from useralign.models.cache import Cache
from useralign.models.conformance import check_embedder, check_generator
from useralign.models.openai import OpenAI
from useralign.models.scripted import PIXEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.usefixtures("own_cache", "no_network")
ASK = TextRequest("q", system="s", temperature=0.5, max_tokens=9, seed=1, min_p=0.1)
DRAW = ImageRequest("p", seed=1)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_the_second_time_it_is_not_asked(tmp_path: Path) -> None:
    inner = Scripted(["one", "two"])
    first = asyncio.run(CachedGenerator(inner, tmp_path).text(ASK))
    again = asyncio.run(CachedGenerator(inner, tmp_path).text(ASK))
    assert (first.text, first.cached, first.usage.calls) == ("one", False, 1)
    assert (again.text, again.cached, again.usage) == ("one", True, Usage())
    assert inner.calls == 1


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "Q"},
        {"system": None},
        {"temperature": 0.6},
        {"max_tokens": 10},
        {"seed": 2},
        {"min_p": None},
        {"schema": {"type": "object"}},
    ],
)
def test_everything_about_a_request_matters(change: dict[str, object], tmp_path: Path) -> None:
    inner = Scripted()
    cached = CachedGenerator(inner, tmp_path)
    asyncio.run(cached.text(ASK))
    asyncio.run(cached.text(replace(ASK, **change)))  # type: ignore[arg-type]
    assert inner.calls == 2


def test_the_model_matters_and_its_address_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = Scripted(["a"], model="a"), Scripted(["b"], model="b")
    assert asyncio.run(CachedGenerator(a, tmp_path).text(ASK)).text == "a"
    assert asyncio.run(CachedGenerator(b, tmp_path).text(ASK)).text == "b"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    at = [f"http://{who}localhost:{port}/v1" for who, port in (("", 1), ("u:p@", 1), ("", 2))]
    one, same, other = (OpenAI(base_url=address).identity for address in at)
    assert one == same != other


def test_a_fresh_sample_is_not_kept(tmp_path: Path) -> None:
    inner = Scripted()
    cached = CachedGenerator(inner, tmp_path)
    for _ in range(2):
        asyncio.run(cached.text(replace(ASK, seed=None)))
        asyncio.run(cached.image(replace(DRAW, seed=None)))
    assert inner.calls == 4
    assert entries(tmp_path) == []
    for _ in range(2):
        asyncio.run(cached.text(replace(ASK, seed=None, temperature=0.0)))
    assert inner.calls == 5


def overwrite(folder: Path, value: bytes, crc: int | None = None) -> None:
    """Replace all values in a cache of replies, with the checksum of the old ones or another."""
    base = sqlite3.connect(folder / "replies.sqlite")
    with base:
        base.execute("UPDATE entries SET value = ?, crc = coalesce(?, crc)", (value, crc))
    base.close()


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"text": 3, "model": null}'])
def test_a_damaged_entry_counts_as_missing(damage: bytes, tmp_path: Path, *, checked: bool) -> None:
    inner = Scripted()
    cached = CachedGenerator(inner, tmp_path)
    asyncio.run(cached.text(ASK))
    asyncio.run(cached.image(DRAW))
    overwrite(tmp_path, damage, zlib.crc32(damage) if checked else None)
    assert not asyncio.run(cached.text(ASK)).cached
    assert not asyncio.run(cached.image(DRAW)).cached
    assert asyncio.run(cached.text(ASK)).cached
    assert asyncio.run(cached.image(DRAW)).cached


def test_a_cache_of_replies_that_is_no_database(tmp_path: Path) -> None:
    cached = CachedGenerator(Scripted(), tmp_path)
    (tmp_path / "replies.sqlite").write_text("not a database at all" * 100)
    assert not asyncio.run(cached.text(ASK)).cached
    assert asyncio.run(cached.text(ASK)).cached
    assert (tmp_path / "replies.damaged").exists()


def test_pictures_come_back_to_the_last_byte(tmp_path: Path) -> None:
    inner = Scripted()
    cached = CachedGenerator(inner, tmp_path)
    first, again = asyncio.run(cached.image(DRAW)), asyncio.run(cached.image(DRAW))
    assert first.data == again.data == PIXEL
    assert (again.cached, again.media_type, again.usage) == (True, "image/png", Usage())
    assert inner.calls == 1


def old_entry(folder: Path, kind: str, request: TextRequest | ImageRequest) -> Path:
    """Return the path at which version 0.1 kept a reply of `Scripted`."""
    by = {"generator": "scripted", "model": "scripted"}
    what = {"format": 1, "kind": kind, "by": by, "request": plain(request)}
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
    path = folder / digest[:2] / f"{digest}.json"
    path.parent.mkdir(exist_ok=True)
    return path


@pytest.mark.parametrize("damage", [None, b"", b"{", b"[]", b"\xff", b'{"answer": {"text": 3}}'])
def test_replies_that_were_paid_for_before_are_found(tmp_path: Path, damage: bytes | None) -> None:
    inner = Scripted(["another"])
    text, picture = old_entry(tmp_path, "text", ASK), old_entry(tmp_path, "image", DRAW)
    reply = {"text": "old", "model": "m", "finish": "stop", "usage": {}, "cached": False}
    text.write_bytes(json.dumps({"answer": reply}).encode() if damage is None else damage)
    digest = hashlib.sha256(PIXEL).hexdigest()
    file = picture.with_suffix(".png")
    drawn = {"data": {"file": file.name, "sha256": digest}, "model": "m", "media_type": "image/png"}
    picture.write_text(json.dumps({"answer": drawn}))
    file.write_bytes(PIXEL if damage is None else damage)
    cached = CachedGenerator(inner, tmp_path)
    assert asyncio.run(cached.text(ASK)).cached == (damage is None)
    assert asyncio.run(cached.image(DRAW)).cached == (damage is None)
    assert inner.calls == (0 if damage is None else 2)


def test_failures_are_not_kept(tmp_path: Path) -> None:
    inner = Scripted(["fine"], failures={0: ModelAnswerError("no")})
    cached = CachedGenerator(inner, tmp_path)
    with pytest.raises(ModelAnswerError):
        asyncio.run(cached.text(ASK))
    assert asyncio.run(cached.text(ASK)).text == "fine"


def test_of_two_at_once_one_is_asked(tmp_path: Path) -> None:
    inner = Scripted(["one", "two"], seconds=0.02)
    cached = CachedGenerator(inner, tmp_path)

    async def run() -> set[str]:
        texts = await asyncio.gather(*(cached.text(ASK) for _ in range(5)))
        return {text.text for text in texts}

    assert asyncio.run(run()) == {"one"}
    assert inner.calls == 1


def test_an_answer_is_not_lost_when_it_cannot_be_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(CachedGenerator(Scripted(["fine"]), blocked).text(ASK)).text == "fine"
    assert "could not be kept" in caplog.text


def test_the_default_folder_and_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    cached = CachedGenerator(Scripted())
    assert cached.folder == tmp_path / "generations"
    assert repr(cached).startswith("CachedGenerator(")
    check_generator(cached)
    check_generator(CachedGenerator(Scripted()))


class Counting(FunctionEmbedder):
    """Counts what it is asked for."""

    def __init__(self, dimension: int = 2) -> None:
        self.seen: list[str] = []
        super().__init__(self.count, "counting", dimension)

    def count(self, items: list[str]) -> NDArray[np.float64]:
        self.seen += items
        return np.array([[len(item), 1 / len(item)][: self.dimension] for item in items])


def test_each_item_is_embedded_once(own_cache: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = cached.embed_texts(["a", "bbb", "a"])
    again = CachedEmbedder(inner).embed_texts(["bbb", "cc", "a"])
    assert inner.seen == ["a", "bbb", "cc"]
    np.testing.assert_array_equal(first, inner.count(["a", "bbb", "a"]))
    np.testing.assert_array_equal(again, inner.count(["bbb", "cc", "a"]))
    assert list((own_cache / "embeddings").glob("vectors.sqlite"))


def test_keeps_the_contract() -> None:
    check_embedder(CachedEmbedder(Counting()))


def test_only_costly_embedders_are_cached() -> None:
    assert isinstance(embedder_for("minilm"), CachedEmbedder)
    assert not isinstance(embedder_for("wordllama"), CachedEmbedder)


def test_thirds_come_back_to_the_last_bit(tmp_path: Path) -> None:
    vectors = {"thirds": [1 / 3, 2.0], "halves": [0.5, 0.25]}
    exact = FunctionEmbedder(lambda items: [vectors[item] for item in items], "exact")
    for _ in range(2):
        rows = CachedEmbedder(exact, tmp_path).embed_texts(list(vectors))
        np.testing.assert_array_equal(rows, list(vectors.values()))


def test_more_keys_than_one_statement_takes(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "many.sqlite")
    entries = {i.to_bytes(32, "big"): bytes([i % 256]) for i in range(2500)}
    cache.put(entries)
    assert cache.get([*entries, b"x" * 32]) == entries


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100, None])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, damage: bytes | None) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path)
    cached.embed_texts(["a", "bb"])
    (path,) = tmp_path.glob("*.sqlite")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    np.testing.assert_array_equal(cached.embed_texts(["a", "bb"]), inner.count(["a", "bb"]))
    inner.seen.clear()
    cached.embed_texts(["a", "bb"])
    assert inner.seen == []


def test_every_byte_of_the_file_may_be_damaged(tmp_path: Path, rng: np.random.Generator) -> None:
    inner = Counting()
    texts = [f"{'x' * i}" for i in range(1, 20)]
    expected = inner.count(texts)
    for trial in range(30):
        folder = tmp_path / str(trial)
        cached = CachedEmbedder(inner, folder)
        cached.embed_texts(texts)
        (path,) = folder.glob("*.sqlite")
        content = bytearray(path.read_bytes())
        # The header, the tree and the lengths in half of the trials, anything in the others.
        for index in rng.integers(0, 200 if trial % 2 else len(content), 5):
            content[index] ^= int(rng.integers(1, 256))
        path.write_bytes(content)
        np.testing.assert_array_equal(cached.embed_texts(texts), expected)


def test_vectors_of_another_length_are_made_again(tmp_path: Path) -> None:
    CachedEmbedder(Counting(1), tmp_path).embed_texts(["a"])
    assert CachedEmbedder(Counting(2), tmp_path).embed_texts(["a"]).shape == (1, 2)


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cached = CachedEmbedder(Counting(), tmp_path / "file")
    assert cached.embed_texts(["a"]).shape == (1, 2)


def test_two_processes_at_once(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from useralign.models.cache import Cache
cache = Cache(Path(sys.argv[1]) / "shared.sqlite")
for i in range(100):
    cache.put({int(sys.argv[2]).to_bytes(16, "big") + i.to_bytes(16, "big"): bytes([i])})
"""
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    running = [subprocess.Popen([*command, str(n)]) for n in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    keys = [n.to_bytes(16, "big") + i.to_bytes(16, "big") for n in range(2) for i in range(100)]
    assert len(Cache(tmp_path / "shared.sqlite").get(keys)) == 200


def test_other_kinds_and_missing_files_are_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="no pictures"):
        CachedEmbedder(Counting()).embed_images(["a.png"])
    images = FunctionEmbedder(lambda items: [[1.0] for _ in items], "images", kind="image")
    with pytest.raises(ModelUnavailableError, match="no texts"):
        CachedEmbedder(images).embed_texts(["a"])
    with pytest.raises(InputError, match=r"absent\.png: cannot be read"):
        CachedEmbedder(images).embed_images([tmp_path / "absent.png"])


def test_trouble_and_dimension_are_the_inner_ones() -> None:
    class Broken(Embedder):
        name, dimension = "broken", 3

        def trouble(self) -> str:
            return "no luck"

    cached: Any = CachedEmbedder(Broken())
    assert (cached.trouble(), cached.dimension, cached.identity) == ("no luck", 3, "broken")
