"""Answers that mean harm: they are read, and do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visit
from tests.browser.places import PHONE, Place, prepared
from tests.models.scripted_service import Reply, ScriptedService, chat
from useralign import Candidate, Pool
from useralign.store import Interactions, digest
from useralign.web.identity import LOCAL


class Trap(HTTPServer):
    """A server that nobody may ever call."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Caught)
        self.called: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/leak"


class _Caught(BaseHTTPRequestHandler):
    server: Trap

    def do_GET(self) -> None:
        self.server.called.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    with Trap() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def hostile(leak: str) -> list[str]:
    """Write answers that would run, call, hide or reorder something."""
    return [
        "<script>alert(1)</script><b onclick='alert(2)' style='position:fixed;inset:0'>bold</b>",
        f"<img src='{leak}/a' onerror='alert(3)'><link rel=stylesheet href='{leak}/b'>",
        f"<svg onload='alert(4)'><image href='{leak}/c'/></svg><iframe src='{leak}/d'></iframe>",
        f"![picture]({leak}/e) ![other][ref]\n\n[ref]: {leak}/f",
        f"[click me](javascript:alert(5)) <javascript:alert(6)> [gone]({leak}/g)",
        "</div></article></form></main><h1>Log in</h1><form action='/you/delete' method=post>",
        "Take the \u202egpj.exe\u202c file \u2066one\u2069 \u061c now\u200b and \x07 ring",
        "# A title\n\n# Another\n\n###### Deep\n\n| a | b |\n|---|---|\n| "
        + "wide" * 200
        + " | 1 |",
        "{{ 7 * 7 }} {% raw %} ${alert(7)} `" + "x" * 3000 + "`",
        "> " * 500 + "deep " + "* " * 500,
    ]


def over(page: Page, place: Place, pool: Pool, owner: str) -> None:
    """Go from the first comparison of a pool to its end."""
    live = Interactions(place.store)
    pool_id = place.store.pools.add(pool, owner)
    screen = live.create(pool_id, owner, {"method": "useralign", "shown": 4, "budget": 6})
    page.goto(place.at(f"/s/{screen.session_id}"))
    for step in range(7):
        page.wait_for_selector(f"[data-step='{step}'], [data-result]")
        check(page)
        page.keyboard.press("1234"[step % 4])
    assert page.locator("[data-result]").count()
    for path in ("/", "/you"):
        page.goto(place.at(path))
        check(page)


def check(page: Page) -> None:
    """Check that nothing came out of its card."""
    links = ("a[href^=javascript]", "a[href*=leak]")
    for harmful in ("script", "iframe", "link", "[style]", "[onclick]", "img", *links):
        assert page.locator(f"main {harmful}").count() == 0, harmful
    assert page.locator("h1").count() == 1
    assert page.evaluate(
        "document.scrollingElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert not set("\u202e\u202c\u2066\u2069\u061c\u200b\x07") & set(page.content())


def owner_of(page: Page, place: Place) -> str:
    page.goto(place.at("/"))
    cookies = {cookie.get("name"): cookie.get("value", "") for cookie in page.context.cookies()}
    return digest(cookies["useralign"])


def test_a_pool_through_the_api(place: Place, visit: Visit, trap: Trap) -> None:
    page = visit(PHONE)
    owner = owner_of(page, place)
    texts = [f"{text} {k}" for k, text in enumerate(hostile(trap.address))]
    features = [[k % 5, k * k % 7] for k in range(len(texts))]
    body = {"question": hostile(trap.address)[0], "texts": texts, "features": features}
    reply = httpx.post(place.at("/api/pools"), json=body)
    assert reply.status_code == 201
    assert reply.headers["content-type"].startswith("application/json")
    kept = place.store.pools.get(reply.json()["id"], LOCAL)
    over(page, place, kept, owner)
    assert trap.called == []


def test_a_very_long_answer(place: Place, visit: Visit) -> None:
    page = visit()
    owner = owner_of(page, place)
    long = [Candidate(text=f"{word} " * (1_000_000 // (len(word) + 1))) for word in ("a", "bbb")]
    unbroken = Candidate(text="x" * 1_000_000)
    pool = Pool("Which?", [*long, unbroken], [[0, 0], [1, 0], [0, 1]])
    live = Interactions(place.store)
    screen = live.create(place.store.pools.add(pool, owner), owner, {})
    page.goto(place.at(f"/s/{screen.session_id}"))
    check(page)
    assert "the whole answer has" in page.inner_text(".glance")
    assert len(page.content()) < 200_000
    page.get_by_role("button", name="Good enough").click()
    page.wait_for_selector("[data-result]")
    check(page)


def test_a_hostile_model(visit: Visit, trap: Trap, tmp_path: Path) -> None:
    service = ScriptedService()
    thread = Thread(target=service.serve_forever)
    thread.start()
    texts = hostile(trap.address)
    pairs = zip(texts[::2], texts[1::2], strict=True)  # so few that no session begins by itself
    replies = [Reply(chat(f"{first}\n\n{second} {k}")) for k, (first, second) in enumerate(pairs)]
    service.will(*replies, Reply(chat("no"), delay=60.0))
    environment = {"OPENAI_BASE_URL": service.base_url, "OPENAI_API_KEY": "none"}
    with prepared(f"sqlite:///{tmp_path / 'place.db'}", tmp_path, **environment) as place:
        page = visit()
        page.goto(place.at("/"))
        page.fill("#question", "<script>alert(1)</script> Which bicycle?")
        page.get_by_role("button", name="Find my answer").click()
        page.wait_for_selector(".arriving li")
        check(page)
        page.reload()
        check(page)
    service.shutdown()
    thread.join()
    service.server_close()
    assert trap.called == []
