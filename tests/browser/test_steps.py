"""Impatient hands: double clicks, the way back, two tabs. Every step is there, once."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visit
from tests.browser.people import (
    CODE,
    arrived,
    at_comparison,
    begin,
    enter,
    participant,
    texts,
    told,
)
from tests.browser.places import SIZES, Place


@pytest.mark.parametrize("size", SIZES)
def test_double_clicks(place: Place, visit: Visit, size: str) -> None:
    page = visit(SIZES[size])
    begin(page, place, certain=True)
    for step in range(3):
        arrived(page, step)
        page.dblclick("[data-card='1'] .choose")
    arrived(page, 3)
    page.dblclick("[data-card='0']")
    arrived(page, 4)
    page.click("[data-card='0'] .choose", click_count=3)
    arrived(page, 5)
    assert told(place, page) == [("choice", 1)] * 3 + [("choice", 0)] * 2


def test_double_clicks_without_scripts(place: Place, visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    begin(page, place, certain=True)
    page.dblclick("[data-card='1'] .choose")
    arrived(page, 1)
    assert told(place, page) == [("choice", 1)]


def test_keys_pressed_at_once(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place, certain=True)
    page.evaluate(  # faster than hands and than the network
        """() => { for (const key of ["1", "2", "1", "u", "s"])
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})) }"""
    )
    arrived(page, 1)
    assert told(place, page) == [("choice", 0)]


def test_the_way_back(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place, certain=True)
    page.click("[data-card='0'] .choose")
    arrived(page, 1)
    page.click("[data-card='0'] .choose")
    arrived(page, 2)
    shown = texts(page)
    page.go_back()  # one address for the whole session: back is where one came from
    assert page.url == place.at("/")
    page.go_forward()
    arrived(page, 2)
    assert texts(page) == shown
    assert told(place, page) == [("choice", 0)] * 2


def test_the_way_back_without_scripts(place: Place, visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    begin(page, place, certain=True)
    for step in (0, 1):
        arrived(page, step)
        page.click("[data-card='0'] .choose")
    arrived(page, 2)
    shown = texts(page)
    page.go_back()
    if page.locator("[data-compare]").count():  # as fresh as if it were asked for
        assert texts(page) == shown
    page.go_forward()
    arrived(page, 2)
    assert told(place, page) == [("choice", 0)] * 2


@pytest.mark.parametrize("scripts", [True, False])
def test_two_tabs(place: Place, visit: Visit, scripts: bool) -> None:
    page = visit(java_script_enabled=scripts)
    begin(page, place, certain=True)
    other = page.context.new_page()
    other.goto(page.url)
    assert texts(other) == texts(page)
    other.click("[data-card='1'] .choose")
    arrived(other, 1)
    page.click("[data-card='0'] .choose")  # the old tab says otherwise, and is shown the truth
    page.wait_for_selector("text=You had answered that one already")
    arrived(page, 1)
    assert texts(page) == texts(other)
    page.click("[data-card='0'] .choose")
    arrived(page, 2)
    other.click("[data-card='0'] .choose")  # the same answer once more changes nothing
    arrived(other, 2)
    assert told(place, page) == [("choice", 1), ("choice", 0)]


def test_a_study(place: Place, visit: Visit) -> None:
    page = visit()
    enter(page, place)
    token = page.url.rpartition("/")[2]
    other = page.context.new_page()
    for stage in ("comparisons", "evaluation"):
        for number in (1, 2, 3, 4):
            at_comparison(page, stage, number)
            other.goto(page.url)
            shown = texts(page)
            assert texts(other) == shown
            page.dblclick("[data-card='1'] .choose")
            if (stage, number) != ("evaluation", 4):
                page.wait_for_function(
                    "before => document.querySelector('.how-far p').textContent !== before",
                    arg=f"Comparison {number} of 4",
                )
                other.click("[data-card='0'] .choose")
                other.wait_for_selector("text=Your first answer counts")
                page.go_back()
                page.go_forward()
    page.wait_for_selector(f"text={CODE}")
    found = participant(place.store, token)
    assert (found.compared, found.evaluated) == (4, 4)
