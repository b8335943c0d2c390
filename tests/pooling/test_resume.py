from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from useralign.errors import (
    FileFormatError,
    ModelAnswerError,
    ModelError,
    ModelUnavailableError,
)
from useralign.models import TextRequest
from useralign.pooling import Recipe, generate_pool, generate_pool_async
from useralign.pooling.client import MeteredClient, open_client

from .conftest import QUESTION, Fingerprints, Scripted, answer, failing_at

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

REPLIES = 22


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("number", [2, 9, 13, 20])
def test_a_failure_keeps_what_was_made(draft: Path, embedder: Fingerprints, number: int) -> None:
    model = Scripted(failing_at(number))
    with pytest.raises(ModelUnavailableError, match=r"of 20 candidates were made") as caught:
        generate_pool(QUESTION, model, embedder, draft=draft)
    assert str(draft) in str(caught.value)
    assert "cannot be reached" in str(caught.value)
    assert len(lines(draft)) == number - 1

    second = Scripted()
    pool = generate_pool(QUESTION, second, embedder, draft=draft)
    assert len(second.requests) == REPLIES - (number - 1)
    assert pool.meta["replayed"] == number - 1
    assert pool.meta["usage"]["generation"]["calls"] == REPLIES
    whole = generate_pool(QUESTION, Scripted(), embedder, draft=draft.with_name("whole.jsonl"))
    assert [c.text for c in pool] == [c.text for c in whole]


def test_a_finished_draft_costs_nothing(draft: Path, embedder: Fingerprints) -> None:
    first = generate_pool(QUESTION, Scripted(), embedder, draft=draft)
    model = Scripted(failing_at(1))
    again = generate_pool(QUESTION, model, embedder, draft=draft)
    assert model.requests == []
    assert again.fingerprint == first.fingerprint


