from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from useralign.errors import (
    FileFormatError,
    InputError,
    ModelAnswerError,
    ModelUnavailableError,
    OptionError,
)
from useralign.extras import import_extra
from useralign.models import FunctionEmbedder, PrecomputedEmbedder
from useralign.models.conformance import TEXTS, check_embedder

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("own_cache", "no_network")


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def test_function_keeps_the_contract() -> None:
    check_embedder(FunctionEmbedder(lengths, "lengths", 2))


def test_function_learns_its_dimension() -> None:
    embedder = FunctionEmbedder(lengths)
    assert embedder.dimension == 0
    assert embedder.embed_texts([]).shape == (0, 0)
    embedder.embed_texts(["a"])
    assert embedder.dimension == 2


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ([[1.0, float("nan")], [1.0, 1.0]], "nan for item 0"),
        ([[1.0, float("inf")], [1.0, 1.0]], "inf for item 0"),
        ([[1.0, 2.0]], r"shape \(1, 2\) for 2"),
        ([1.0, 2.0], "one row an item"),
        ([[1.0], [2.0]], "length 1; expected 2"),
        ([[1.0, 2.0], [1.0]], "no array of numbers"),
        ("nonsense", "no array of numbers"),
        (None, "for 2 item"),
    ],
)
def test_what_a_function_must_not_give(result: Any, problem: str) -> None:
    with pytest.raises(ModelAnswerError, match=problem):
        FunctionEmbedder(lambda _: result, "mine", 2).embed_texts(["a", "b"])


def test_a_library_that_cannot_start_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "halfway.py").write_text("raise RuntimeError('operator does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelUnavailableError, match=r"halfway.*operator does not exist.*\[some\]"):
        import_extra("halfway", "this", "some")


def test_function_of_pictures() -> None:
    embedder = FunctionEmbedder(lengths, kind="image")
    assert embedder.embed_images(["a.png"]).tolist() == [[5.0, 1.0]]
    with pytest.raises(ModelUnavailableError):
        embedder.embed_texts(["a"])
    with pytest.raises(InputError, match="list of paths"):
        embedder.embed_images("a.png")


def test_bad_options() -> None:
    with pytest.raises(OptionError, match="expected a function"):
        FunctionEmbedder("not callable")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="expected 'text' or 'image'"):
        FunctionEmbedder(lengths, kind="sound")


def test_precomputed_keeps_the_contract() -> None:
    check_embedder(PrecomputedEmbedder({text: [i, 1.0] for i, text in enumerate(TEXTS)}))


def test_precomputed_names_what_is_missing() -> None:
    with pytest.raises(ModelUnavailableError, match=r"no vector for 'c' \(1 of 2"):
        PrecomputedEmbedder({"a": [1.0]}).embed_texts(["a", "c"])


@pytest.mark.parametrize("vectors", [{}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": 1.0}])
def test_precomputed_of_a_bad_form(vectors: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected"):
        PrecomputedEmbedder(vectors)


def test_precomputed_from_files(tmp_path: Path) -> None:
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.save(tmp_path / "v.npy", matrix)
    np.savez(tmp_path / "v.npz", ids=np.array(["a", "b"]), vectors=matrix)
    one = PrecomputedEmbedder.from_file(tmp_path / "v.npy", ids=["a", "b"])
    two = PrecomputedEmbedder.from_file(tmp_path / "v.npz")
    np.testing.assert_array_equal(one.embed_texts(["b", "a"]), matrix[::-1])
    np.testing.assert_array_equal(two.embed_texts(["b", "a"]), matrix[::-1])


def test_files_that_are_not_vectors(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    np.savez(tmp_path / "other.npz", something=np.ones(2))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:50])
    with pytest.raises(FileFormatError, match="holds no ids"):
        PrecomputedEmbedder.from_file(tmp_path / "v.npy")
    with pytest.raises(FileFormatError, match="for 3 ids"):
        PrecomputedEmbedder.from_file(tmp_path / "v.npy", ids=["a", "b", "c"])
    for name in ("other.npz", "objects.npy", "text.npy", "cut.npz", "absent.npy"):
        with pytest.raises(FileFormatError, match=name):
            PrecomputedEmbedder.from_file(tmp_path / name, ids=["a"])
