"""Which generator a name leads to, what importing needs, and the conformance check itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from useralign.errors import ModelAnswerError, ModelUnavailableError, OptionError
from useralign.models import weights
from useralign.models.generators import (
    Generator,
    ImageRequest,
    Scripted,
    Text,
    TextRequest,
    Usage,
    generator_for,
)
from useralign.models.generators.choose import default_name
from useralign.models.generators.conformance import check_generator
from useralign.models.generators.local import Local
from useralign.models.generators.openai import OpenAI

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No key, and no weights."""
    for name in ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL"):
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
    with pytest.raises(OptionError, match=r"unknown generator 'gpt'; known: local, openai"):
        generator_for("gpt")


def test_without_a_name_a_key_goes_first(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_pulled(nothing, "smollm2-135m")
    assert default_name() == "local:smollm2-135m"
    pretend_pulled(nothing, "qwen2.5-coder-1.5b")
    assert default_name() == "local:qwen2.5-coder-1.5b"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert isinstance(generator_for(None), OpenAI)


@pytest.mark.usefixtures("nothing")
def test_without_anything_it_says_what_to_do() -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        generator_for(None)
    assert "useralign models pull qwen2.5-coder-1.5b" in str(caught.value)
    assert "set OPENAI_API_KEY" in str(caught.value)


def test_importing_needs_no_extra() -> None:
    code = (
        "import sys; from useralign.models.generators import local, openai;"
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
    with pytest.raises(ModelAnswerError, match="no pictures"):
        asyncio.run(Scripted(pictures=()).image(ImageRequest("a")))


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
