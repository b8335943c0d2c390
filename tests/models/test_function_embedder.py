from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from useralign.errors import (
    InputError,
    ModelAnswerError,
    ModelUnavailableError,
    OptionError,
)
from useralign.extras import import_extra
from useralign.models import FunctionEmbedder
from useralign.models.conformance import check_embedder

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
