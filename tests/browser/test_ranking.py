"""Putting three or four answers in order, with and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.people import DINNER, arrived, rows, session_of
from tests.browser.places import DESKTOP, PHONE, Place


def ranking(page: Page, place: Place, shown: str = "3") -> None:
    """Begin with a few answers that are to be put in order."""
    page.goto(place.at("/"))
    page.fill("#question", DINNER)
    page.get_by_text("Options").click()
    page.select_option("#shown", label=shown)
    page.select_option("#rank", label="I put them in order")
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)


def badges(page: Page) -> list[str]:
    """Return the places that the cards show."""
    found = page.locator("[data-card]").all()
    return [card.locator("[data-badge]").text_content() or "" for card in found]


def click(page: Page, *cards: int) -> None:
    for card in cards:
        page.locator(f'[data-card="{card}"] .body').click()


def orders(place: Place, page: Page) -> list[list[int]]:
    found = rows(place.store, session_of(page))
    return [row.told["request"]["order"] for row in found if row.kind == "ranking"]


def test_clicking_the_cards_in_order(visit: Visit, place: Place) -> None:
    page = visit()
    ranking(page, place, "4")
    click(page, 2)
    assert badges(page) == ["", "", "1", ""]
    click(page, 0)
    page.wait_for_timeout(600)  # longer than a double click
    click(page, 0)  # taken back
    assert badges(page) == ["", "", "1", ""]
    click(page, 3, 1)
    assert badges(page) == ["4", "3", "1", "2"]  # the last one left has the last place
    expect(page.get_by_role("button", name="This is my order")).to_be_focused()
    page.keyboard.press("1")  # as somebody does who counts to the end: it stays
    assert badges(page) == ["4", "3", "1", "2"]
    page.keyboard.press("2")  # one that was given its place is taken back
    assert badges(page) == ["4", "", "1", "2"]
    page.keyboard.press("2")
    assert badges(page) == ["4", "3", "1", "2"]
    page.keyboard.press("Enter")
    arrived(page, 1)
    assert orders(place, page) == [[2, 3, 1, 0]]
    assert badges(page)[:2] == ["", ""]


def test_by_keys_and_by_lists(visit: Visit, place: Place) -> None:
    page = visit(PHONE)
    ranking(page, place)
    page.keyboard.press("2")
    page.keyboard.press("1")
    assert badges(page) == ["2", "1", "3"]
    page.get_by_label("Place of answer 3").select_option("1")
    assert badges(page) == ["2", "", "1"]  # nobody shares a place
    page.get_by_role("button", name="This is my order").click()
    expect(page.get_by_text("Give each answer a place of its own")).to_be_visible()
    assert badges(page) == ["2", "", "1"]  # nothing is lost
    click(page, 1)
    page.get_by_role("button", name="This is my order").click()
    arrived(page, 1)
    assert orders(place, page) == [[2, 0, 1]]
    page.keyboard.press("1")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("[data-badge]:visible")).to_have_count(0)


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_without_javascript(visit: Visit, place: Place, size: dict[str, object]) -> None:
    page = visit({**DESKTOP, **size}, java_script_enabled=False)
    ranking(page, place)
    lists = page.locator("select[name=place]")
    for k, chosen in enumerate(("1", "1", "2")):
        lists.nth(k).select_option(chosen)
    page.get_by_role("button", name="This is my order").click()
    expect(page.get_by_text("Give each answer a place of its own")).to_be_visible()
    assert [one.input_value() for one in lists.all()] == ["1", "1", "2"]
    lists.nth(1).select_option("3")
    page.get_by_role("button", name="This is my order").click()
    arrived(page, 1)
    assert orders(place, page) == [[0, 2, 1]]
