"""Browsers, sizes of screens, and a server with something in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, sync_playwright

from tests.servers import Server
from tests.study.conftest import crowd_design, small_design
from useralign.store import Store, open_store
from useralign.study import Studies

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync "
    # A page of a crowd service may show one of this machine in a frame, as it may in life. The menu
    # of the address bar, which nobody sees here, is a page of its own with every new window.
    "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup"
)
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
SIZES = {"phone": PHONE, "desktop": DESKTOP}
SECRET = "a secret of many letters"  # noqa: S105 - of the tests alone
# What whoever runs the tests may have set, and the servers must not see.
_OURS = ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL", "USERALIGN_DATABASE")


@contextmanager
def launched() -> Iterator[Browser]:
    """Run Chromium without a screen."""
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not here: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS.split())
        yield browser
        browser.close()


@dataclass
class Place:
    """A server, and its database seen from behind."""

    server: Server
    store: Store

    @property
    def address(self) -> str:
        return self.server.address

    def at(self, path: str) -> str:
        return f"{self.server.address}{path}"


@contextmanager
def prepared(database: str, folder: Path, **environment: str) -> Iterator[Place]:
    """Serve small studies: with a persona, without, and for a platform's workers."""
    store = open_store(database)
    for slug, condition in (("played", "with-persona"), ("own", "without-persona")):
        Studies(store).add(small_design(slug=slug, participants=400, conditions=[condition]))
    Studies(store).add(crowd_design(slug="crowd", participants=400))
    own = {"USERALIGN_CACHE": str(folder / "cache"), "USERALIGN_DATA": str(folder / "data")}
    kept = {name: "" for name in _OURS if name in os.environ}
    given = {**kept, **own, "USERALIGN_SECRET": SECRET, **environment}
    try:
        with Server(database, environment=given) as server:
            yield Place(server, store)
    finally:
        store.close()


@dataclass
class Watch:
    """Notes what a page must never do: ask elsewhere, run a stranger's script, break its rules."""

    elsewhere: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ("127.0.0.1",)

    def see(self, page: Page) -> None:
        page.on("request", self._requested)
        page.on("dialog", self._asked)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def check(self) -> None:
        assert (self.elsewhere, self.dialogs, self.errors) == ([], [], [])

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.hostname not in self.allowed or "leak" in parts.path:
            self.elsewhere.append(request.url)

    def _asked(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _said(self, message: ConsoleMessage) -> None:
        # A request that fails or is refused is told by the browser itself: that is not ours.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.errors.append(message.text)
