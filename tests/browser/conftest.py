"""A real browser before a real server.

One Chromium per process serves all tests of this folder, each with contexts of its own. It lasts no
longer than the folder: while its driver runs, no other loop of events can run in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.places import DESKTOP, Place, Watch, launched, prepared

Visit = Callable[..., Page]


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server over SQLite with its studies, and a way into its database."""
    folder = tmp_path_factory.mktemp("place")
    with prepared(f"sqlite:///{folder / 'place.db'}", folder) as found:
        yield found


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """Open a page as somebody new; what no page may do is looked for in all of them."""
    contexts: list[tuple[BrowserContext, Watch]] = []

    def new(
        size: dict[str, Any] = DESKTOP, elsewhere: tuple[str, ...] = (), **options: Any
    ) -> Page:
        context = chromium.new_context(**{**size, **options})
        context.set_default_timeout(240_000)  # the time-out of the test is the only clock
        watch = Watch(allowed=("127.0.0.1", *elsewhere))
        context.on("page", watch.see)
        contexts.append((context, watch))
        return context.new_page()

    yield new
    for context, watch in contexts:
        context.close()
        watch.check()
