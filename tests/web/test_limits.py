"""Limits refuse before anything is stored, never after."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import limits.storage.memory
import limits.strategies
import pytest
from limits.storage import MemoryStorage
from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

import useralign.web.limits
from tests.web.browser import Browser
from useralign.store import Store
from useralign.store.schema import steps
from useralign.web import Settings
from useralign.web.app import create_app
from useralign.web.limits import Limiter

SECRET = "a secret of many letters"  # noqa: S105


def count(store: Store) -> int:
    with store.reading() as connection:
        chosen = select(func.count()).select_from(steps).where(steps.c.kind.is_not(None))
        return int(connection.execute(chosen).scalar_one())


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time stands still one second into a window, unless a test moves it."""
    clock = SimpleNamespace(now=3600.0 * 10**6 + 1.0)
    clock.time = lambda: clock.now
    for module in (limits.storage.memory, limits.strategies, useralign.web.limits):
        monkeypatch.setattr(module, "time", clock)
    return clock


def test_a_window_fills_and_slides(clock: SimpleNamespace) -> None:
    limiter = Limiter(0.5, 3, "answers", MemoryStorage())
    for _ in range(3):
        limiter.take("a")
    with pytest.raises(HTTPException) as refused:
        limiter.take("a")
    assert refused.value.status_code == 429
    assert refused.value.headers == {"Retry-After": "5"}
    limiter.take("b")
    clock.now += 5.0
    limiter.take("b")
    with pytest.raises(HTTPException) as refused:
        limiter.check("a")
    assert refused.value.headers == {"Retry-After": "1"}
    clock.now += 1.0  # a part of the window before has slid out
    limiter.take("a")
    with pytest.raises(HTTPException):
        limiter.check("a")


def test_a_rate_above_the_burst_counts(clock: SimpleNamespace) -> None:
    limiter = Limiter(10.0, 3, "answers", MemoryStorage())
    for _ in range(10):
        limiter.take("a")
    with pytest.raises(HTTPException):
        limiter.take("a")


def test_a_rate_of_nothing_lets_the_burst_through(clock: SimpleNamespace) -> None:
    limiter = Limiter(0.0, 2, "answers", MemoryStorage())
    for _ in range(2):
        limiter.take("a")
    with pytest.raises(HTTPException):
        limiter.take("a")


def test_threads_get_no_more_than_one_would() -> None:
    limiter = Limiter(0.001, 20, "answers", MemoryStorage())

    def taken(key: str) -> bool:
        try:
            limiter.take(key)
        except HTTPException:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        for key in map(str, range(20)):
            assert sum(threads.map(taken, [key] * 60)) == 20


def test_old_counters_are_forgotten(clock: SimpleNamespace) -> None:
    storage = MemoryStorage()
    limiter = Limiter(1.0, 1, "answers", storage)
    for k in range(100):
        limiter.take(str(k))
    clock.now += 10.0
    limiter.take("one more")
    storage.timer.join()
    assert len(storage.storage) == 1


def test_answers_too_fast(light: Store) -> None:
    app = create_app(light, Settings(answers_at_once=3, answers_per_minute=0.001))
    browser = Browser(app)
    page = browser.begin()
    for _ in range(3):
        page = browser.answer(page)
    refused = browser.answer(page)
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "Nothing you answered was lost" in refused.text
    assert count(light) == 3
    assert browser.get(page.path).step == 3


def test_answers_too_fast_by_the_api(light: Store) -> None:
    app = create_app(light, Settings(answers_at_once=2, answers_per_minute=0.001))
    client = TestClient(app, base_url="http://localhost")
    pool = client.post("/api/pools", json={"question": "?", "features": [[0], [1], [3]]}).json()
    session = client.post("/api/sessions", json={"pool": pool["id"]}).json()["id"]
    replies = [
        client.post(f"/api/sessions/{session}/answers", json={"step": k, "kind": "skip"})
        for k in range(3)
    ]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert replies[2].headers["content-type"] == "application/problem+json"
    assert int(replies[2].headers["retry-after"]) > 0
    assert count(light) == 2


def test_too_many_questions(light: Store) -> None:
    app = create_app(light, Settings(asks_per_hour=2))
    browser = Browser(app)
    assert [browser.begin().status for _ in range(3)] == [200, 200, 429]


def test_a_new_cookie_is_no_way_around(light: Store) -> None:
    app = create_app(light, Settings(asks_per_hour=2))
    assert [Browser(app).begin().status for _ in range(3)] == [200, 200, 429]


def test_behind_a_proxy_visitors_are_told_apart(light: Store) -> None:
    settings = Settings(secret=SECRET, loopback=False, trust_proxy=True, tries_per_minute=1)
    client = TestClient(create_app(light, settings), base_url="http://site.example")
    key = {"authorization": "Bearer ua_wrong"}

    def status(forwarded: str) -> int:
        headers = key | {"x-forwarded-for": forwarded}
        return client.get("/api/models", headers=headers).status_code

    assert [status("192.0.2.1"), status("192.0.2.1"), status("192.0.2.2")] == [401, 429, 401]
    assert status("192.0.2.9, 192.0.2.1") == 429  # what a visitor claims does not count


def test_too_many_wrong_keys(light: Store) -> None:
    settings = Settings(secret=SECRET, loopback=False, tries_per_minute=3)
    client = TestClient(create_app(light, settings), base_url="http://site.example")
    headers = {"authorization": "Bearer ua_wrong"}
    seen = [client.get("/api/models", headers=headers).status_code for _ in range(5)]
    assert seen == [401, 401, 401, 429, 429]
