"""A network that loses requests, and replies. Nobody is stuck and no answer is lost."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from playwright.sync_api import Error, Page, Route

from tests.browser.conftest import Visit
from tests.browser.people import (
    arrived,
    at_comparison,
    begin,
    enter,
    participant,
    rows,
    session_of,
    told,
)
from tests.browser.places import PHONE, Place


@dataclass
class Lossy:
    """Loses a share of the requests: half of them on the way, half with the server's reply."""

    rng: Random
    share: float = 0.2
    requests: int = 0
    lost: int = 0

    def __call__(self, route: Route) -> None:
        self.requests += 1
        if self.rng.random() >= self.share:
            route.continue_()
            return
        self.lost += 1
        lose(route, arrives=self.rng.random() < 0.5)


def lose(route: Route, *, arrives: bool) -> None:
    """Let a request fail; before that, the server may have received it."""
    if arrives:
        route.fetch(max_redirects=0)
    route.abort("connectionreset")


def insist(page: Page, address: str) -> None:
    """Open a page as a person does: again and again."""
    for _ in range(50):
        try:
            page.goto(address)
        except Error:
            continue
        return
    raise AssertionError(f"{address} does not open")


def go_on(page: Page, last: str) -> None:
    """Do the next thing that the page asks for; where the browser shows an error, come back."""
    if page.url.startswith("chrome-error"):
        insist(page, last)
    if page.locator("input[name=agree]").count():
        page.check("input[name=agree]")
    choose = page.locator("main .choose")
    button = choose.first if choose.count() else page.locator("main form button").first
    button.click(no_wait_after=True)


def through(page: Page, start: str, end: str) -> None:
    """Go from a first page to the last."""
    insist(page, start)
    last = start
    for _ in range(300):
        if page.url.startswith("http"):
            last = page.url
        if page.locator(end).count():
            return
        try:
            go_on(page, last)
            page.wait_for_timeout(50)
            page.wait_for_selector("body:not(.busy)")
        except Error:
            insist(page, last)
    raise AssertionError(f"never came to the end: {page.inner_text('body')}")


@pytest.mark.parametrize("seed", [1, 2])
def test_everybody_finishes_a_study(place: Place, visit: Visit, seed: int) -> None:
    page = visit(PHONE)
    lossy = Lossy(Random(seed))
    page.route("**/*", lossy)
    through(page, place.at("/study/played"), ".code")
    found = participant(place.store, page.url.rpartition("/")[2])
    assert (found.stage, found.compared, found.evaluated) == ("done", 4, 4)
    assert found.code == page.inner_text(".code")
    assert lossy.lost > 0
    page.unroute_all(behavior="wait")


def test_everybody_finds_their_answer(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place, certain=True)
    session = session_of(page)
    lossy = Lossy(Random(3))
    page.route("**/*", lossy)
    through(page, page.url, "[data-result]")
    kept = rows(place.store, session)
    assert [row.number for row in kept] == list(range(len(kept)))
    assert lossy.lost > 0
    page.unroute_all(behavior="wait")


@pytest.mark.parametrize("arrives", [False, True], ids=["on the way", "with the reply"])
def test_the_page_says_so(place: Place, visit: Visit, arrives: bool) -> None:
    page, participating = visit(), visit(PHONE)
    begin(page, place, certain=True)
    enter(participating, place)
    for one in (page, participating):
        one.route("**/*", lambda route: lose(route, arrives=arrives), times=2)
        one.click("[data-card='1'] .choose")
        one.wait_for_selector("text=Not saved yet. Trying again")
        one.click("[data-card='0'] .choose")  # a change of mind comes too late
    arrived(page, 1)
    at_comparison(participating, "comparisons", 2)
    assert told(place, page) == [("choice", 1)]
    assert participant(place.store, participating.url.rpartition("/")[2]).compared == 1
    assert "Saved." in page.inner_text("main")
