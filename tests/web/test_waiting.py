"""Comparing begins before all answers are there; the rest joins, and nothing comes back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update

from tests.web.browser import Browser, Page
from tests.web.test_pool_jobs import QUESTION, awaited, offered
from useralign import Pool, domains
from useralign.models import Generator, Scripted
from useralign.pooling import PoolRequest, client, generate_requested
from useralign.store import PoolJob, Store, digest
from useralign.store.pools import not_aside, row_of
from useralign.store.schema import makings, pools, sessions
from useralign.web import Settings, pool_jobs
from useralign.web.app import create_app

__all__ = ["offered"]


@cache
def texts() -> list[str]:
    """Return many answers that are unlike each other."""
    questions = [question for _, question in domains.shipped_questions()]
    every = [c.text for question in questions[::3] for c in question.candidates[:3]]
    return [text for text in dict.fromkeys(every) if len(text) > 60]


class Tap:
    """A model that writes as many answers as it is let."""

    def __init__(self) -> None:
        self._left = threading.Semaphore(0)
        self._shut = False
        self.written = 0
        self.prompts: list[str] = []
        self._apps: list[FastAPI] = []

    def let(self, count: int) -> None:
        for _ in range(count):
            self._left.release()

    def shut(self) -> None:
        """Let whoever waits go, with nothing to say."""
        self._shut = True

    def app(self, store: Store, **settings: Any) -> FastAPI:
        """Return an application that has this model, as one of several processes would be."""
        app = create_app(store, Settings(generator=self.generator, **settings))
        self._apps.append(app)
        return app

    def end(self) -> None:
        """Wait for all that is at work."""
        self.shut()
        for app in self._apps:
            app.state.pool_jobs.close(60.0)

    def generator(self, _: str | None = None) -> Generator:
        async def reply(request: Any) -> str:
            if request.schema is not None:
                return ""  # it knows of no interests
            if request.temperature == 0:
                return "A plain bicycle will do for most people, and costs little."
            while not self._shut and not self._left.acquire(blocking=False):
                await asyncio.sleep(0.01)
            if self._shut:
                return ""
            self.prompts.append(request.prompt)
            self.written += 1
            return texts()[self.written - 1]

        return Scripted(reply)


@pytest.fixture
def tap(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tap]:
    monkeypatch.setattr(client, "GRACE", 0.3)  # what is on its way waits for the tap, not long
    made = Tap()
    yield made
    made.end()


class _Killed(Exception):  # noqa: N818 - what a kill would be if it were an exception
    pass


def until(check: Callable[[], object]) -> None:
    """Wait until something is so."""
    for _ in range(2400):
        if check():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to be")


def owner_of(browser: Browser) -> str:
    return digest(browser.client.cookies["useralign"])


def job_of(app: FastAPI, page: Page, browser: Browser) -> PoolJob:
    """Return the job that a page waits for, or whose session a fast model has let it begin."""
    owner, job_id = owner_of(browser), page.path.split("/")[2]
    if page.path.startswith("/s/"):
        job_id = app.state.live.open(session_id(page), owner).page["making"]
    job: PoolJob = app.state.pool_jobs.get(job_id, owner)
    return job


def session_id(page: Page) -> str:
    assert page.path.startswith("/s/"), page.text
    return page.path.partition("?")[0].split("/")[2]


def size(app: FastAPI, page: Page, browser: Browser) -> int:
    return len(app.state.live.open(session_id(page), owner_of(browser)).session.pool)


def asked(app: FastAPI, tap: Tap, count: int, question: str = QUESTION) -> tuple[Browser, Page]:
    """Ask a question, and wait until so many answers are there; others wait for the tap."""
    browser = Browser(app)
    page = browser.begin(question, model="scripted", method="few")
    tap.let(count)
    until(lambda: job_of(app, page, browser).made >= count)
    return browser, page


def count(store: Store, table: Any) -> int:
    """Return how many rows there are, but for those that somebody deleted and may want back."""
    there = select(func.count()).where(not_aside(table.c.owner))
    with store.reading() as connection:
        return int(connection.execute(there).scalar_one())


def test_eight_begin_and_the_rest_joins_after_an_answer(
    store: Store, offered: None, tap: Tap
) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 7)
    assert browser.get(waiting.path).path == waiting.path  # seven are not enough
    tap.let(1)
    until(lambda: browser.get(waiting.path).path.startswith("/s/"))
    page = browser.get(waiting.path)
    assert size(app, page, browser) == 8
    with store.reading() as connection:
        settings = connection.execute(select(sessions.c.settings)).scalar_one()
    assert settings["options"]["top"] == 1  # of eight
    tap.let(4)
    until(lambda: job_of(app, waiting, browser).made == 12)
    assert browser.get(page.path).bodies == page.bodies  # nobody's screen is pulled away
    page = browser.answer(page)
    assert (size(app, page, browser), page.step) == (12, 2)
    tap.let(100)
    until(lambda: job_of(app, waiting, browser).state == "ready")
    page = browser.answer(page)
    assert size(app, page, browser) == 20
    stored = app.state.live.open(session_id(page), owner_of(browser))
    assert stored.session.method.options()["top"] == 3  # the preset adapts
    assert stored.session.cost == 2
    again = Browser(tap.app(store))  # another process sees the same
    again.client.cookies = browser.client.cookies
    assert again.get(page.path).bodies == page.bodies
    assert browser.finish(page).over
    assert count(store, pools) == 4  # the first, grown twice, and the whole of it


def test_start_with_four(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 3)
    early = browser.post(f"{waiting.path}/begin")
    assert early.status == 409
    assert "too few answers" in early.text
    tap.let(1)
    until(lambda: browser.client.get(f"{waiting.path}/state").json()["can_begin"])
    assert "Start with these" in browser.get(waiting.path).text
    page = browser.post(f"{waiting.path}/begin")
    assert size(app, page, browser) == 4
    assert browser.post(f"{waiting.path}/begin").path == page.path  # twice is once
    tap.let(6)
    until(lambda: job_of(app, waiting, browser).made == 10)
    assert count(store, sessions) == 1
    page = browser.answer(page)
    assert size(app, page, browser) == 10


def test_cancel_and_go_on(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 5)
    page = browser.post(f"{waiting.path}/cancel")
    assert "What was written so far is kept" in page.text
    assert texts()[0][:40] in page.text
    tap.let(3)
    until(lambda: not app.state.pool_jobs._running)
    assert job_of(app, waiting, browser).state == "cancelled"
    assert job_of(app, waiting, browser).made == 5
    written = tap.written
    assert browser.post(f"{waiting.path}/retry").path == waiting.path
    tap.let(1)
    until(lambda: browser.get(waiting.path).path.startswith("/s/"))
    # What was paid for is in the draft, also what came after the click.
    assert tap.written <= written + 1


def test_what_was_cancelled_can_be_used(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 5)
    browser.post(f"{waiting.path}/cancel")
    used = browser.post(f"{waiting.path}/begin")
    assert size(app, used, browser) == 5
    tap.let(1)
    until(lambda: not app.state.pool_jobs._running)
    page = browser.answer(used)
    assert size(app, page, browser) == 5
    assert browser.finish(page).over


def test_what_was_cancelled_can_be_deleted(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 5)
    browser.post(f"{waiting.path}/cancel")
    assert browser.post(f"{waiting.path}/delete").path == "/"
    tap.let(1)
    until(lambda: not app.state.pool_jobs._running)
    assert (count(store, makings), count(store, pools), count(store, sessions)) == (0, 0, 0)
    assert browser.get(waiting.path).status == 404
    stranger = Browser(app)
    for step in ("begin", "cancel", "delete", "retry"):
        assert stranger.post(f"{waiting.path}/{step}").status == 404


@pytest.mark.parametrize("at", [2, 5, 8])
def test_what_was_deleted_does_not_come_back(
    store: Store, offered: None, tap: Tap, at: int
) -> None:
    app = tap.app(store)
    browser, _ = asked(app, tap, at)
    until(lambda: at < 8 or count(store, sessions))
    browser.post("/you/delete")
    tap.let(100)
    until(lambda: not app.state.pool_jobs._running)
    assert [count(store, table) for table in (makings, pools, sessions)] == [0, 0, 0]


def test_what_was_deleted_at_the_last_moment_does_not_come_back(
    store: Store, offered: None, monkeypatch: pytest.MonkeyPatch, tap: Tap
) -> None:
    app = tap.app(store)
    browser = Browser(app)
    browser.get("/")

    def deleted_meanwhile(*arguments: Any) -> Any:
        pool = generate_requested(*arguments)
        store.persons.forget(owner_of(browser))
        return pool

    monkeypatch.setattr(pool_jobs, "generate_requested", deleted_meanwhile)
    tap.let(100)
    browser.begin(QUESTION, model="scripted", method="few")
    until(lambda: not app.state.pool_jobs._running)
    assert [count(store, table) for table in (makings, pools, sessions)] == [0, 0, 0]


def test_what_is_deleted_while_it_is_stored_does_not_come_back(
    store: Store, offered: None, monkeypatch: pytest.MonkeyPatch, tap: Tap
) -> None:
    app = tap.app(store)
    browser = Browser(app)
    browser.get("/")

    def deleted_meanwhile(pool: Pool, owner: str) -> Any:
        row = row_of(pool, owner)
        store.persons.forget(owner)
        return row

    monkeypatch.setattr("useralign.store.pool_jobs.row_of", deleted_meanwhile)
    tap.let(100)
    browser.begin(QUESTION, model="scripted", method="few")
    until(lambda: not app.state.pool_jobs._running)
    assert [count(store, table) for table in (makings, pools, sessions)] == [0, 0, 0]


def test_a_process_that_dies_between_pool_and_session_leaves_nothing_behind(
    store: Store, offered: None, monkeypatch: pytest.MonkeyPatch, tap: Tap
) -> None:
    app = tap.app(store)

    def die(*_: Any) -> None:
        raise _Killed

    monkeypatch.setattr(app.state.pool_jobs, "_note_session", die)
    monkeypatch.setattr(app.state.pool_jobs, "_fail", lambda *_: None)
    browser, waiting = asked(app, tap, 8)
    until(lambda: not app.state.pool_jobs._running)
    assert (count(store, sessions), count(store, pools)) == (0, 1)
    with store.writing() as connection:  # the process is gone
        connection.execute(update(makings).values(updated=0.0))
    alive = tap.app(store)
    other = Browser(alive)
    other.client.cookies = browser.client.cookies
    tap.let(100)
    until(lambda: other.get(waiting.path).path.startswith("/s/"))
    until(lambda: job_of(alive, waiting, other).state == "ready")
    assert count(store, sessions) == 1
    assert tap.written <= 21  # the eight were not asked for again
    other.post("/you/delete")
    assert [count(store, table) for table in (makings, pools, sessions)] == [0, 0, 0]


def test_a_session_goes_on_when_the_process_that_writes_the_rest_is_gone(
    store: Store, offered: None, tap: Tap
) -> None:
    dead = tap.app(store)
    browser, waiting = asked(dead, tap, 8)
    until(lambda: browser.get(waiting.path).path.startswith("/s/"))
    page = browser.get(waiting.path)
    dead.state.pool_jobs.close(0.0)
    tap.let(2)
    until(lambda: not dead.state.pool_jobs._running)
    alive = tap.app(store)
    other = Browser(alive)
    other.client.cookies = browser.client.cookies
    page = other.answer(other.get(page.path))  # asks about the rest, and so takes it over
    tap.let(100)
    until(lambda: job_of(alive, waiting, other).state == "ready")
    page = other.answer(page)
    assert size(alive, page, other) == 20
    assert count(store, sessions) == 1


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_a_clock_that_was_set_leaves_no_job_stuck(
    store: Store, offered: None, tap: Tap, seconds: float
) -> None:
    tap.let(100)
    dead = tap.app(store)
    dead.state.pool_jobs.close()
    making = dead.state.pool_jobs.start("someone", PoolRequest(QUESTION, model="scripted"))
    with store.writing() as connection:
        connection.execute(update(makings).values(updated=makings.c.updated + seconds))
    assert awaited(tap.app(store), making, "someone").state == "ready"


def test_leases_go_by_the_time_of_the_database(store: Store, offered: None, tap: Tap) -> None:
    working = tap.app(store)
    browser, waiting = asked(working, tap, 1)
    hasty = tap.app(store, now=lambda: time.time() + 3600)
    job_of(hasty, waiting, browser)
    assert not hasty.state.pool_jobs._running  # its clock is wrong, the job is not dead


def test_few_unfinished_jobs_for_each(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    browser, other = Browser(app), Browser(app)
    for k in range(pool_jobs.MOST_OPEN):
        assert browser.begin(f"Which bicycle is number {k}?", model="scripted").path.startswith(
            "/making/"
        )
    refused = browser.begin("And another bicycle?", model="scripted")
    assert refused.status == 422
    assert "still being written" in refused.text
    assert ">And another bicycle?</textarea>" in refused.text
    assert count(store, makings) == pool_jobs.MOST_OPEN
    assert other.begin(QUESTION, model="scripted").path.startswith("/making/")


def test_more_that_arrives_after_the_end_is_offered(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 8)
    until(lambda: browser.get(waiting.path).path.startswith("/s/"))
    page = browser.answer(browser.answer(browser.get(waiting.path)), "stop")
    assert page.over
    runner = app.state.pool_jobs
    stored = app.state.live.open(session_id(page), owner_of(browser))
    assert runner.arrivals(stored) is None
    assert not runner.can_grow(stored)  # the rest comes first
    tap.let(100)
    until(lambda: job_of(app, waiting, browser).state == "ready")
    assert len(runner.arrivals(stored)) == 20
    assert runner.can_grow(stored)
    assert browser.get(page.path).over  # nothing changes by itself
    assert "12 more answers have arrived" in browser.get(page.path).text
    page = browser.post(f"{page.path.partition('?')[0]}/include")
    assert not page.over
    assert size(app, page, browser) == 20
    assert page.step > 2


def test_who_goes_on_at_once_does_not_set_two_to_work(
    store: Store, offered: None, tap: Tap
) -> None:
    app = tap.app(store)
    browser, waiting = asked(app, tap, 5)
    browser.post(f"{waiting.path}/cancel")
    browser.post(f"{waiting.path}/retry")  # the model is in the middle of the sixth
    tap.let(100)
    until(lambda: job_of(app, waiting, browser).state == "ready")
    assert tap.written == 20
    assert count(store, sessions) == 1


def test_more_like_this(store: Store, offered: None, tap: Tap) -> None:
    app = tap.app(store)
    tap.let(100)
    browser = Browser(app)
    waiting = browser.begin(QUESTION, model="scripted", method="few")
    until(lambda: browser.get(waiting.path).path.startswith("/s/"))
    until(lambda: job_of(app, waiting, browser).state == "ready")
    page = browser.finish(browser.get(waiting.path))
    before = size(app, page, browser)
    path = page.path.partition("?")[0]
    session = app.state.live.open(session_id(page), owner_of(browser)).session
    picks = {session.pool[answer.winner].text[:40] for answer in session.answers}
    assert app.state.pool_jobs.can_grow(app.state.live.open(session_id(page), owner_of(browser)))
    growing = browser.post(f"{path}/more")
    until(lambda: browser.get(growing.path).path == path)
    page = browser.get(path)
    assert size(app, page, browser) == before + pool_jobs.MORE
    assert not page.over
    for prompt in tap.prompts[-pool_jobs.MORE :]:
        assert any(pick in prompt for pick in picks)
    page = browser.finish(page)
    assert page.over
    browser.post(f"{path}/delete")
    assert count(store, sessions) == 0
    with store.reading() as connection:
        there = select(pools.c.data).where(not_aside(pools.c.owner))
        left = connection.execute(there).scalars().all()
    assert not any('"grown"' in data for data in left)  # their prompts tell what was liked


def test_more_like_this_needs_a_model(store: Store, tap: Tap) -> None:
    app = tap.app(store)
    browser = Browser(app)
    page = browser.answer(browser.post("/ask", list="\n".join(texts()[:6])), "stop")
    stored = app.state.live.open(session_id(page), owner_of(browser))
    assert not app.state.pool_jobs.can_grow(stored)
    assert browser.post(f"{page.path.partition('?')[0]}/more").status == 409


def test_a_model_with_nothing_more_to_say_leaves_the_shortlist(
    store: Store, offered: None, tap: Tap
) -> None:
    app = tap.app(store)
    browser = Browser(app)
    page = browser.answer(browser.answer(browser.post("/ask", list="\n".join(texts()[:6]))), "stop")
    tap.shut()
    growing = browser.post(f"{page.path.partition('?')[0]}/more")
    until(lambda: job_of(app, growing, browser).state == "failed")
    told = browser.get(growing.path)
    assert "Back to the shortlist" in told.text
    assert browser.get(page.path).over
    assert size(app, page, browser) == 6
