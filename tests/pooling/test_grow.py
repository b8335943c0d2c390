"""Pools that grow: what joins, what does not, limits, drafts and threads; nothing is ever lost."""

from __future__ import annotations

import asyncio
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from useralign import Candidate, Pool, Session
from useralign.cli.saved import Saved
from useralign.errors import ModelAnswerError, ModelUnavailableError, OptionError
from useralign.models import CachedGenerator
from useralign.pooling import Event, Growth, Recipe

from .conftest import PRICE, QUESTION, Fingerprints, Scripted, answer, dish, png
from .growing import REFUSAL, begun, check_whole, copy_of, said, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.models import Text, TextRequest


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


def test_what_was_paid_for_is_not_lost(
    session: Session, embedder: Fingerprints, tmp_path: Path
) -> None:
    """A process that dies before it joins finds the replies in the draft."""
    first = Scripted()
    snapshot = Growth(first, embedder).snapshot(session)
    lost = Growth(first, embedder, folder=tmp_path).propose(snapshot)
    second = Scripted()
    again = Growth(second, embedder, folder=tmp_path).propose(snapshot)
    assert second.requests == []
    assert [c.text for c in again.candidates] == [c.text for c in lost.candidates]
    assert again.usage == lost.usage
    np.testing.assert_array_equal(again.features, lost.features)


def test_the_same_with_a_cached_generator(embedder: Fingerprints, tmp_path: Path) -> None:
    def run(model: Scripted, folder: str) -> Session:
        session = begun(embedder, 0, budget=14, epsilon=None)
        cached = CachedGenerator(model, tmp_path / "generations")
        growth = Growth(cached, embedder, folder=tmp_path / folder)
        while session.ask() is not None:
            tell(session)
            if growth.due(session):
                growth.grow(session)
        return session

    first, model = run(Scripted(), "one"), Scripted()
    again = run(model, "two")
    assert model.requests == []
    assert len(first.pool) == 22
    assert again.to_dict() == first.to_dict()
    assert [c.text for c in again.pool] == [c.text for c in first.pool]


def test_limits_on_numbers(embedder: Fingerprints) -> None:
    session, model = begun(embedder, 0, budget=40, epsilon=None), Scripted()
    growth = Growth(model, embedder, every=2, batch=3, most=7)
    while session.ask() is not None:
        tell(session)
        if growth.due(session):
            growth.grow(session)
    assert len(session.pool) == 17
    assert len(model.requests) == 7
    assert growth.propose(growth.snapshot(session)).problem == "the pool has grown as far as it may"


def test_limit_on_cost(embedder: Fingerprints, tmp_path: Path) -> None:
    session, model = begun(embedder, 0, budget=40, epsilon=None), Scripted()
    growth = Growth(model, embedder, cost=6.5 * PRICE)
    while session.ask() is not None:
        tell(session)
        if growth.due(session):
            growth.grow(session)
    assert len(model.requests) == 6
    assert session.pool.meta["growth"]["usage"]["cost"] == pytest.approx(6 * PRICE)
    assert len(session.pool) == 16
    priceless = Growth(Scripted(price=None), embedder, cost=1.0, folder=tmp_path)
    unknown = priceless.grow(begun(embedder))
    assert len(unknown.joined) == 4
    assert "no price is known for scripted-1" in unknown.problem
    free = Growth(Scripted(), embedder, cost=0)
    assert not free.due(begun(embedder))


def test_who_ends_a_session_is_left_alone(embedder: Fingerprints) -> None:
    growth = Growth(Scripted(), embedder)
    stopped = begun(embedder)
    stopped.stop()
    spent = begun(embedder, budget=4)
    for session in (stopped, spent):
        assert not growth.due(session)
        grown = growth.grow(session)
        assert (grown.joined, grown.problem) == ((), "the session is over")
        assert len(session.pool) == 10


