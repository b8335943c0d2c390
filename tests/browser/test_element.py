"""`<user-align>` in a page of another site: two origins, a strict policy, tokens, a keyboard."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.browser.places import DESKTOP, PHONE, SECRET
from tests.servers import Server
from useralign import domains
from useralign.store import open_store
from useralign.web.identity import LOCAL, Grant
from useralign.web.rendering import STATIC

EXAMPLE = Path(__file__).parents[2] / "examples" / "page.py"


@dataclass
class Site:
    """An application's own server: the example's, with more pages, and tokens to be handed out."""

    example: Any
    origin: str = ""
    useralign: str = ""
    picture_pool: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    handed_out: list[str] = field(default_factory=list)  # before the example's own

    def add(self, path: str, body: str, policy: str = "") -> str:
        """Add a page with the element; return its address."""
        head = f'<script type="module" src="{self.useralign}/user-align.js"></script>'
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
        self.pages[path] = f"<!doctype html><html lang=en>{meta}{head}{body}".encode()
        return f"{self.origin}{path}"

    def token(self, expires: float = 9e9, pool: str | None = None) -> str:
        """Sign a token as the server does."""
        return Grant("a" * 64, LOCAL, pool, expires).sign(SECRET)


@contextmanager
def hosted(site: Site) -> Iterator[str]:
    """Serve a site on a port of its own."""

    class Application(site.example.Application):  # type: ignore[name-defined, misc]
        def do_GET(self) -> None:  # noqa: N802 - the library's name
            if self.path in site.pages:
                self._send(site.pages[self.path], "text/html; charset=utf-8")
            elif self.path == "/copy.js":
                self._send((STATIC / "user-align.js").read_bytes(), "text/javascript")
            elif self.path == "/token" and site.handed_out:
                reply = {"token": site.handed_out.pop(0), "pool": None}
                self._send(json.dumps(reply).encode(), "application/json")
            else:
                super().do_GET()

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Application) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Site]]:
    """An application that is allowed, and one that is not; both know the same server."""
    spec = importlib.util.spec_from_file_location("page", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    allowed, refused = Site(example), Site(example)
    database = f"sqlite:///{tmp_path_factory.mktemp('element') / 'element.db'}"
    with hosted(allowed) as allowed.origin, hosted(refused) as refused.origin:
        options, secret = ["--origin", allowed.origin], {"USERALIGN_SECRET": SECRET}
        with Server(database, options, secret) as server:
            allowed.useralign = refused.useralign = example.SERVER = server.address
            store = open_store(database)
            pool = domains.load("visual512d").questions[0].pool()
            allowed.picture_pool = store.pools.add(pool, LOCAL)
            store.close()
            yield allowed, refused


def standing(page: Page, text: str) -> None:
    expect(page.locator(".standing")).to_have_text(text)


def test_the_example_with_a_keyboard_alone(sites: tuple[Site, Site], visit: Visit) -> None:
    page = visit()
    page.goto(sites[0].origin)
    standing(page, "1 of about 3")
    status = page.get_by_role("status")
    expect(status).to_have_text("Screen 1 of about 3.")
    page.keyboard.press("Tab")
    first = page.get_by_role("button", name="Choose answer 1")
    expect(first).to_be_focused()
    expect(first).to_have_accessible_description(page.locator(".text").first.inner_text())
    page.keyboard.press("Enter")
    standing(page, "2 of about 3")
    expect(status).to_have_text("Screen 2 of about 3.")
    page.keyboard.press("n")
    standing(page, "3 of about 3")
    page.keyboard.press("u")
    standing(page, "2 of about 3")
    page.keyboard.press("u")
    standing(page, "1 of about 3")
    page.keyboard.press("2")  # a second choice might be enough already, by chance
    standing(page, "2 of about 3")
    page.reload()
    standing(page, "2 of about 3")  # where they were
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Good enough, show me")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".reason")).not_to_be_empty()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="This one", exact=True)).to_be_focused()
    answer = page.locator(".final .text").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#plan")).to_have_text(f"Tonight: {answer}")  # the page was told
    expect(page.get_by_role("button", name="Change my mind")).to_be_visible()


def test_the_example_is_short() -> None:
    lines = EXAMPLE.with_suffix(".html").read_text("utf-8").splitlines()
    assert len(lines) <= 30
    assert len([line for line in lines if "user-align" in line and "<" in line]) == 3


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pictures_under_a_strict_policy(
    sites: tuple[Site, Site], visit: Visit, size: dict[str, Any]
) -> None:
    site, _ = sites
    server = site.useralign
    policy = f"default-src 'none'; script-src {server}; connect-src {server}; img-src {server}"
    token = site.token(pool=site.picture_pool)
    body = f'<user-align token="{token}" pool="{site.picture_pool}"></user-align>'
    page = visit(size)
    page.goto(site.add("/pictures", body, policy))
    expect(page.locator("img")).to_have_count(9)
    page.locator("img").evaluate_all("all => Promise.all(all.map((image) => image.decode()))")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0
    page.locator(".card").nth(5).dblclick()
    standing(page, "2 of about 2")  # a double click counts once
    page.get_by_text("Good enough, show me").click()
    page.get_by_text("Two more screens").click()
    standing(page, "2 of about 3")


def test_a_page_that_is_not_allowed(sites: tuple[Site, Site], chromium: Browser) -> None:
    """Neither the file nor, with a copy of it, anything else; what the page holds stays there."""
    site = sites[1]
    page = chromium.new_page()
    body = f"<user-align token={site.token()}><li>soup</li></user-align>"
    page.goto(site.add("/", body))
    page.wait_for_load_state()
    assert not page.evaluate("Boolean(customElements.get('user-align'))")
    copy = f'<script type="module" src="/copy.js"></script>{body}'
    page.goto(site.add("/copy", copy.replace("token=", f"server={site.useralign} token=")))
    expect(page.get_by_role("alert")).to_contain_text(f"--origin {site.origin}")
    expect(page.get_by_text("soup")).to_be_visible()
    page.close()


def test_a_token_that_has_expired(sites: tuple[Site, Site], visit: Visit) -> None:
    site, _ = sites
    items = "<li>a hot soup</li><li>a cake</li><li>a salad</li>"
    body = f'<user-align token="{site.token(1.0)}" question="Which?">{items}</user-align>'
    page = visit()
    page.add_init_script("addEventListener('expired', () => { document.title = 'expired'; })")
    page.goto(site.add("/old", body))
    expect(page.get_by_role("alert")).to_contain_text("time to answer is over")
    expect(page).to_have_title("expired")
    page.evaluate(
        "token => document.querySelector('user-align').setAttribute('token', token)", site.token()
    )
    standing(page, "1 of about 1")


def test_a_token_that_comes_later(sites: tuple[Site, Site], visit: Visit) -> None:
    site, _ = sites
    body = '<user-align question="Which?"><li>a hot soup</li><li>a cake</li></user-align>'
    page = visit()
    page.goto(site.add("/later", body))
    expect(page.get_by_role("alert")).to_contain_text("no permission to ask you yet")
    page.evaluate(
        "token => document.querySelector('user-align').setAttribute('token', token)", site.token()
    )
    standing(page, "1 of about 1")


def test_a_token_that_expires_on_the_way_is_renewed(sites: tuple[Site, Site], visit: Visit) -> None:
    site, _ = sites
    site.handed_out += [site.token(1.0), site.token()]
    page = visit()
    page.goto(site.origin)
    standing(page, "1 of about 3")
    assert not site.handed_out


def test_hostile_texts_stay_texts(sites: tuple[Site, Site], visit: Visit) -> None:
    site, _ = sites
    texts = ["&lt;img src=/leak onerror=alert(1)&gt;", "**bold** \u202e- reversed `code`", "# Head"]
    items = "".join(f"<li>{text}</li>" for text in texts)
    body = f'<user-align token="{site.token()}" question="Which?">{items}</user-align>'
    page = visit()
    page.goto(site.add("/hostile", body))
    standing(page, "1 of about 1")
    text = "\n".join(page.locator(".text").all_inner_texts())
    assert "<img src=/leak onerror=alert(1)>" in text
    assert "\u202e" not in text
    expect(page.locator(".text strong").filter(has_text="bold")).to_have_count(1)
    expect(page.locator(".text img")).to_have_count(0)