def test_calls_under_way_are_kept_when_another_fails(
    draft: Path, embedder: Fingerprints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("useralign.pooling.client.GRACE", 100.0)

    class Slow(Scripted):
        async def text(self, request: TextRequest):  # type: ignore[no-untyped-def]
            if request.temperature == 0.0:
                raise ModelUnavailableError("no more")
            await asyncio.sleep(0.05)
            return await super().text(request)

    with pytest.raises(ModelUnavailableError, match="no more"):
        generate_pool(QUESTION, Slow(), embedder, Recipe(style="unbiased", size=5), draft=draft)
    assert len(lines(draft)) == 5


def test_calls_that_hang_are_given_up(draft: Path, embedder: Fingerprints) -> None:
    given_up: list[TextRequest] = []

    class Hanging(Scripted):
        async def text(self, request: TextRequest):  # type: ignore[no-untyped-def]
            if request.temperature == 0.0:
                raise ModelUnavailableError("no more")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                given_up.append(request)
                raise

    with pytest.raises(ModelUnavailableError):
        generate_pool(QUESTION, Hanging(), embedder, Recipe(style="unbiased"), draft=draft)
    assert given_up
    assert not draft.exists()


def test_cancelling_keeps_what_was_made(draft: Path, embedder: Fingerprints) -> None:
    class Stuck(Scripted):
        async def text(self, request: TextRequest):  # type: ignore[no-untyped-def]
            if len(self.requests) >= 4:
                await asyncio.sleep(60)
            return await super().text(request)

    async def impatient() -> None:
        making = asyncio.create_task(generate_pool_async(QUESTION, Stuck(), embedder, draft=draft))
        while not draft.exists() or len(lines(draft)) < 4:
            await asyncio.sleep(0.01)
        making.cancel()
        await making

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(impatient())
    assert len(lines(draft)) == 4


def test_another_kind_of_exception_keeps_the_draft(draft: Path, embedder: Fingerprints) -> None:
    with pytest.raises(ZeroDivisionError):
        generate_pool(QUESTION, Scripted(failing_at(6, ZeroDivisionError())), embedder, draft=draft)
    assert len(lines(draft)) == 5


def test_rejected_replies_are_on_file_and_not_asked_for_again(
    draft: Path, embedder: Fingerprints
) -> None:
    def says(request: TextRequest, number: int) -> str:
        return "I cannot help with that." if number in (2, 5) else answer(request, number)

    recipe = Recipe(size=6, style="unbiased")
    generate_pool(QUESTION, Scripted(says), embedder, recipe, draft=draft)
    assert sum("cannot help" in json.dumps(line) for line in lines(draft)) == 2
    model = Scripted(failing_at(1))
    assert len(generate_pool(QUESTION, model, embedder, recipe, draft=draft)) == 6


def test_errors_on_file_do_not_stand_in_the_way(draft: Path, embedder: Fingerprints) -> None:
    def garbage(request: TextRequest, number: int) -> str:
        raise ModelAnswerError("got HTML")

    recipe = Recipe(size=6)
    with pytest.raises(ModelAnswerError):
        generate_pool(QUESTION, Scripted(garbage), embedder, recipe, draft=draft)
    pool = generate_pool(QUESTION, Scripted(), embedder, recipe, draft=draft)
    assert len(pool) == 6
    assert pool.baseline is not None
    assert len(pool.meta["interests"]) == 3


def test_answers_of_no_use_are_not_paid_for_for_long_and_can_be_asked_for_again(
    draft: Path, embedder: Fingerprints
) -> None:
    """A model that had a bad spell left nothing but refusals, and was never asked again."""
    refusing = Scripted(lambda *_: "I'm sorry, but I can't help with that.")
    for calls in (34, 20):  # of the first, 4 are for the baseline and the interests
        refusing.requests.clear()
        with pytest.raises(ModelAnswerError, match="only 0 of 20 candidates"):
            generate_pool(QUESTION, refusing, embedder, draft=draft)
        assert len(refusing.requests) == calls
    model = Scripted()
    assert len(generate_pool(QUESTION, model, embedder, draft=draft)) == 20
    assert len(model.requests) == 20


def test_a_higher_limit_goes_on(draft: Path, embedder: Fingerprints) -> None:
    small = generate_pool(QUESTION, Scripted(), embedder, Recipe(max_attempts=6), draft=draft)
    assert len(small) == 6
    model = Scripted()
    whole = generate_pool(QUESTION, model, embedder, Recipe(), draft=draft)
    assert len(whole) == 20
    assert len(model.requests) == 14


def test_a_failing_embedder_loses_nothing(draft: Path, embedder: Fingerprints) -> None:
    class Broken(Fingerprints):
        def embed_texts(self, _):  # type: ignore[no-untyped-def]
            raise ModelUnavailableError("no weights")

    with pytest.raises(ModelError, match="no weights"):
        generate_pool(QUESTION, Scripted(), Broken(2), draft=draft)
    model = Scripted()
    generate_pool(QUESTION, model, embedder, draft=draft)
    assert model.requests == []


def test_a_line_cut_short_is_ignored(draft: Path, embedder: Fingerprints) -> None:
    generate_pool(QUESTION, Scripted(), embedder, draft=draft)
    draft.write_bytes(draft.read_bytes()[:-30])
    for _ in range(2):
        model = Scripted()
        assert len(generate_pool(QUESTION, model, embedder, draft=draft)) == 20
    assert model.requests == []
    assert len([line for line in draft.read_text().splitlines() if line]) == REPLIES + 2


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b"[" * 100_000, b"3", b'{"key": 4}', b'{"key": "x"}']
)
def test_strange_lines_are_ignored(draft: Path, embedder: Fingerprints, line: bytes) -> None:
    generate_pool(QUESTION, Scripted(), embedder, draft=draft)
    header, *rest = draft.read_bytes().split(b"\n")
    draft.write_bytes(b"\n".join([header, line, *rest]))
    model = Scripted()
    generate_pool(QUESTION, model, embedder, draft=draft)
    assert model.requests == []


@pytest.mark.parametrize("reply", [None, {}, {"text": 3}, {"text": "x", "usage": {"fish": 1}}])
def test_an_entry_of_another_form_is_asked_for_anew(
    draft: Path, embedder: Fingerprints, reply: object
) -> None:
    generate_pool(QUESTION, Scripted(), embedder, draft=draft)
    header, first, *rest = draft.read_text().splitlines()
    broken = json.dumps(json.loads(first) | {"reply": reply})
    draft.write_text("\n".join([header, broken, *rest]) + "\n")
    model = Scripted()
    generate_pool(QUESTION, model, embedder, draft=draft)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("question", "recipe", "word"),
    [("What now?", Recipe(), "question"), (QUESTION, Recipe(seed=1), "recipe")],
)
def test_the_draft_of_another_pool_is_left_alone(
    draft: Path, embedder: Fingerprints, question: str, recipe: Recipe, word: str
) -> None:
    generate_pool(QUESTION, Scripted(), embedder, draft=draft)
    before = draft.read_bytes()
    with pytest.raises(FileFormatError, match=f"another {word}"):
        generate_pool(question, Scripted(), embedder, recipe, draft=draft)
    assert draft.read_bytes() == before


