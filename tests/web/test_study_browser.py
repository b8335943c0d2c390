"""A study in a real browser: impatient, forgetful, offline, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import func, select

from tests.study.conftest import small_design
from tests.web.server import running
from useralign.store import Store, open_store
from useralign.store.schema import matchups, participants, steps
from useralign.study import Studies

CHROMIUM = "/usr/bin/chromium"
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run --disable-quic"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    """A server with a study in it."""
    url = f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}"
    store = open_store(url)
    Studies(store).add(small_design(participants=400))
    with running(url) as address:
        yield address, store
    store.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip("Chromium is not here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS.split())
        yield browser
        browser.close()


def enter(page: Page, address: str) -> None:
    page.goto(f"{address}/study/small")
    page.check("input[name=agree]")
    page.click("button[type=submit]")
    page.click("text=Go on to the comparisons")
    page.wait_for_selector("text=Comparison 1 of 4")


def kept(store: Store, page: Page) -> tuple[int, int]:
    """How many answers of stage 2 and of stage 3 the database has of this person."""
    from useralign.store import digest

    who = digest(page.url.rsplit("/", 1)[-1])
    with store.reading() as connection:
        session = select(participants.c.session_id).where(participants.c.id == who)
        told = select(func.count()).where(
            steps.c.session_id == session.scalar_subquery(), steps.c.kind.is_not(None)
        )
        judged = select(func.count()).where(
            matchups.c.participant_id == who, matchups.c.chosen.is_not(None)
        )
        return (
            connection.execute(told).scalar_one(),
            connection.execute(judged).scalar_one(),
        )


def test_double_clicks_the_way_back_and_two_tabs(
    place: tuple[str, Store], chromium: Browser
) -> None:
    address, store = place
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    outside: list[str] = []
    page.on("request", lambda r: outside.append(r.url) if not r.url.startswith(address) else None)
    enter(page, address)
    page.dblclick(".card:nth-child(2) .choose")
    page.wait_for_selector("text=Comparison 2 of 4")
    assert kept(store, page) == (1, 0)
    other = context.new_page()
    other.goto(page.url)  # the same place in a second tab
    assert other.inner_text("main") == page.inner_text("main")
    other.keyboard.press("ArrowRight")
    other.wait_for_selector("text=Comparison 3 of 4")
    page.keyboard.press("1")  # the first tab does not know yet, and says otherwise
    page.wait_for_selector("text=Your first answer counts")
    page.wait_for_selector("text=Comparison 3 of 4")
    assert kept(store, page) == (2, 0)
    page.go_back()
    page.goto(page.url)
    if "Welcome back" in page.inner_text("main"):
        page.click("text=Continue")
    page.wait_for_selector("text=Comparison 3 of 4")
    page.keyboard.press("1")
    page.wait_for_selector("text=Comparison 4 of 4")
    page.keyboard.press("2")
    for number in (1, 2, 3, 4):
        page.wait_for_selector(
            f"h1:has-text('evaluation') >> xpath=/../.. >> text=Comparison {number} of 4"
        )
        page.dblclick(".card:nth-child(1) .choose")
    page.wait_for_selector("text=Your completion code")
    assert kept(store, page) == (4, 4)
    assert outside == []
    context.close()


def test_a_network_that_goes_away(place: tuple[str, Store], chromium: Browser) -> None:
    address, store = place
    context = chromium.new_context()
    page = context.new_page()
    enter(page, address)
    context.set_offline(True)
    page.keyboard.press("1")
    page.wait_for_selector("text=Not saved yet. Trying again")
    assert kept(store, page) == (0, 0)
    context.set_offline(False)
    page.wait_for_selector("text=Comparison 2 of 4")
    assert kept(store, page) == (1, 0)
    context.close()


def test_without_scripts(place: tuple[str, Store], chromium: Browser) -> None:
    address, store = place
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    enter(page, address)
    for _ in range(8):
        page.click(".card:nth-child(1) .choose")
    page.wait_for_selector("text=Your completion code")
    assert kept(store, page) == (4, 4)
    context.close()
