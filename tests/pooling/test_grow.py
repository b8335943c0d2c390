"""Pools that grow: what joins, what does not, and that nothing is ever lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from useralign import Session
from useralign.errors import ModelAnswerError, ModelUnavailableError
from useralign.pooling import Event, Growth, Recipe

from .conftest import PRICE, QUESTION, Fingerprints, Scripted, answer, dish
from .growing import REFUSAL, begun, check_whole, copy_of, said, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.models import TextRequest


@pytest.fixture
def session(embedder: Fingerprints) -> Session:
    return begun(embedder)


def test_it_grows_near_what_was_liked(session: Session, embedder: Fingerprints) -> None:
    before, model = copy_of(session), Scripted()
    growth = Growth(model, embedder)
    assert growth.due(session)
    grown = growth.grow(session)
    assert [c.index for c in grown.joined] == [10, 11, 12, 13]
    assert grown.usage.calls == 4
    assert grown.usage.cost == pytest.approx(4 * PRICE)
    assert not grown.problem
    check_whole(session, before)
    winners = {session.pool[a.winner].text for a in session.answers if a.winner is not None}
    prompt = model.requests[0].prompt
    liked = prompt.partition("\nLiked:")[2]
    assert all(text in winners for text in dishes(liked))
    assert dishes(liked)
    assert not set(dishes(prompt.partition("Not liked:")[2].partition("Liked:")[0])) & winners
    assert not growth.due(session)


def dishes(text: str) -> list[str]:
    return [line[2:] for line in text.splitlines() if line.startswith("- Cook ")]


def test_candidates_tell_how_they_came_to_be(session: Session, embedder: Fingerprints) -> None:
    for candidate in Growth(Scripted(), embedder).grow(session).joined:
        meta = candidate.meta
        assert candidate.source == "grown"
        assert meta["step"] == 4
        assert meta["model"] == "scripted-1"
        assert QUESTION in meta["prompt"]
        assert meta["usage"]["cost"] == PRICE
        parents = meta["parents"]
        labels = {c.label for c in session.pool if c.source != "grown"}
        assert parents["liked"]
        assert {*parents["liked"], *parents["disliked"]} <= labels
        assert not {*parents["liked"]} & {*parents["disliked"]}


def test_remarks_reach_the_model(session: Session, embedder: Fingerprints) -> None:
    session.remark('less """meat', np.ones(32))
    model = Scripted()
    Growth(model, embedder).grow(session)
    assert "- less '''meat" in model.requests[0].prompt


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (REFUSAL, "refusal"),
        ("", "empty"),
        ("\0\x1b[2J<|im_end|>", "too short"),
        ("I would go for the", "truncated"),
        ("1. Cook soup at home.\n2. Cook some fish.\n3. Cook rice.", "a list"),
        ("Cook the soup that the person would like.", "speaks of the prompt"),
        ("Soup and stew are good. " * 50_000, "too long"),
        ("x" * 1_000_000, "too short"),
        (dish("old 3"), "echo"),
    ],
)
def test_what_is_not_usable_is_replaced(
    reply: str, why: str, session: Session, embedder: Fingerprints
) -> None:
    before = copy_of(session)
    growth = Growth(Scripted(said(reply)), embedder, recipe=Recipe(min_words=4))
    grown = growth.grow(session)
    assert len(grown.joined) == 4
    assert grown.usage.calls == 5
    check_whole(session, before)
    (rejected,) = grown.rejected
    assert rejected.why == why or rejected.why.startswith("too much like")


def test_near_duplicates_are_refused(session: Session, embedder: Fingerprints) -> None:
    new = dish("new")
    almost = new.replace("because", "as")
    grown = Growth(Scripted(said(new, almost, new)), embedder).grow(session)
    assert len(grown.joined) == 4
    assert [r.why for r in grown.rejected] == ["too much like another new one"] * 2


def test_features_tell_duplicates_too(session: Session) -> None:
    class Flat(Fingerprints):
        def _vector(self, data: bytes) -> NDArray[np.float64]:
            return super()._vector(b"all the same" if b"because" in data else data)

    grown = Growth(Scripted(), Flat(), attempts=6).grow(session)
    assert len(grown.joined) == 1
    assert len(grown.rejected) == 5


def test_garbage_for_ever_changes_nothing(session: Session, embedder: Fingerprints) -> None:
    before = copy_of(session)
    model = Scripted(lambda *_: REFUSAL)
    growth = Growth(model, embedder)
    grown = growth.grow(session)
    assert grown.joined == ()
    assert len(grown.rejected) == len(model.requests) == 8
    assert session.to_dict() == before.to_dict()
    assert session.ask() == before.ask()
    assert not growth.due(session)  # it waits for more answers before it tries again
    for _ in range(4):
        tell(session)
    assert growth.due(session)


@pytest.mark.parametrize(
    "error",
    [ModelUnavailableError("no network"), RuntimeError("a bug in a plug-in"), ValueError("odd")],
)
@pytest.mark.parametrize("at", [1, 3])
def test_a_failure_keeps_what_arrived(
    error: Exception, at: int, session: Session, embedder: Fingerprints
) -> None:
    before, events = copy_of(session), list[Event]()

    def says(request: TextRequest, number: int) -> str:
        if number == at:
            raise error
        return answer(request, number)

    grown = Growth(Scripted(says), embedder).grow(session, events.append)
    assert len(grown.joined) == 3
    assert str(error) in grown.problem
    assert events[-1].kind == "done"
    assert str(error) in events[-1].note
    check_whole(session, before)


def test_answers_that_fail_are_asked_for_again(session: Session, embedder: Fingerprints) -> None:
    def says(request: TextRequest, number: int) -> str:
        if number <= 2:
            raise ModelAnswerError("the filter stopped it")
        return answer(request, number)

    grown = Growth(Scripted(says), embedder).grow(session)
    assert len(grown.joined) == 4
    assert "the filter stopped it" in grown.rejected[0].why


def test_an_embedder_that_fails(session: Session) -> None:
    before = copy_of(session)

    class Broken(Fingerprints):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
            raise RuntimeError(f"out of memory for {len(texts)}")

    for broken, why in ((Broken(), "out of memory"), (Fingerprints(17), "17 features")):
        grown = Growth(Scripted(), broken).grow(copy := copy_of(session))
        assert why in grown.problem
        assert grown.joined == ()
        assert grown.usage.calls == 4
        assert copy.to_dict() == before.to_dict()
