"""Answers on disk: found again, and never in the way."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from useralign.errors import ModelAnswerError
from useralign.models.generators import Cached, ImageRequest, Scripted, TextRequest, Usage
from useralign.models.generators.conformance import check_generator
from useralign.models.generators.openai import OpenAI
from useralign.models.generators.scripted import PIXEL

ASK = TextRequest("q", system="s", temperature=0.5, max_tokens=9, seed=1, min_p=0.1)
DRAW = ImageRequest("p", seed=1)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_the_second_time_it_is_not_asked(tmp_path: Path) -> None:
    inner = Scripted(["one", "two"])
    first = asyncio.run(Cached(inner, tmp_path).text(ASK))
    again = asyncio.run(Cached(inner, tmp_path).text(ASK))
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
    cached = Cached(inner, tmp_path)
    asyncio.run(cached.text(ASK))
    asyncio.run(cached.text(replace(ASK, **change)))  # type: ignore[arg-type]
    assert inner.calls == 2


def test_the_model_matters_and_its_address_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = Scripted(["a"], model="a"), Scripted(["b"], model="b")
    assert asyncio.run(Cached(a, tmp_path).text(ASK)).text == "a"
    assert asyncio.run(Cached(b, tmp_path).text(ASK)).text == "b"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    at = [f"http://{who}localhost:{port}/v1" for who, port in (("", 1), ("u:p@", 1), ("", 2))]
    one, same, other = (OpenAI(base_url=address).identity for address in at)
    assert one == same != other


def test_a_fresh_sample_is_not_kept(tmp_path: Path) -> None:
    inner = Scripted()
    cached = Cached(inner, tmp_path)
    for _ in range(2):
        asyncio.run(cached.text(replace(ASK, seed=None)))
        asyncio.run(cached.image(replace(DRAW, seed=None)))
    assert inner.calls == 4
    assert entries(tmp_path) == []
    for _ in range(2):
        asyncio.run(cached.text(replace(ASK, seed=None, temperature=0.0)))
    assert inner.calls == 5


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"answer": {"text": 3}}'])
def test_a_damaged_entry_counts_as_missing(damage: bytes, tmp_path: Path) -> None:
    inner = Scripted()
    cached = Cached(inner, tmp_path)
    asyncio.run(cached.text(ASK))
    asyncio.run(cached.image(DRAW))
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(damage)
    assert not asyncio.run(cached.text(ASK)).cached
    assert not asyncio.run(cached.image(DRAW)).cached
    assert asyncio.run(cached.text(ASK)).cached
    assert asyncio.run(cached.image(DRAW)).cached


def test_pictures_are_files(tmp_path: Path) -> None:
    inner = Scripted()
    cached = Cached(inner, tmp_path)
    first, again = asyncio.run(cached.image(DRAW)), asyncio.run(cached.image(DRAW))
    assert first.data == again.data == PIXEL
    assert (again.cached, again.media_type, again.usage) == (True, "image/png", Usage())
    (file,) = tmp_path.rglob("*.png")
    file.write_bytes(b"damaged")
    assert not asyncio.run(cached.image(DRAW)).cached
    file.unlink()
    assert not asyncio.run(cached.image(DRAW)).cached
    assert inner.calls == 3


def test_failures_are_not_kept(tmp_path: Path) -> None:
    inner = Scripted(["fine"], failures={0: ModelAnswerError("no")})
    cached = Cached(inner, tmp_path)
    with pytest.raises(ModelAnswerError):
        asyncio.run(cached.text(ASK))
    assert asyncio.run(cached.text(ASK)).text == "fine"


def test_of_two_at_once_one_is_asked(tmp_path: Path) -> None:
    inner = Scripted(["one", "two"], seconds=0.02)
    cached = Cached(inner, tmp_path)

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
        assert asyncio.run(Cached(Scripted(["fine"]), blocked).text(ASK)).text == "fine"
    assert "could not be kept" in caplog.text


def test_the_default_folder_and_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    cached = Cached(Scripted())
    assert cached.folder == tmp_path / "generations"
    assert repr(cached).startswith("Cached(")
    check_generator(cached)
    check_generator(Cached(Scripted()))
