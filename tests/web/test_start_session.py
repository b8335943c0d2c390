"""What a person may choose before they are asked: how many, in which way, from what is known."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from tests.web.browser import DINNER, Browser, Page
from tests.web.test_pages import with_pool
from tests.web.test_pool_jobs import QUESTION, answers, awaited
from useralign import Pool
from useralign.pooling import PoolRequest
from useralign.store import Interactions, Store, digest
from useralign.store.schema import sessions, steps
from useralign.web import Settings, start_session
from useralign.web.app import create_app

HERO = "Generate concept art for a videogame hero that players would instantly connect with."
SNACK = "What snack should I have this afternoon?"


def owner_of(browser: Browser) -> str:
    return digest(browser.client.cookies["useralign"])


def last(store: Store) -> dict[str, object]:
    """Return the settings of the newest session."""
    newest = select(sessions.c.settings).order_by(sessions.c.created.desc()).limit(1)
    with store.reading() as connection:
        found: dict[str, object] = connection.execute(newest).scalar_one()
    return found


def told(store: Store) -> list[dict[str, object]]:
    chosen = select(steps.c.told).where(steps.c.kind.is_not(None)).order_by(steps.c.number)
    with store.reading() as connection:
        return [row.told["request"] for row in connection.execute(chosen)]


def rank(browser: Browser, page: Page, *places: object) -> Page:
    path = page.path.split("?")[0]
    data = {"form_token": page.token, "step": str(page.step), "response": "ranking"}
    fields = data | {"place": [str(place) for place in places]}
    return browser._page(browser.client.post(path, data=fields))


def chosen(page: Page) -> list[str]:
    """Return what is chosen in each list of places."""
    lists = re.findall(r'<select id="place-.*?</select>', page.text, re.DOTALL)
    return ["".join(re.findall(r'value="(\d)" selected', one)) for one in lists]


@pytest.mark.parametrize("shown", [3, 4])
def test_a_ranking(browser: Browser, store: Store, shown: int) -> None:
    page = browser.begin(shown=shown, rank="true")
    assert "Put them in order" in page.text
    assert page.text.count('name="place"') == shown
    assert 'name="response" value="0"' not in page.text
    places = [2, 3, 1, 4][:shown]
    following = rank(browser, page, *places)
    assert following.step == 1
    order = [2, 0, 1, 3][:shown]
    assert told(store) == [{"kind": "ranking", "order": order}]
    session = Interactions(store).open(page.path.split("/")[2], owner_of(browser)).session
    best_first = [session.pool[k].text for k in session.answers[0].order]
    assert [plain(body) for body in page.bodies] == [plain(best_first[p - 1]) for p in places]
    again = rank(browser, page, *places)  # sent twice
    assert again.bodies == following.bodies
    assert len(told(store)) == 1


def plain(text: str) -> str:
    """Return the words of an answer, whether from a page or a pool."""
    return " ".join(re.findall(r"[a-z]{3,}", re.sub(r"<[^>]+>|&#\w+;", "", text)))


@pytest.mark.parametrize("places", [(1, 1, 2), (1, "", 3), (0, 1, 2), (1, 2), (), (1, 2, "x")])
def test_a_ranking_that_is_none_loses_nothing(
    browser: Browser, store: Store, places: tuple[object, ...]
) -> None:
    page = browser.begin(shown=3, rank="true")
    asked = rank(browser, page, *places)
    assert asked.status == 200
    assert "Give each answer a place of its own" in asked.text
    assert asked.bodies == page.bodies
    assert asked.step == 0
    assert told(store) == []
    if len(places) == 3:
        expected = [str(place) if place in (1, 2, 3) else "" for place in places]
        assert chosen(asked) == expected
    assert rank(browser, asked, 3, 1, 2).step == 1


def test_an_old_ranking_shows_where_you_are(browser: Browser, store: Store) -> None:
    page = browser.begin(shown=3, rank="true")
    now = rank(browser, page, 1, 2, 3)
    for places in ((3, 2, 1), (1, 1, 1)):
        stale = rank(browser, page, *places)
        assert "You had answered that one already" in stale.text
        assert stale.bodies == now.bodies
    assert len(told(store)) == 1
    assert "Taken back" in browser.answer(now, "undo").text


def test_places_in_an_address_are_no_way_in(browser: Browser) -> None:
    page = browser.begin(shown=3, rank="true")
    for given in ("1,2,9", "1,2", '"><script>,,', "1,2,3,4", ",".join("1" * 500)):
        shown = browser.get(f"{page.path}?note=places&placed={given}")
        assert shown.status == 200
        assert chosen(shown) == ["", "", ""]
        assert "<script>," not in shown.text


def test_two_are_chosen_between_and_not_ranked(browser: Browser) -> None:
    page = browser.begin(shown=2, rank="true")
    assert 'name="place"' not in page.text
    assert browser.answer(page).step == 1
    assert 'name="place"' not in browser.begin(shown=3).text


def test_few_and_certain(browser: Browser, store: Store) -> None:
    start = browser.get("/").text
    assert 'value="few" checked' in start
    assert "until nothing can beat the answer" in start
    page = browser.post("/ask", question=DINNER)  # without a method
    assert (last(store)["method"], last(store)["budget"], last(store)["shown"]) == ("frugal", 5, 4)
    assert "1 of about 3" in page.text
    assert "%" not in browser.answer(page).text  # nothing that swings
    page = browser.begin(method="useralign")
    assert last(store)["method"] == "useralign"
    assert "1 of about 19" in page.text
    assert len(page.bodies) == 2
    assert "%" not in browser.answer(page).text
    assert browser.begin(method="oracle").status == 422


@pytest.mark.parametrize("way", ["field", "hint", "neither", "asked"])
def test_a_phone_shows_fewer_pictures(app: FastAPI, store: Store, way: str) -> None:
    browser = Browser(app)
    if way == "hint":
        browser.client.headers["sec-ch-ua-mobile"] = "?1"
    fields = {"field": {"small": "true"}, "asked": {"shown": "8", "small": "true"}}
    page = browser.begin(HERO, kind="image", method="few", **fields.get(way, {}))
    expected = {"neither": 9, "asked": 8}.get(way, 6)
    assert page.text.count("data-card") == page.text.count("<img") == expected
    assert last(store)["shown"] == expected
    assert browser.answer(page, expected - 1).step == 1


def test_the_end_of_quick_promises_no_more_than_it_knows(app: FastAPI, browser: Browser) -> None:
    foods = ["apples", "bread", "cake", "dates", "eggs", "figs", "grapes", "ham"]
    pool = Pool("Which?", foods, np.linspace(0.0, 1.0, 8)[:, None])
    page = with_pool(app, browser, pool, method="frugal", seed=1)
    while not page.over:
        assert page.step < 12
        page = browser.answer(page, min((0, 1), key=lambda k: page.bodies[k]))
    assert "apples" in page.bodies[0]
    assert "No other answer here can suit you better" not in page.text
    assert re.search(r"We are \d+% sure that this is the best for you", page.text)
    early = browser.answer(browser.begin(method="frugal"), "stop")
    assert "% sure" not in early.text  # nothing was answered yet


def some_answers(browser: Browser, question: str = SNACK, count: int = 4) -> Page:
    page = browser.begin(question)
    for _ in range(count):
        page = browser.answer(page)
    return page


def prior(store: Store) -> object:
    options = last(store)["options"]
    assert isinstance(options, dict)
    return options.get("prior")


def test_without_consent_nothing_is_remembered(browser: Browser, store: Store) -> None:
    some_answers(browser)
    page = browser.begin(method="frugal")
    assert prior(store) is None
    assert "Started from" not in page.text
    assert "What is remembered" not in browser.get("/you").text
    assert 'name="fresh"' not in browser.get("/").text


def test_with_consent_a_session_starts_from_earlier_answers(browser: Browser, store: Store) -> None:
    some_answers(browser)
    browser.post("/you/allow", remember="true")
    start = browser.get("/").text
    assert 'value="few" checked' in start
    assert "Starts from what you liked before" in start
    assert "Do not use my earlier answers this time" in start
    page = browser.post("/ask", question=DINNER)  # from a button, without a method
    assert last(store)["method"] == "frugal"
    assert prior(store) is not None
    assert "Started from what you liked before" in page.text
    assert 'href="/you"' in page.text
    restarted = Browser(create_app(store))
    restarted.client.cookies = browser.client.cookies
    assert restarted.get(page.path).bodies == page.bodies
    stopped = browser.answer(browser.answer(page), "stop")
    assert "Started from what you liked before" in stopped.text


def test_not_this_time(browser: Browser, store: Store) -> None:
    some_answers(browser)
    browser.post("/you/allow", remember="true")
    page = browser.begin(fresh="true", method="few")
    assert (last(store)["method"], prior(store)) == ("frugal", None)
    assert "Started from" not in page.text
    browser.post(f"{page.path}/again")
    assert prior(store) is None
    browser.begin(method="useralign")
    assert "prior" not in str(last(store)["options"])


def test_starting_over_asks_for_consent_anew(browser: Browser, store: Store) -> None:
    some_answers(browser)
    browser.post("/you/allow", remember="true")
    page = browser.begin(shown=3, rank="true", method="few")
    assert prior(store) is not None
    fresh = browser.post(f"{page.path}/again")
    assert prior(store) is not None
    assert fresh.text.count('name="place"') == 3
    browser.post("/you/allow")
    fresh = browser.post(f"{page.path}/again")
    assert (last(store)["method"], prior(store)) == ("frugal", None)
    assert "Started from" not in fresh.text


def test_what_others_share_helps_unless_it_is_refused(
    app: FastAPI, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_session, "PATIENCE", None)  # a busy machine takes longer
    other, me = Browser(app), Browser(app)
    some_answers(other, DINNER, 6)
    me.get("/")
    me.begin(method="frugal")
    assert prior(store) is None
    other.post("/you/allow", share="true")
    assert "Do not use other people" in me.get("/").text
    page = me.begin(method="frugal")
    assert prior(store) is not None
    assert "Started from what others like" in page.text
    assert "you liked" not in page.text
    me.begin(method="frugal", fresh="true")
    assert prior(store) is None
    other.post("/you/allow")
    me.begin(method="frugal")
    assert prior(store) is None


def test_what_is_remembered_is_shown_and_forgotten(browser: Browser, store: Store) -> None:
    browser.get("/")
    browser.post("/you/allow", remember="true")
    assert "Nothing yet" in browser.get("/you").text
    some_answers(browser)
    shown = browser.get("/you").text
    assert "1 session with 4 answers of yours" in shown
    assert "lean towards" in shown
    assert "and away from" in shown
    after = browser.post("/you/forget")
    assert "Forgotten." in after.text
    assert "Nothing yet" in after.text
    assert 'name="remember" value="true" checked' in after.text
    browser.post("/you/purge")
    with store.reading() as connection:
        for table in (sessions, steps):
            assert connection.execute(select(func.count()).select_from(table)).scalar() == 0
    page = browser.begin(method="few")
    assert (last(store)["method"], prior(store)) == ("frugal", None)
    assert "Started from" not in page.text


@pytest.mark.parametrize("remember", [True, False])
def test_a_session_on_new_answers_asks_for_consent_when_they_are_ready(
    light: Store, remember: bool
) -> None:
    app = create_app(light, Settings(generator=lambda _: answers()))
    browser = Browser(app)
    some_answers(browser)
    wish = {"method": "frugal", "shown": 3, "rank": True, "seed": 1}
    if remember:
        browser.post("/you/allow", remember="true")
    making = app.state.pool_jobs.start(
        owner_of(browser), PoolRequest(QUESTION, model="scripted"), wish
    )
    ready = awaited(app, making, owner_of(browser))
    page = browser.get(f"/s/{ready.session_id}")
    assert page.text.count('name="place"') == 3
    assert ("Started from what you liked before" in page.text) is remember
    assert (prior(light) is not None) is remember
