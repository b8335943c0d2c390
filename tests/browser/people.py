"""What people do on the pages, and what the database has of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page
from sqlalchemy import func, select

from tests.browser.places import Place
from useralign.store import Store, digest
from useralign.store.schema import matchups, participants, steps

DINNER = "What should I cook for dinner tonight?"
CODE = "Your completion code"


@dataclass(frozen=True)
class Row:
    """One step as the database has it."""

    number: int
    shown: tuple[int, ...]
    kind: str | None
    told: Any


def begin(page: Page, place: Place, question: str = DINNER, *, certain: bool = False) -> None:
    """Start with a question that comes with its answers.

    The long way is to be certain: two at a time, until the best is proven.
    """
    page.goto(place.at("/"))
    page.fill("#question", question)
    if certain:
        page.click("summary:has-text('Options')")
        page.check("input[name=method][value=useralign]")
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)


def arrived(page: Page, step: int) -> None:
    """Wait until a screen is there, and its script."""
    page.wait_for_load_state()
    page.wait_for_selector(f'[data-compare][data-step="{step}"]')


def rows(store: Store, session_id: str) -> list[Row]:
    """List the steps of a session, the one that is due last."""
    chosen = select(steps).where(steps.c.session_id == session_id).order_by(steps.c.number)
    with store.reading() as connection:
        return [
            Row(row.number, tuple(row.shown), row.kind, row.told)
            for row in connection.execute(chosen)
        ]


def session_of(page: Page) -> str:
    """Return the session that a personal page is about."""
    return page.url.partition("?")[0].rpartition("/s/")[2]


def told(place: Place, page: Page) -> list[tuple[str, Any]]:
    """List what was told on a personal page, each with its place; check that none is missing."""
    found = rows(place.store, session_of(page))
    assert [row.number for row in found] == list(range(len(found)))
    assert [row.kind is None for row in found] == [False] * (len(found) - 1) + [True]
    return [(str(row.kind), row.told["request"].get("position")) for row in found[:-1]]


def texts(page: Page) -> list[str]:
    """Return what the cards say, from left to right."""
    return page.locator("[data-card] .body").all_inner_texts()


def enter(page: Page, place: Place, slug: str = "played", query: str = "") -> None:
    """Take part in a study, up to its first comparison."""
    page.goto(place.at(f"/study/{slug}{query}"))
    page.check("input[name=agree]")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Go on").click()
    at_comparison(page, "comparisons", 1)


def at_comparison(page: Page, stage: str, number: int) -> None:
    """Wait until a comparison of a study is there."""
    page.wait_for_selector(
        f"main:has(input[name=stage][value={stage}]) >> text=Comparison {number} of"
    )


@dataclass(frozen=True)
class Participant:
    """A participant as the database has them."""

    stage: str
    code: str | None
    compared: int
    evaluated: int


def participant(store: Store, token: str) -> Participant:
    """Return a participant by the token in their address."""
    who = participants.c.id == digest(token)
    with store.reading() as connection:
        row = connection.execute(select(participants).where(who)).one()
        answered = steps.c.session_id == row.session_id, steps.c.kind.is_not(None)
        judged = matchups.c.participant_id == row.id, matchups.c.chosen.is_not(None)
        compared = connection.execute(select(func.count()).where(*answered)).scalar_one()
        evaluated = connection.execute(select(func.count()).where(*judged)).scalar_one()
    return Participant(row.stage, row.code, compared, evaluated)


def participants_of(store: Store, slug: str) -> int:
    """Count who was given a place in a study."""
    with store.reading() as connection:
        chosen = select(func.count()).where(participants.c.study_id == slug)
        return int(connection.execute(chosen).scalar_one())
