"""One call for bots and forms, and its twin for event loops."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import useralign as ua
from tests.pooling.conftest import Scripted
from useralign.answers import Comparison
from useralign.memory import Memory

QUESTION = "What should I cook for dinner tonight?"
DISHES = [
    "Hot chilli tofu with rice", "Slow beef stew", "A light pea soup", "Spicy peanut noodles",
    "Grilled salmon with lemon", "Mushroom risotto", "Lentil curry with spinach", "Roast chicken",
]  # fmt: skip


def spicy(screen: Comparison) -> ua.Candidate:
    """Choose what is hottest, by its first word."""
    order = [DISHES[k] for k in (0, 3, 6)]
    return min(screen.candidates, key=lambda c: (c.text not in order, c.index))


def test_screens_are_asked_until_it_is_over() -> None:
    screens: list[Comparison] = []

    def ask(screen: Comparison) -> ua.Candidate:
        screens.append(screen)
        return spicy(screen)

    session = ua.personalise(QUESTION, DISHES, ask=ask)
    assert session.finished
    assert 0 < len(screens) == session.cost <= 5
    assert session.best.text in DISHES
    assert session.best in session.shortlist


def test_it_is_the_preset() -> None:
    pool = ua.Pool.from_texts(QUESTION, DISHES)
    by_hand = ua.Session.few(pool, seed=3)
    while (screen := by_hand.ask()) is not None:
        by_hand.tell(spicy(screen))
    assert ua.personalise(QUESTION, pool, ask=spicy, seed=3).to_dict() == by_hand.to_dict()


@pytest.mark.parametrize("form", ["text", "label", "index"])
def test_a_choice_in_other_forms(form: str) -> None:
    session = ua.personalise(QUESTION, DISHES, ask=lambda screen: getattr(spicy(screen), form))
    assert session.answers == ua.personalise(QUESTION, DISHES, ask=spicy).answers


def test_words_instead_of_a_choice() -> None:
    said = iter(["undo", "neither", "undo", "equal", "skip", "stop"])
    session = ua.personalise(QUESTION, DISHES, ask=lambda _: next(said))
    assert [answer.kind for answer in session.answers] == ["equal", "skip"]
    assert session.stop_reason == "stopped"


@pytest.mark.parametrize("reply", ["the green one", None, 99, ""])
def test_something_else_is_refused(reply: object) -> None:
    with pytest.raises(ua.errors.AnswerError, match=r"one of|expected"):
        ua.personalise(QUESTION, DISHES, ask=lambda _: reply)  # type: ignore[arg-type,return-value]


def test_a_model_writes_the_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    session = ua.personalise(QUESTION, ask=lambda screen: screen.first, model=Scripted())
    assert len(session.pool) >= 20
    assert session.best.text.startswith("Cook ")


def test_memory_is_used_and_learns() -> None:
    memory = Memory().with_session(ua.personalise(QUESTION, DISHES, ask=spicy))
    session = ua.personalise("And tomorrow?", DISHES[::-1], ask=lambda _: "stop", memory=memory)
    assert session.to_dict()["options"]["prior"] is not None
    assert session.best.text in (DISHES[0], DISHES[3], DISHES[6])


def test_many_people_on_one_event_loop() -> None:
    """While one person thinks, others are asked; each gets what they would alone."""
    everybody = asyncio.Event()
    waiting: set[str] = set()

    async def serve(taste: str) -> ua.Session:
        async def ask(screen: Comparison) -> str:
            waiting.add(taste)
            if len(waiting) == 2:
                everybody.set()
            await everybody.wait()
            return taste_of(taste, screen)

        return await ua.personalise_async(QUESTION, DISHES, ask=ask)

    def taste_of(taste: str, screen: Comparison) -> str:
        return next((c.text for c in screen.candidates if taste in c.text), "neither")

    async def both() -> tuple[ua.Session, ua.Session]:
        return await asyncio.gather(serve("curry"), serve("salmon"))

    for session, taste in zip(asyncio.run(both()), ("curry", "salmon"), strict=True):
        alone = ua.personalise(QUESTION, DISHES, ask=lambda s, t=taste: taste_of(t, s))  # type: ignore[misc]
        assert session.to_dict() == alone.to_dict()
