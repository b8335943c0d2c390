"""Pools that a model makes while the page waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from tests.web.browser import Browser
from useralign import models
from useralign.errors import ModelUnavailableError
from useralign.models import Generator, Scripted
from useralign.pooling import PoolRequest
from useralign.store import PoolJob, Store
from useralign.store.schema import makings
from useralign.web import Settings
from useralign.web.app import create_app

MakeApp = Callable[[Callable[[str | None], Generator]], FastAPI]
QUESTION = "Which bicycle should I buy?"
WORDS = [
    "steel", "carbon", "folding", "cargo", "racing",
    "touring", "gravel", "mountain", "electric", "vintage",
]  # fmt: skip


def answers() -> Scripted:
    """A model that has something new to say each time."""
    count = iter(range(10_000))

    def reply(_: object) -> str:
        k = next(count)
        word, other = WORDS[k % 10], WORDS[(k // 10) % 10]
        return f"Take the {word} one, number {k}, because a {other} bicycle is {word * 2} for {k}."

    return Scripted(reply)


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = models.AvailableModel("scripted", "A script", frozenset({"text"}))
    monkeypatch.setattr(models, "available", lambda: [scripted])


@pytest.fixture
def app_with(store: Store) -> Iterator[MakeApp]:
    """Build applications with a model; at the end, wait for whatever is at work in them."""
    apps: list[FastAPI] = []

    def build(generator: Callable[[str | None], Generator]) -> FastAPI:
        apps.append(create_app(store, Settings(generator=generator)))
        return apps[-1]

    yield build
    for app in apps:
        app.state.pool_jobs.close(60.0)


def awaited(app: FastAPI, making: str, owner: str) -> PoolJob:
    for _ in range(600):
        found: PoolJob = app.state.pool_jobs.get(making, owner)
        if found.state in ("ready", "failed"):
            return found
        time.sleep(0.05)
    raise AssertionError(f"not made: {found}")


def test_watch_and_compare(app_with: MakeApp, store: Store, offered: None) -> None:
    browser = Browser(app_with(lambda _: answers()))
    page = browser.begin(QUESTION, model="scripted")
    assert page.path.startswith(("/making/", "/s/"))
    assert QUESTION in page.text
    for _ in range(600):
        found = browser.get(page.path)
        if found.path.startswith("/s/"):
            break
        state = browser.client.get(f"{page.path}/state").json()
        assert state["state"] in ("waiting", "making", "ready")
        assert state["made"] <= state["wanted"] or not state["wanted"]
        time.sleep(0.05)
    assert found.step == 0
    assert browser.finish(found).over
    for _ in range(600):
        with store.reading() as connection:
            if connection.execute(select(makings.c.state)).scalar_one() == "ready":
                break
        time.sleep(0.05)
    again = browser.begin(QUESTION)  # kept: it begins at once
    assert again.path.startswith("/s/")


def test_without_script_the_page_comes_again(app_with: MakeApp, offered: None) -> None:
    slow = app_with(lambda _: Scripted(["A bicycle."], seconds=0.5))
    page = Browser(slow).begin(QUESTION, model="scripted")
    assert '<noscript><meta http-equiv="refresh"' in page.text
    slow.state.pool_jobs.close()


def test_a_model_that_fails_can_be_tried_again(app_with: MakeApp, offered: None) -> None:
    broken = [True]

    def generator(_: str | None) -> Generator:
        if broken[0]:
            raise ModelUnavailableError("the service is away; <b>try later</b>")
        return answers()

    app = app_with(generator)
    browser = Browser(app)
    path = browser.begin(QUESTION, model="scripted").path
    for _ in range(200):
        page = browser.get(path)
        if "did not work out" in page.text:
            break
        time.sleep(0.05)
    assert "the service is away; &lt;b&gt;try later" in page.text
    broken[0] = False
    browser.post(f"{path}/retry", page.token)
    for _ in range(600):
        page = browser.get(path)
        if page.path.startswith("/s/"):
            return
        time.sleep(0.05)
    raise AssertionError(page.text)


@pytest.mark.parametrize("said", ["", "x", "same answer every time, word for word, always"])
def test_a_model_that_says_nothing_usable(app_with: MakeApp, offered: None, said: str) -> None:
    app = app_with(lambda _: Scripted([said]))
    making = app.state.pool_jobs.start("someone", PoolRequest(QUESTION, model="scripted"))
    found = awaited(app, making, "someone")
    assert found.state == "failed"
    assert found.note


def test_an_error_of_ours_tells_nothing_of_our_insides(app_with: MakeApp) -> None:
    def generator(_: str | None) -> Generator:
        raise KeyError("secret detail")

    app = app_with(generator)
    making = app.state.pool_jobs.start("someone", PoolRequest(QUESTION, model="scripted"))
    found = awaited(app, making, "someone")
    assert found.state == "failed"
    assert "secret detail" not in found.note


def test_what_a_dead_process_began_is_taken_over(
    app_with: MakeApp, store: Store, offered: None
) -> None:
    dead = app_with(lambda _: answers())
    dead.state.pool_jobs.close()
    making = dead.state.pool_jobs.start("someone", PoolRequest(QUESTION, model="scripted"))
    alive = app_with(lambda _: answers())
    assert alive.state.pool_jobs.get(making, "someone").state in ("waiting", "making")
    with store.writing() as connection:
        connection.execute(update(makings).values(updated=time.time() - 120.0))
    found = awaited(alive, making, "someone")
    assert found.state == "ready"
    assert found.pool_id is not None
