"""Waiting for a model in a real browser: answers appear, comparing begins early, the rest joins."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page
from sqlalchemy import select

from tests.browser.conftest import Visit
from tests.browser.people import arrived, session_of
from tests.browser.places import DESKTOP, PHONE, SIZES, Place, prepared
from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.web.test_waiting import texts, until
from useralign.store import Interactions
from useralign.store.schema import makings, sessions

_numbers = itertools.count(1)


class TapService(ScriptedService):
    """A service that writes as many answers as it is let."""

    def __init__(self) -> None:
        super().__init__()
        self._left = threading.Semaphore(0)
        self._texts = itertools.cycle(texts())

    def let(self, count: int) -> None:
        for _ in range(count):
            self._left.release()

    def drain(self) -> None:
        """Let nobody write who has not asked yet."""
        while self._left.acquire(blocking=False):
            pass

    def next_reply(self) -> Reply:
        body = self.requests[-1]
        if "response_format" in body:
            return Reply(chat(json.dumps({"interests": []})))
        if body.get("temperature") == 0:
            return Reply(chat("A plain one will do for most people, and costs little."))
        return _Tapped(self)

    def written(self) -> bytes:
        self._left.acquire()
        return json.dumps(chat(next(self._texts))).encode()


class _Tapped(Reply):
    """An answer that is written when the tap lets it."""

    def __init__(self, service: TapService) -> None:
        super().__init__(b"")
        self._service = service

    @property
    def delay(self) -> float:
        self.raw = self._service.written()
        return 0.0

    @delay.setter
    def delay(self, _: float) -> None:
        pass


@pytest.fixture(scope="module")
def tap() -> Iterator[TapService]:
    service = TapService()
    thread = Thread(target=service.serve_forever)
    thread.start()
    yield service
    service.let(10_000)
    service.shutdown()
    thread.join()
    service.server_close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tap: TapService) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("waiting")
    environment = {"OPENAI_BASE_URL": tap.base_url, "OPENAI_API_KEY": "none"}
    with prepared(f"sqlite:///{folder / 'place.db'}", folder, **environment) as found:
        yield found


def ask(page: Page, place: Place, tap: TapService) -> None:
    """Ask something that nobody has asked yet."""
    tap.drain()
    page.goto(place.at("/"))
    page.fill("#question", f"Which bicycle should I buy, number {next(_numbers)}?")
    page.get_by_role("button", name="Find my answer").click()
    page.wait_for_selector("[data-making]")


def written(page: Page, count: int) -> None:
    page.wait_for_selector(f".arriving li >> nth={count - 1}")


def size(place: Place, page: Page) -> int:
    """Return how many answers the session on a page has."""
    session_id = session_of(page)
    with place.store.reading() as connection:
        own = select(sessions.c.owner).where(sessions.c.id == session_id)
        owner = connection.execute(own).scalar_one()
    return len(Interactions(place.store).open(session_id, owner).session.pool)


def latest(place: Place) -> Any:
    with place.store.reading() as connection:
        newest = select(makings).order_by(makings.c.created.desc()).limit(1)
        return connection.execute(newest).one()


def choose(page: Page, phone: bool) -> None:
    """Tap the first card, and wait for what follows."""
    step = int(page.get_attribute("[data-compare]", "data-step") or 0)
    card = page.locator("[data-card]").first
    # Taps that follow at once on the same spot are one double tap, and count once.
    (card.tap if phone else card.click)(position={"x": 60 + 100 * (step % 2), "y": 30})
    page.wait_for_selector(f'[data-result], [data-compare]:not([data-step="{step}"])')


def finish(page: Page, phone: bool = False) -> None:
    for _ in range(8):
        if page.locator("[data-result]").count():
            return
        choose(page, phone)
    raise AssertionError("it does not end")


@pytest.mark.parametrize("kind", ["phone", pytest.param("desktop", marks=pytest.mark.soak)])
def test_start_with_these_and_the_rest_joins(
    place: Place, tap: TapService, visit: Visit, kind: str
) -> None:
    page = visit(SIZES[kind])
    ask(page, place, tap)
    tap.let(3)
    written(page, 3)
    start = page.get_by_role("button", name="Start with these")
    assert not start.is_visible()
    tap.let(2)
    written(page, 5)
    start.wait_for()
    start.click()
    arrived(page, 0)
    assert size(place, page) == 5
    shown = page.locator("[data-card] .body").all_inner_texts()
    tap.let(100)
    until(lambda: latest(place).state == "ready")
    assert page.locator("[data-card] .body").all_inner_texts() == shown
    choose(page, kind == "phone")
    assert size(place, page) == 20
    finish(page, kind == "phone")


def test_eight_begin_by_themselves_and_what_comes_after_the_end_is_offered(
    place: Place, tap: TapService, visit: Visit
) -> None:
    page = visit(DESKTOP)
    ask(page, place, tap)
    tap.let(8)
    arrived(page, 0)
    assert size(place, page) == 8
    finish(page)
    assert not page.get_by_role("button", name="Compare them").count()
    tap.let(100)
    until(lambda: latest(place).state == "ready")
    page.reload()
    assert "12 more answers have arrived" in page.inner_text("main")
    page.get_by_role("button", name="Compare them").click()
    page.wait_for_selector("[data-compare]")
    assert size(place, page) == 20


def test_cancel_and_use_what_is_there(place: Place, tap: TapService, visit: Visit) -> None:
    page = visit(PHONE)
    ask(page, place, tap)
    tap.let(4)
    written(page, 4)
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=What was written so far is kept")
    assert page.locator(".arriving li").count() == 4
    tap.let(100)
    page.get_by_role("button", name="Start with these").click()
    arrived(page, 0)
    assert size(place, page) == 4
    choose(page, phone=True)
    assert size(place, page) == 4


def test_cancel_and_delete(place: Place, tap: TapService, visit: Visit) -> None:
    page = visit(DESKTOP)
    ask(page, place, tap)
    tap.let(4)
    written(page, 4)
    page.get_by_role("button", name="Cancel").click()
    address = page.url
    page.get_by_role("button", name="Delete").click()
    page.wait_for_selector("#question")
    page.goto(address)
    assert "Nothing here" in page.inner_text("main")
    tap.let(100)


def test_without_scripts(place: Place, tap: TapService, visit: Visit) -> None:
    page = visit(DESKTOP, java_script_enabled=False)
    ask(page, place, tap)
    tap.let(8)
    arrived(page, 0)  # the page came again by itself
    assert size(place, page) == 8
    tap.let(100)


@pytest.mark.parametrize("kind", [pytest.param("phone", marks=pytest.mark.soak), "desktop"])
def test_more_like_this(place: Place, tap: TapService, visit: Visit, kind: str) -> None:
    page = visit(SIZES[kind])
    ask(page, place, tap)
    tap.let(100)
    arrived(page, 0)
    until(lambda: latest(place).state == "ready")
    finish(page, kind == "phone")
    before = size(place, page)
    tap.drain()
    page.get_by_role("button", name="More like this").click()
    page.wait_for_selector("[data-making]")
    assert "More like what you liked" in page.inner_text("main")
    tap.let(100)
    page.wait_for_selector("[data-compare]")
    assert size(place, page) > before
    finish(page, kind == "phone")