def test_a_session_that_found_its_best_goes_on(embedder: Fingerprints) -> None:
    session = begun(embedder, 0)
    while session.ask() is not None:
        tell(session)
    assert session.stop_reason == "bound"
    growth = Growth(Scripted(), embedder)
    assert growth.due(session)
    growth.grow(session)
    assert session.ask() is not None


def test_undo_after_growth(session: Session, embedder: Fingerprints) -> None:
    growth = Growth(Scripted(), embedder)
    growth.grow(session)
    tell(session)
    for _ in range(5):
        session.undo()
    assert (session.cost, len(session.pool)) == (0, 14)
    assert not growth.due(session)
    for _ in range(7):
        tell(session)
        assert not growth.due(session)
    tell(session)
    assert growth.due(session)


def test_saved_and_resumed(session: Session, embedder: Fingerprints, tmp_path: Path) -> None:
    growth = Growth(Scripted(), embedder)
    growth.grow(session)
    tell(session)
    saved = Saved(tmp_path / "kept.json")
    saved.write(session)
    resumed = saved.read()
    assert resumed.to_dict() == session.to_dict()
    assert [c.to_dict() for c in resumed.pool] == [c.to_dict() for c in session.pool]
    while session.ask() is not None:
        assert resumed.ask() == session.ask()
        assert growth.due(resumed) == growth.due(session)
        for one in (session, resumed):
            tell(one)
            if growth.due(one):
                growth.grow(one)
    assert resumed.to_dict() == session.to_dict()
    assert len(session.pool) > 14


def test_in_a_thread_while_the_person_goes_on(session: Session, embedder: Fingerprints) -> None:
    model = Scripted()
    model.delay = 0.02
    growth = Growth(model, embedder)
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(growth.propose, growth.snapshot(session)) for _ in range(4)]
        tell(session)
        proposals = [call.result() for call in calls]
    before = copy_of(session)
    grown = [growth.join(session, proposal) for proposal in proposals]
    assert [len(one.joined) for one in grown] == [4, 0, 0, 0]
    assert grown[0].joined[0].meta["step"] == 5
    assert len(model.requests) == 4
    assert session.pool.meta["growth"]["usage"]["calls"] == 4
    check_whole(session, before)


def test_two_proposals_that_overlap(session: Session, embedder: Fingerprints) -> None:
    growth = Growth(Scripted(said(*map(dish, "abcd"))), embedder, most=6)
    other = Growth(Scripted(said(*map(dish, "cdef"))), embedder, most=6, seed=1)
    early = growth.propose(growth.snapshot(session))
    tell(session)
    late = other.propose(other.snapshot(session))
    growth.join(session, early)
    grown = other.join(session, late)
    assert [c.text for c in grown.joined] == [dish("e"), dish("f")]
    assert [r.why for r in grown.rejected] == ["too much like grown3", "too much like grown4"]


def test_within_a_running_loop(session: Session, embedder: Fingerprints) -> None:
    async def notebook() -> int:
        return len(Growth(Scripted(), embedder).grow(session).joined)

    assert asyncio.run(notebook()) == 4


def test_closing_stops_what_is_under_way(session: Session, embedder: Fingerprints) -> None:
    model = Scripted()
    model.delay = 60.0
    growth = Growth(model, embedder)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(growth.propose, growth.snapshot(session))
        while not model.requests:
            time.sleep(0.005)
        growth.close()
        with pytest.raises(asyncio.CancelledError):
            call.result()
    growth.close()
    with pytest.raises(asyncio.CancelledError):
        growth.propose(growth.snapshot(session))
    assert len(session.pool) == 10


def test_the_generator_is_released_in_every_loop_it_served(
    session: Session, embedder: Fingerprints
) -> None:
    served, released, closed = [], [], []

    class Bound(Scripted):
        async def text(self, request: TextRequest) -> Text:
            served.append(asyncio.get_running_loop())
            return await super().text(request)

        async def release(self) -> None:
            released.append(asyncio.get_running_loop())

        async def aclose(self) -> None:
            closed.append(asyncio.get_running_loop())

    with Growth(Bound(), embedder) as growth:
        growth.grow(session)
        growth.propose(growth.snapshot(session))
    assert len(served) == 8
    assert list(dict.fromkeys(served)) == released
    assert len(closed) == 1