def test_another_file_is_left_alone(draft: Path, embedder: Fingerprints) -> None:
    draft.write_text("my diary\n")
    with pytest.raises(FileFormatError, match="not the draft"):
        generate_pool(QUESTION, Scripted(), embedder, draft=draft)
    assert draft.read_text() == "my diary\n"


def test_a_draft_that_cannot_be_written_is_told_before_paying(
    tmp_path: Path, embedder: Fingerprints
) -> None:
    (tmp_path / "file").write_text("")
    model = Scripted()
    with pytest.raises(FileFormatError, match="draft="):
        generate_pool(QUESTION, model, embedder, draft=tmp_path / "file" / "draft.jsonl")
    assert model.requests == []


def test_the_default_draft_is_in_the_cache(tmp_path: Path, embedder: Fingerprints) -> None:
    with pytest.raises(ModelUnavailableError, match="drafts"):
        generate_pool(QUESTION, Scripted(failing_at(5)), embedder)
    model = Scripted()
    generate_pool(QUESTION, model, embedder)
    assert len(model.requests) == REPLIES - 4
    assert len(list((tmp_path / "cache" / "drafts").glob("*.jsonl"))) == 1


def test_nothing_made_leaves_nothing_behind(draft: Path, embedder: Fingerprints) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        generate_pool(QUESTION, Scripted(failing_at(1)), embedder, draft=draft)
    assert str(caught.value) == "the model cannot be reached"
    assert not draft.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_loses_nothing(draft: Path, embedder: Fingerprints) -> None:
    script = Path(__file__).with_name("killed.py")
    process = subprocess.Popen([sys.executable, str(script), str(draft)])
    while not draft.exists() or draft.read_bytes().count(b"\n") < 8:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = draft.read_bytes().count(b"\n") - 1
    assert 7 <= kept < 42

    model = Scripted()
    pool = generate_pool(QUESTION, model, embedder, Recipe(size=40), draft=draft)
    assert len(pool) == 40
    assert pool.meta["replayed"] == kept
    assert len(model.requests) == 42 - kept


HEADER = {"question": QUESTION}


def opened(draft: Path, model: Scripted) -> AbstractAsyncContextManager[MeteredClient]:
    return open_client(model, draft, HEADER)


def test_a_run_that_ends_without_entries_leaves_anothers_draft_alone(draft: Path) -> None:
    model, request = Scripted(), TextRequest("Well?")

    async def idle() -> int:
        async with opened(draft, model) as client:
            return len(client.entries)

    async def filling() -> int:
        async with opened(draft, model) as client:
            waiting = asyncio.create_task(idle())
            await asyncio.sleep(0)
            await client.text("answers", "u1", request)
        return await waiting

    assert asyncio.run(filling()) == 1
    assert len(lines(draft)) == 1
    assert asyncio.run(idle()) == 1


def test_a_draft_that_cannot_be_read_is_let_go_of(draft: Path) -> None:
    async def use() -> None:
        async with opened(draft, Scripted()):
            pass

    draft.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text("something else\n")
    for _ in range(2):
        with pytest.raises(FileFormatError, match="is not the draft"):
            asyncio.run(use())
    draft.unlink()
    asyncio.run(use())
    assert not draft.exists()


def test_the_same_pool_twice_at_once_is_paid_for_once(draft: Path, embedder: Fingerprints) -> None:
    models = [Scripted(), Scripted()]

    async def both() -> list[object]:
        calls = [generate_pool_async(QUESTION, m, embedder, draft=draft) for m in models]
        return list(await asyncio.gather(*calls))

    first, second = asyncio.run(both())
    assert sorted(len(model.requests) for model in models) == [0, REPLIES]
    assert getattr(first, "fingerprint", 0) == getattr(second, "fingerprint", 1)
