from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from useralign.errors import InputError, ModelUnavailableError
from useralign.models.embedders import Cached, Embedder, FunctionEmbedder, embedder_for
from useralign.models.embedders.conformance import check_embedder
from useralign.models.embedders.store import VectorStore

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


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
    cached = Cached(inner)
    first = cached.embed_texts(["a", "bbb", "a"])
    again = Cached(inner).embed_texts(["bbb", "cc", "a"])
    assert inner.seen == ["a", "bbb", "cc"]
    np.testing.assert_array_equal(first, inner.count(["a", "bbb", "a"]))
    np.testing.assert_array_equal(again, inner.count(["bbb", "cc", "a"]))
    assert list((own_cache / "embeddings").glob("counting-*.sqlite"))


def test_keeps_the_contract() -> None:
    check_embedder(Cached(Counting()))


def test_only_costly_embedders_are_cached() -> None:
    assert isinstance(embedder_for("minilm"), Cached)
    assert not isinstance(embedder_for("wordllama"), Cached)


def test_thirds_come_back_to_the_last_bit(tmp_path: Path) -> None:
    store = VectorStore("exact", tmp_path)
    vectors = {b"a" * 32: np.array([1 / 3, 2.0]), b"b" * 32: np.array([0.5, 0.25])}
    store.put(vectors)
    for key, vector in store.get(list(vectors)).items():
        np.testing.assert_array_equal(vector, vectors[key])


def test_more_keys_than_one_statement_takes(tmp_path: Path) -> None:
    store = VectorStore("many", tmp_path)
    vectors = {i.to_bytes(32, "big"): np.array([float(i)]) for i in range(2500)}
    store.put(vectors)
    assert len(store.get([*vectors, b"x" * 32])) == 2500


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100, None])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, damage: bytes | None) -> None:
    inner = Counting()
    cached = Cached(inner, tmp_path)
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
        cached = Cached(inner, folder)
        cached.embed_texts(texts)
        (path,) = folder.glob("*.sqlite")
        content = bytearray(path.read_bytes())
        # The header, the tree and the lengths: what a vector's own bytes say cannot be checked.
        for place in rng.integers(0, 200, 5):
            content[place] ^= int(rng.integers(1, 256))
        path.write_bytes(content)
        np.testing.assert_array_equal(cached.embed_texts(texts), expected)


def test_vectors_of_another_length_are_made_again(tmp_path: Path) -> None:
    Cached(Counting(1), tmp_path).embed_texts(["a"])
    assert Cached(Counting(2), tmp_path).embed_texts(["a"]).shape == (1, 2)


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cached = Cached(Counting(), tmp_path / "file")
    assert cached.embed_texts(["a"]).shape == (1, 2)


def test_two_processes_at_once(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
import numpy as np
from useralign.models.embedders.store import VectorStore
store = VectorStore("shared", Path(sys.argv[1]))
for i in range(100):
    store.put({int(sys.argv[2]).to_bytes(16, "big") + i.to_bytes(16, "big"): np.array([float(i)])})
"""
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    running = [subprocess.Popen([*command, str(n)]) for n in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    keys = [n.to_bytes(16, "big") + i.to_bytes(16, "big") for n in range(2) for i in range(100)]
    assert len(VectorStore("shared", tmp_path).get(keys)) == 200


def test_other_kinds_and_missing_files_are_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="no pictures"):
        Cached(Counting()).embed_images(["a.png"])
    images = FunctionEmbedder(lambda items: [[1.0] for _ in items], "images", kind="image")
    with pytest.raises(ModelUnavailableError, match="no texts"):
        Cached(images).embed_texts(["a"])
    with pytest.raises(InputError, match=r"absent\.png: cannot be read"):
        Cached(images).embed_images([tmp_path / "absent.png"])


def test_trouble_and_dimension_are_the_inner_ones() -> None:
    class Broken(Embedder):
        name, dimension = "broken", 3

        def trouble(self) -> str:
            return "no luck"

    cached: Any = Cached(Broken())
    assert (cached.trouble(), cached.dimension, cached.identity) == ("no luck", 3, "broken")
