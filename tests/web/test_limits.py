"""Limits refuse before anything is stored, never after."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from tests.web.browser import Browser
from useralign.errors import ModelUnavailableError
from useralign.store import Store, StoredSession, open_store
from useralign.store.schema import rate_limits, steps
from useralign.web import Settings
from useralign.web.app import create_app
from useralign.web.identity import form_token
from useralign.web.limits import AT_ONCE, WAITING, Limiter, Limits, Turns
from useralign.web.problems import for_visitors

SECRET = "a secret of many letters"  # noqa: S105
TOKEN = "t" * 43


def count(store: Store) -> int:
    with store.reading() as connection:
        chosen = select(func.count()).select_from(steps).where(steps.c.kind.is_not(None))
        return int(connection.execute(chosen).scalar_one())


def limiter(store: Store, per_second: float, burst: float) -> Limiter:
    return Limiter(per_second, burst, "answers", store, b"key")


def pass_time(store: Store, seconds: float) -> None:
    """Have all that was taken be so much longer ago."""
    earlier = update(rate_limits).values(until=rate_limits.c.until - seconds)
    with store.writing() as connection:
        connection.execute(earlier)


def is_taken(one: Callable[[str], None], key: str = "a") -> bool:
    try:
        one(key)
    except HTTPException:
        return False
    return True


def test_a_burst_and_then_the_rate(store: Store) -> None:
    slow = limiter(store, 0.001, 3)
    assert [is_taken(slow.take) for _ in range(5)] == [True, True, True, False, False]
    assert is_taken(slow.take, "b")
    pass_time(store, 1000.0)
    assert [is_taken(slow.take) for _ in range(2)] == [True, False]
    pass_time(store, 1e6)
    assert [is_taken(slow.take) for _ in range(4)] == [True, True, True, False]


def test_when_to_come_again(light: Store) -> None:
    slow = limiter(light, 0.001, 1)
    slow.take("a")
    with pytest.raises(HTTPException) as refused:
        slow.take("a")
    assert refused.value.status_code == 429
    assert refused.value.headers is not None
    assert 990 <= int(refused.value.headers["Retry-After"]) <= 1000


def test_a_rate_of_nothing_lets_the_burst_through(light: Store) -> None:
    never = limiter(light, 0.0, 2)
    assert [is_taken(never.take) for _ in range(3)] == [True, True, False]


def test_without_a_limit_nothing_is_counted(light: Store) -> None:
    limiter(light, math.inf, math.inf).take("a")
    with light.reading() as connection:
        assert connection.execute(select(rate_limits)).all() == []


def test_what_is_given_back_can_be_taken_again(light: Store) -> None:
    slow = limiter(light, 0.001, 1)
    slow.take("a")
    slow.give_back("a")
    assert [is_taken(slow.take) for _ in range(2)] == [True, False]


def test_a_clock_that_is_set_back_locks_nobody_out(light: Store) -> None:
    slow = limiter(light, 0.001, 2)
    slow.take("a")
    pass_time(light, -1e6)
    assert is_taken(slow.take)


def test_two_servers_with_many_threads_get_no_more_than_one_would(store_url: str) -> None:
    servers = [open_store(store_url) for _ in range(2)]
    limiters = [limiter(server, 0.0001, 5) for server in servers]

    def taken(number: int) -> bool:
        return is_taken(limiters[number % 2].take)

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(taken, range(60))) == 5
    for server in servers:
        server.close()


def test_what_does_not_count_any_more_is_deleted(light: Store) -> None:
    slow = limiter(light, 0.1, 1)
    slow.take("a")
    light.rate_limits.purge()
    assert not is_taken(slow.take)
    pass_time(light, 100.0)
    light.rate_limits.purge()
    with light.reading() as connection:
        assert connection.execute(select(rate_limits)).all() == []


def test_nobody_can_tell_from_the_database_who_came(light: Store, tmp_path: Path) -> None:
    settings = Settings(secret=SECRET, loopback=False, trust_proxy=True)
    client = TestClient(create_app(light, settings), base_url="http://site.example")
    headers = {"authorization": "Bearer ua_wrong", "x-forwarded-for": "192.0.2.77"}
    assert client.get("/api/models", headers=headers).status_code == 401
    with light.reading() as connection:
        (row,) = connection.execute(select(rate_limits)).all()
    others = Settings(secret=SECRET + "!", loopback=False)
    assert row.id == Limits(settings, light).tries._name("192.0.2.77")
    assert row.id != Limits(others, light).tries._name("192.0.2.77")


def test_twenty_wrong_secrets_at_once_are_three_tries(light: Store) -> None:
    settings = Settings(secret=SECRET, loopback=False, tries_per_minute=3)
    client = TestClient(create_app(light, settings), base_url="http://site.example")

    def status(_: int) -> int:
        return client.post("/admin/login", data={"secret": "wrong"}).status_code

    with ThreadPoolExecutor(10) as threads:
        seen = sorted(threads.map(status, range(20)))
    assert seen == [401] * 3 + [429] * 17


def test_the_right_key_is_no_try(light: Store) -> None:
    settings = Settings(secret=SECRET, loopback=False, tries_per_minute=1)
    client = TestClient(create_app(light, settings), base_url="http://site.example")
    headers = {"authorization": f"Bearer {light.keys.add('mine')}"}
    assert [client.get("/api/models", headers=headers).status_code for _ in range(3)] == [200] * 3
    light.keys.remove("mine")
    seen = [client.get("/api/models", headers=headers).status_code for _ in range(2)]
    assert seen == [401, 429]


def test_many_first_requests_with_the_right_key_are_no_tries(
    light: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = light.keys.owner_of

    def slowly(key: str) -> str | None:
        time.sleep(0.05)  # long enough for the others to come
        return look_up(key)

    monkeypatch.setattr(light.keys, "owner_of", slowly)
    settings = Settings(secret=SECRET, loopback=False, tries_per_minute=1)
    client = TestClient(create_app(light, settings), base_url="http://site.example")
    headers = {"authorization": f"Bearer {light.keys.add('mine')}"}
    with ThreadPoolExecutor(10) as threads:
        replies = threads.map(
            lambda number: client.delete(f"/v1/people/{number}", headers=headers), range(20)
        )
        assert {reply.status_code for reply in replies} == {204}


def test_a_refused_remark_costs_nothing(light: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    app: FastAPI = create_app(light, Settings(answers_at_once=1, answers_per_minute=0.001))
    client = TestClient(app, base_url="http://localhost")
    pool = client.post("/api/pools", json={"question": "?", "texts": ["a hot soup", "cake"]}).json()
    session = client.post("/api/sessions", json={"pool": pool["id"]}).json()["id"]
    path = f"/api/sessions/{session}/answers"
    assert client.post(path, json={"step": 0, "kind": "skip"}).status_code == 200
    opened: list[object] = []
    monkeypatch.setattr(app.state.live, "open", lambda *who: opened.append(who))
    remark = {"step": 1, "kind": "remark", "text": "something hot"}
    assert client.post(path, json=remark).status_code == 429
    assert not opened


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
    begin = {"pool": pool["id"], "method": "useralign"}
    session = client.post("/api/sessions", json=begin).json()["id"]
    replies = [
        client.post(f"/api/sessions/{session}/answers", json={"step": k, "kind": "skip"})
        for k in range(3)
    ]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert replies[2].headers["content-type"] == "application/problem+json"
    assert int(replies[2].headers["retry-after"]) > 0
    assert count(light) == 2


def test_strangers_see_no_paths_and_addresses() -> None:
    error = ModelUnavailableError("http://10.0.0.7:11434/v1 does not answer; see /srv/app/log.txt")
    here, elsewhere = Settings(), Settings(secret=SECRET, loopback=False)
    assert "10.0.0.7" in for_visitors(error, here)
    text = for_visitors(error, elsewhere)
    assert not [word for word in ("10.0.0.7", "11434", "srv", "log.txt") if word in text]
    assert "does not answer" in text
    assert for_visitors(ModelUnavailableError("~" * 10**6 + "a" * 10**6), elsewhere)  # and soon
    assert "and/or" in for_visitors(ModelUnavailableError("this and/or that"), elsewhere)


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


def test_few_of_one_persons_requests_compute_at_once(
    light: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(light, Settings())
    browser = Browser(app)
    page = browser.begin()
    lock, at_work, most = threading.Lock(), [0], [0]
    opened = app.state.live.open

    def counted(*of: str) -> StoredSession:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        time.sleep(0.05)  # so that they would meet
        with lock:
            at_work[0] -= 1
        return cast("StoredSession", opened(*of))

    monkeypatch.setattr(app.state.live, "open", counted)

    async def besiege() -> tuple[list[httpx.Response], httpx.Response]:
        transport = httpx.ASGITransport(app)
        cookies = dict(browser.client.cookies)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", cookies=cookies
        ) as client:
            views = [asyncio.create_task(client.get(page.path)) for _ in range(45)]
            health = await client.get("/healthz")
            return [await view for view in views], health

    replies, health = asyncio.run(besiege())
    assert health.text == "ok"
    assert most[0] == AT_ONCE
    statuses = [reply.status_code for reply in replies]
    assert statuses.count(200) == AT_ONCE + WAITING
    assert statuses.count(429) == 45 - AT_ONCE - WAITING
    assert {r.headers["retry-after"] for r in replies if r.status_code == 429} == {"1"}
    assert browser.answer(page).step == 1  # and afterwards all is as before


@pytest.mark.parametrize("path", ["/ask", "/you/data.json", "/study/small/" + TOKEN])
def test_who_asks_for_much_at_once_is_put_in_turn(
    light: Store, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    app, most = create_app(light, Settings()), [0]
    turns = app.state.limits.turns
    turn, at_work = turns.turn, Counter[str]()

    @asynccontextmanager
    async def counted(key: str) -> AsyncIterator[None]:
        async with turn(key):
            at_work[key] += 1
            most[0] = max(most[0], at_work[TOKEN])
            try:
                yield
            finally:
                at_work[key] -= 1

    monkeypatch.setattr(turns, "turn", counted)

    async def besiege() -> set[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport,
            base_url="http://localhost",
            cookies={} if TOKEN in path else {"useralign": TOKEN},
            headers={"x-form-token": form_token(TOKEN)},
        ) as client:
            method = "POST" if path == "/ask" else "GET"
            asked = [asyncio.create_task(client.request(method, path)) for _ in range(45)]
            return {(await reply).status_code for reply in asked}

    assert 429 in asyncio.run(besiege())
    assert most == [AT_ONCE]


def test_many_newcomers_from_one_address_are_all_served(light: Store) -> None:
    app = create_app(light, Settings())

    async def come() -> set[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = [asyncio.create_task(client.get("/you")) for _ in range(60)]
            return {(await reply).status_code for reply in asked}

    assert asyncio.run(come()) == {200}


def test_nobody_waits_for_themselves(light: Store) -> None:
    with TestClient(create_app(light), base_url="http://localhost") as client:
        client.cookies["useralign"] = "abc"
        assert client.get("/api/sessions/abc").status_code == 404


def test_turns_in_several_event_loops() -> None:
    turns = Turns(at_once=1, waiting=8)

    async def take() -> int:
        for _ in range(50):
            async with turns.turn("a"):
                await asyncio.sleep(0)
        return 50

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: asyncio.run(take()), range(4))) == [50] * 4


def test_a_turn_is_given_back_whatever_happens() -> None:
    turns = Turns(at_once=1, waiting=0)

    async def take(*, fails: bool) -> None:
        async with turns.turn("a"):
            with pytest.raises(HTTPException):
                async with turns.turn("a"):
                    pass
            async with turns.turn("b"):
                pass
            if fails:
                raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(take(fails=True))
    asyncio.run(take(fails=False))


def test_views_too_fast(light: Store) -> None:
    browser = Browser(create_app(light, Settings(views_per_minute=6)))
    page = browser.begin()
    assert [browser.get(page.path).status for _ in range(7)][-1] == 429
    assert browser.answer(page).step == 1  # answers are counted apart
