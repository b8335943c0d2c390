"""A small study over real stores, and people who walk through it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from useralign.store import Store, token
from useralign.study import Design, ParticipantFlow, Study, parse_design, template
from useralign.study.flow import View
from useralign.study.recruitment import Arrival


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


def small_design(**changes: Any) -> Design:
    """The paper's study in small: two questions, four comparisons."""
    domain = {
        "name": "food64d",
        "questions": ["food-01", "food-02"],
        "budget": 4,
        "checkpoints": [2, 4],
    }
    recruitment = {"link": True, "invitation": True, "per_address": 0}
    given = {"slug": "small", "participants": 16, "domains": [domain]}
    whole = parse_design(template()).to_dict() | given | {"recruitment": recruitment}
    return Design.from_dict(whole | changes)


def crowd_design(**changes: Any) -> Design:
    """The same, for workers of both platforms."""
    return small_design(**{"recruitment": crowd_recruitment(), **changes})


def crowd_recruitment(**changes: Any) -> dict[str, Any]:
    """Where such workers come from, as many from one network address as like."""
    return {
        "invitation": True,
        "prolific": "https://app.prolific.com/submissions/complete?cc=C0DE",
        "mturk": "sandbox",
        "per_address": 0,
    } | changes


class Walker:
    """Takes people through a study."""

    def __init__(self, flow: ParticipantFlow, study: Study) -> None:
        self.flow, self.study = flow, study

    def enter(self, arrival: Arrival | None = None) -> str:
        """Enter as somebody new, or as a worker with the cookie that all of them share here."""
        arrival = arrival or Arrival("link")
        own = token() if arrival.worker is None else arrival.token(self.study, "a cookie")
        entered = self.flow.enter(self.study, arrival, str(own))
        assert entered is not None
        return entered[0]

    def look(self, who: str) -> View:
        return self.flow.look(self.study.slug, who)

    def answer(self, who: str, position: int = 0) -> None:
        view = self.look(who)
        if view.stage == "query":
            self.flow.begin(self.study.slug, who)
        else:
            self.flow.answer(
                self.study.slug, who, view.stage, view.step, position, milliseconds=1500
            )

    def finish(self, who: str, choose: Callable[[View], int] = lambda _: 0) -> View:
        while (view := self.look(who)).stage != "done":
            self.answer(who, choose(view) if view.options else 0)
        return view


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def flow(store: Store, clock: Clock) -> ParticipantFlow:
    return ParticipantFlow(store, clock, Random(5))


@pytest.fixture
def study(flow: ParticipantFlow) -> Study:
    return flow.studies.add(small_design())


@pytest.fixture
def walker(flow: ParticipantFlow, study: Study) -> Walker:
    return Walker(flow, study)
