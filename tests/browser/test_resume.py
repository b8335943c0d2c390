"""Coming back: after a reload, and after the server was killed, everything is as it was left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visit
from tests.browser.people import (
    CODE,
    arrived,
    at_comparison,
    begin,
    enter,
    participant,
    told,
)
from tests.browser.places import PHONE, Place, prepared
from tests.databases import PostgresServer


@pytest.fixture(scope="module")
def place(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A server over PostgreSQL, to be killed."""
    with prepared(postgres_server.blank(), tmp_path_factory.mktemp("resume")) as found:
        yield found


def seen(page: Page) -> str:
    """Return all that a person sees, in its order, without what is said once."""
    page.wait_for_selector("main:not(:has-text('Saving'))")
    return page.inner_text("main").replace("Saved.", "").strip()


def answer(page: Page, place_of_card: int, next_step: int) -> None:
    page.click(f"[data-card='{place_of_card}'] .choose")
    arrived(page, next_step)


def personal(place: Place, visit: Visit) -> dict[str, Page]:
    """People who are at every stage of the personal page."""
    people = {name: visit() for name in ("first", "later", "over")}
    for page in people.values():
        begin(page, place, certain=True)
    for page in (people["later"], people["over"]):
        answer(page, 1, 1)
        answer(page, 0, 2)
    people["over"].get_by_role("button", name="Good enough").click()
    people["over"].wait_for_selector("[data-result]")
    return people


def studied(place: Place, visit: Visit) -> dict[str, Page]:
    """People who are at every stage of a study."""
    people = {name: visit(PHONE) for name in ("landing", "query", "compare", "evaluate", "done")}
    people["landing"].goto(place.at("/study/own"))
    people["query"].goto(place.at("/study/own"))
    people["query"].check("input[name=agree]")
    people["query"].get_by_role("button", name="Begin").click()
    people["query"].wait_for_selector("text=Go on to")
    for name, answers in (("compare", 1), ("evaluate", 5), ("done", 8)):
        enter(people[name], place)
        for number in range(answers):
            at_comparison(
                people[name], "comparisons" if number < 4 else "evaluation", number % 4 + 1
            )
            people[name].click("[data-card='1'] .choose")
    at_comparison(people["compare"], "comparisons", 2)
    at_comparison(people["evaluate"], "evaluation", 2)
    people["done"].wait_for_selector(f"text={CODE}")
    return people


def test_every_stage_after_reloads_and_a_killed_server(place: Place, visit: Visit) -> None:
    people = personal(place, visit) | studied(place, visit)
    before = {name: seen(page) for name, page in people.items()}
    for name, page in people.items():
        page.reload()
        assert seen(page) == before[name], name
    place.server.kill()
    place.server.start()
    for name, page in people.items():
        page.reload()
        assert seen(page) == before[name], name
    people["landing"].check("input[name=agree]")
    people["landing"].get_by_role("button", name="Begin").click()
    people["landing"].wait_for_selector("text=Go on to")


def test_an_answer_given_while_the_server_is_away(place: Place, visit: Visit) -> None:
    one, two = visit(), visit(PHONE)
    begin(one, place, certain=True)
    enter(two, place)
    place.server.kill()
    for page in (one, two):
        page.click("[data-card='1'] .choose")
        page.wait_for_selector("text=Not saved yet. Trying again")
    place.server.start()
    arrived(one, 1)
    at_comparison(two, "comparisons", 2)
    assert told(place, one) == [("choice", 1)]
    assert participant(place.store, two.url.rpartition("/")[2]).compared == 1
    assert "Saved." in one.inner_text("main")