def test_pictures(embedder: Fingerprints, tmp_path: Path) -> None:
    pictures = []
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(png(number))
        pictures.append(Candidate(text=f"scene {number}", image=str(tmp_path / f"{number}.png")))
    rows = embedder.embed_images([c.image or "" for c in pictures])
    session = Session(Pool("Draw.", pictures, rows, embedder=embedder.name, normalise="unit"))
    for _ in range(3):
        tell(session)
    model = Scripted()
    model.draws = lambda request, number: b"no picture" if number == 2 else png(request.seed or 0)
    growth = Growth(model, embedder, folder=tmp_path / "grown", every=3)
    grown = growth.grow(session)
    assert len(grown.joined) == 4
    assert all(c.image and Path(c.image).is_file() for c in grown.joined)
    assert "They like pictures such as:" in model.drawn[0].prompt
    assert grown.rejected[0].why.startswith("no picture")


def test_a_model_that_draws_nothing(embedder: Fingerprints, tmp_path: Path) -> None:
    class Writer(Scripted):
        makes = frozenset({"text"})

    pictures = [Candidate(text=str(k), image=f"{tmp_path}/{k}.png") for k in range(3)]
    pool = Pool("Draw.", pictures, np.eye(3, 32), embedder=embedder.name)
    growth = Growth(Writer(), embedder)
    with pytest.raises(ModelUnavailableError, match="draws no pictures"):
        growth.check(pool)
    session = Session(pool)
    assert "draws no pictures" in growth.grow(session).problem
    assert session.pool.fingerprint == pool.fingerprint


def test_features_that_nobody_can_make(pool: Pool) -> None:
    with pytest.raises(OptionError, match="neither text"):
        Growth(Scripted()).check(pool)
    texts = Pool("Which?", ["a", "b"], [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(OptionError, match="give embedder="):
        Growth(Scripted()).check(texts)


@pytest.mark.parametrize(
    "options", [{"every": 0}, {"batch": 0}, {"most": -1}, {"cost": -1.0}, {"cost": float("nan")}]
)
def test_options_out_of_range(options: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        Growth(Scripted(), **options)  # type: ignore[arg-type]


def test_a_record_from_elsewhere_is_not_trusted(session: Session, embedder: Fingerprints) -> None:
    for odd in ("x", {"asked": "many", "usage": {"euros": 1}, "rounds": [1, {"step": "x"}]}, None):
        session.pool.meta["growth"] = odd
        assert Growth(Scripted(), embedder).due(session)


REPLIES = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from([REFUSAL, "", dish("old 1"), dish("new 1"), dish("new 2"), "- a\n- b"]),
    ),
    min_size=1,
    max_size=6,
)
DOINGS = st.lists(st.sampled_from(["tell", "tell", "grow", "undo", "skip", "equal"]), max_size=14)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(replies=REPLIES, doings=DOINGS)
def test_whatever_is_said_and_done(
    replies: list[str], doings: list[str], embedder: Fingerprints, tmp_path: Path
) -> None:
    session = begun(embedder, 1, budget=30, epsilon=None)
    model = Scripted(lambda _, n: replies[n % len(replies)])
    growth = Growth(model, embedder, most=5, folder=tempfile.mkdtemp(dir=tmp_path))
    told = len(session.answers)
    for doing in doings:
        before = copy_of(session)
        if doing == "grow":
            growth.grow(session)
            check_whole(session, before)
        elif doing == "undo" and told:
            session.undo()
            told -= 1
        elif doing != "undo" and session.ask() is not None:
            {"tell": lambda: tell(session), "skip": session.skip, "equal": session.equal}[doing]()
            told += 1
        assert len(session.answers) == told
        assert len(session.pool) <= 15
        assert Session.from_dict(session.pool, session.to_dict()).ask() == session.ask()
