"""The personal page, from a question to an answer."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event, select

from tests.web.browser import DINNER, Browser, Page
from useralign import Candidate, Pool
from useralign.methods import method_for
from useralign.models import Scripted
from useralign.store import GRACE, Interactions, Store, digest
from useralign.store.rebuilt import Rebuilt
from useralign.store.schema import persons, sessions, steps
from useralign.web import Settings
from useralign.web.app import create_app


def answered(store: Store) -> list[tuple[int, str]]:
    """List the answered steps of the only session."""
    with store.reading() as connection:
        rows = connection.execute(select(steps).order_by(steps.c.number)).all()
    return [(row.number, row.kind) for row in rows if row.kind is not None]


def with_pool(app: FastAPI, browser: Browser, pool: Pool, **settings: object) -> Page:
    """Begin a session of a visitor over a pool of ours."""
    browser.get("/")
    owner = digest(browser.client.cookies["useralign"])
    pool_id = app.state.store.pools.add(pool, owner)
    screen = Interactions(app.state.store).create(pool_id, owner, settings)
    return browser.get(f"/s/{screen.session_id}")


def test_from_a_question_to_an_answer(browser: Browser, store: Store) -> None:
    start = browser.get("/")
    assert start.status == 200
    assert DINNER in start.text
    page = browser.begin(method="few")
    assert page.status == 200
    assert "1 of about 3" in page.text
    assert len(page.bodies) == 4
    end = browser.finish(page)
    assert "Your shortlist, after " in end.text
    assert "You chose " in end.text
    assert "<svg" in end.text
    assert len(end.bodies) == 3
    told = answered(store)
    assert [number for number, _ in told] == list(range(len(told)))
    again = browser.get(end.path)
    assert again.bodies == end.bodies


def test_the_same_pair_on_the_same_sides_until_it_is_answered(
    browser: Browser, store: Store
) -> None:
    page = browser.begin(method="useralign")
    for _ in range(4):
        store.rebuilt = Rebuilt()  # as after a restart
        other = Browser(create_app(store))
        other.client.cookies = browser.client.cookies
        assert other.get(page.path).bodies == page.bodies
        page = browser.answer(page)


def test_one_request_two_selects_and_no_replay_a_click(
    browser: Browser, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.answer(browser.begin(method="few"))
    method = type(method_for("frugal"))
    start, selects, replays = method.start, [], []

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        replays.append(self)
        return start(self, *given, **options)

    monkeypatch.setattr(method, "start", counted)

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        selects.extend([statement] * statement.startswith("SELECT"))

    data = {"form_token": page.token, "step": "1", "response": "neither"}
    reply = browser.client.post(page.path, data=data, follow_redirects=False)
    assert (reply.status_code, len(selects), len(replays)) == (200, 2, 0)
    assert 'data-step="2"' in reply.text


def test_a_form_sent_without_the_script_can_be_loaded_again(browser: Browser) -> None:
    page = browser.begin()
    headers = {"sec-fetch-mode": "navigate"}
    for step, (response, note) in enumerate((("0", ""), ("undo", "?note=undo"))):
        data = {"form_token": page.token, "step": str(step), "response": response}
        reply = browser.client.post(page.path, data=data, headers=headers, follow_redirects=False)
        assert (reply.status_code, reply.headers["location"]) == (303, page.path + note)
    assert "Taken back" in browser.get(reply.headers["location"]).text


def test_a_form_sent_twice_counts_once(browser: Browser, store: Store) -> None:
    page = browser.begin()
    first = browser.answer(page, 1)
    again = browser.answer(page, 1)
    assert first.bodies == again.bodies
    assert again.step == 1
    assert "already" not in again.text
    assert answered(store) == [(0, "choice")]


def test_an_old_form_shows_where_you_are(browser: Browser, store: Store) -> None:
    page = browser.begin()
    now = browser.answer(browser.answer(page, 1), "neither")
    stale = browser.answer(page, 0)  # the back button, or another tab
    assert stale.step == 2
    assert stale.bodies == now.bodies
    assert "You had answered that one already" in stale.text
    assert answered(store) == [(0, "choice"), (1, "neither")]
    ahead = browser.answer(page, 0, step=7)
    assert ahead.step == 2


def test_undo_skip_equal_neither_and_stop(browser: Browser, store: Store) -> None:
    page = browser.begin()
    assert "nothing to take back" in browser.answer(page, "undo").text
    assert 'value="undo"' not in page.text
    then = browser.answer(page, 0)
    back = browser.answer(then, "undo")
    assert "Taken back" in back.text
    assert sorted(back.bodies) == sorted(page.bodies)
    for told in ("skip", "equal", "neither"):
        back = browser.answer(back, told)
    end = browser.answer(back, "stop")
    assert end.over
    assert "Keep comparing" in end.text
    on = browser.answer(end, "undo")
    assert not on.over
    assert sorted(on.bodies) == sorted(back.bodies)
    kinds = [kind for _, kind in answered(store)]
    assert kinds == ["choice", "undo", "skip", "equal", "neither", "stop", "undo"]


def test_wishes_take_effect_and_are_taken_back(browser: Browser, store: Store) -> None:
    page = browser.begin()
    assert 'value="vegetarian" aria-pressed="false"' in page.text
    said = browser.answer(page, "wish", text="vegetarian, no meat and no fish please")
    assert said.step == 1
    assert "hiding 11 with meat or fish" in said.text
    assert 'aria-pressed="true"' in said.text
    assert not re.search("chicken|beef|duck|salmon|pork|shrimp", "".join(said.bodies).lower())
    both = browser.answer(said, "wish", text="spicy")
    assert "spicy first" in both.text
    assert "hiding 11 with meat or fish" in both.text, "the first is still in force"
    back = browser.answer(both, "withdraw", text="spicy")
    assert "Taken back." in back.text
    assert 'value="spicy" aria-pressed="false"' in back.text
    assert [kind for _, kind in answered(store)] == ["wish", "wish", "withdraw"]
    later = browser.answer(browser.answer(back), "wish", text="no rice")
    assert re.search(r"Hiding \d with rice\.", later.text), "said above the answers"
    end = browser.finish(later)
    assert not re.search("chicken|beef|duck|salmon|pork|shrimp", end.bodies[0].lower())
    assert "hiding 11 with meat or fish" in end.text, "it can be taken back at the end, too"


def test_a_wish_sent_twice_counts_once(browser: Browser, store: Store) -> None:
    page = browser.begin()
    once = browser.answer(page, "wish", text="no fish")
    again = browser.answer(page, "wish", text=" no  fish ")
    assert (once.step, again.step) == (1, 1)
    other = browser.answer(page, "wish", text="no meat")
    assert "had answered that one already" in other.text
    assert [kind for _, kind in answered(store)] == ["wish"]


@pytest.mark.parametrize("text", ["", "  ,", "x" * 1500, "please"])
def test_a_wish_that_says_nothing(browser: Browser, store: Store, text: str) -> None:
    page = browser.begin()
    assert "nothing to go by" in browser.answer(page, "wish", text=text).text
    assert "could not be used" in browser.answer(page, "withdraw", text="no fish").text
    assert answered(store) == []


def test_what_is_wished_is_text(browser: Browser) -> None:
    said = browser.answer(browser.begin(), "wish", text="no <script>alert(1)</script>")
    assert "<script>alert" not in said.text
    assert "&lt;script&gt;" in said.text


def test_a_model_at_hand_judges_a_wish(light: Store) -> None:
    model = Scripted(['{"breaks": [2, 3], "fits": [4]}'])
    browser = Browser(create_app(light, Settings(generator=lambda _: model)))
    said = browser.answer(browser.begin(), "wish", text="nothing green")
    assert "hiding 2 that do not fit; what fits first" in said.text
    assert len(model.requests) == 1
    public = Settings(
        secret="a secret of many letters",  # noqa: S106
        loopback=False,
        generator=lambda _: model,
    )
    visitor = Browser(create_app(light, public))
    page = visitor.answer(visitor.begin(), "wish", text="nothing purple")
    assert "none here names purple" in page.text
    assert len(model.requests) == 1, "visitors may not ask a model at the server's expense"


@pytest.mark.parametrize("shown", [3, 4])
def test_more_at_once(browser: Browser, shown: int) -> None:
    page = browser.begin(shown=shown)
    assert len(page.bodies) == shown
    assert "Tap the one you like best" in page.text
    assert browser.answer(page, shown - 1).step == 1
    assert "could not be used" in browser.answer(browser.get(page.path), shown, step=1).text


def test_no_more_than_five_screens(browser: Browser) -> None:
    page = browser.begin(method="few")
    headers = []
    while not page.over:
        headers.append(re.findall(r"(\d) of (?:about )?(\d)", page.text)[0])
        page = browser.answer(page, len(headers) % 3)
    assert [int(number) for number, _ in headers] == list(range(1, len(headers) + 1))
    expected = [int(number) for _, number in headers]
    assert expected == sorted(expected)
    assert expected[-1] <= 5


def test_download_and_start_over(browser: Browser) -> None:
    end = browser.answer(browser.begin(), "stop")
    file = browser.get(f"{end.path}/answer.txt")
    assert file.headers["content-disposition"].startswith('attachment; filename="what-should-i')
    assert file.text.startswith(DINNER)
    fresh = browser.post(f"{end.path}/again")
    assert fresh.path != end.path
    assert fresh.step == 0


def test_what_cannot_be_asked(browser: Browser, store: Store) -> None:
    assert "Type a question first" in browser.begin("  ").text
    missing = browser.begin("Which bicycle should I buy?")
    assert missing.status == 422
    assert "useralign models pull" in missing.text
    assert "Which bicycle should I buy?" in missing.text  # what was typed stays
    assert "not at hand" in browser.begin("Which bicycle?", model="openai:gpt").text
    assert browser.begin("x" * 5000).status == 422
    assert browser.begin(kind="sound").status == 422
    assert browser.begin(shown=10).status == 422
    with store.reading() as connection:
        assert connection.execute(select(sessions)).first() is None


def test_visitors_from_elsewhere_get_what_is_ready(open_app: FastAPI) -> None:
    browser = Browser(open_app, "http://site.example")
    assert browser.begin().step == 0
    refused = browser.begin("Which bicycle should I buy?")
    assert "not made for visitors" in refused.text


def test_answers_that_mean_nothing(browser: Browser, store: Store) -> None:
    page = browser.begin()
    for told in ("", "9", "-1", "growth", "ranking", "choice", "<b>", "0 ", "\x00"):
        assert browser.answer(page, told).status in {200, 422}, told
    assert answered(store) == []


def test_ids_that_open_nothing(browser: Browser) -> None:
    long = "x" * 5000
    ids = ("/s/nope", "/s/%00", f"/s/{long}", "/making/nope", "/media/nope", "/s/é")
    for path in (*ids, f"/static/{long}.css", f"/media/{long}"):
        page = browser.get(path)
        assert page.status == 404, path
        assert "Nothing here" in page.text
    assert browser.get("/static/..%2Fapp.py").status == 404
    assert browser.get("/static/app.py").status == 404


def test_hostile_answers_are_shown_harmlessly(app: FastAPI, browser: Browser) -> None:
    evil = '<script>alert(1)</script> <img src="https://evil.example/x.png"> \u202egnp.exe'
    texts = [f"{evil} {k} {word}" for k, word in enumerate(("red", "green", "blue"))]
    pool = Pool(evil, texts, [[0, 0], [1, 0], [0, 1]])
    page = with_pool(app, browser, pool)
    end = browser.finish(page)
    for found in (page, end, browser.get("/you"), browser.get("/")):
        assert found.status == 200
        assert "<script>alert" not in found.text
        assert "<img" not in found.text
        assert "\u202e" not in found.text


def test_pictures(app: FastAPI, browser: Browser, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    candidates = []
    for name in ("red", "green", "blue"):
        path = tmp_path / f"{name}.png"
        image.new("RGB", (60, 40), name).save(path, pnginfo=None)
        candidates.append(Candidate(text=f"A {name} field.", image=str(path), id=name))
    page = with_pool(app, browser, Pool("Which?", candidates, [[0, 0], [1, 0], [0, 1]]))
    assert page.text.count("<img") == 2
    assert str(tmp_path) not in page.text
    for media in re.findall(r'src="(/media/[^"]+)"', page.text):
        picture = browser.client.get(media)
        assert picture.headers["content-type"] == "image/webp"
        assert picture.content[:4] == b"RIFF"
        assert "immutable" in picture.headers["cache-control"]
    end = browser.finish(page)
    assert end.text.count("<img") >= 2  # the answer, and what it was preferred to
    assert "Download" in end.text


@pytest.mark.parametrize("size", [1, 2])
def test_pools_with_little_to_choose_from(app: FastAPI, browser: Browser, size: int) -> None:
    pool = Pool("Which?", ["one", "two"][:size], [[0.0, 1.0], [1.0, 0.0]][:size])
    end = browser.finish(with_pool(app, browser, pool))
    assert end.status == 200
    if size == 1:
        assert "nothing to choose between" in end.text


def test_candidates_that_are_all_the_same(app: FastAPI, browser: Browser) -> None:
    pool = Pool("Which?", ["a", "b", "c"], [[1.0, 2.0]] * 3)
    assert browser.finish(with_pool(app, browser, pool)).status == 200


def test_what_is_kept_can_be_seen_and_deleted(browser: Browser, store: Store) -> None:
    page = browser.answer(browser.begin())
    assert "Go on where you stopped" in browser.get("/").text
    kept = browser.get("/you")
    assert DINNER in kept.text
    assert "1 answered, unfinished" in kept.text
    browser.post("/you/allow", remember="true")
    with store.reading() as connection:
        person = connection.execute(select(persons)).one()
    assert (person.remember, person.share) == (True, False)
    second = browser.begin()
    gone = browser.post(f"{second.path}/delete")
    assert gone.path == "/you"
    assert gone.text.count("/delete") == 2  # one session, and everything
    assert "Deleted: 1 session. Gone for good in 60 minutes." in gone.text
    assert browser.get(second.path).status == 404
    back = browser.post("/you/restore")
    assert "It is all back." in back.text
    assert browser.get(second.path).bodies == second.bodies
    cleared = browser.post("/you/delete")
    assert "Everything was deleted" in cleared.text
    assert browser.get(page.path).status == 404
    browser.post("/you/restore")
    assert browser.get(page.path).bodies == page.bodies
    assert 'name="remember" value="true" checked' in browser.get("/you").text
    browser.post("/you/delete")
    assert "Gone for good." in browser.post("/you/purge").text
    assert browser.get(page.path).status == 404
    with store.reading() as connection:
        for table in (persons, sessions, steps):
            assert connection.execute(select(table)).first() is None


def test_deleting_at_once(browser: Browser, store: Store) -> None:
    page = browser.begin()
    cookie = browser.client.cookies["useralign"]
    assert "Gone for good." in browser.post("/you/delete", at_once="true").text
    assert browser.client.cookies.get("useralign") != cookie
    assert browser.get(page.path).status == 404
    with store.reading() as connection:
        for table in (persons, sessions, steps):
            assert connection.execute(select(table)).first() is None


def test_what_was_deleted_goes_by_itself(store: Store) -> None:
    now = 1000.0
    app = create_app(store, Settings(now=lambda: now))
    browser = Browser(app)
    browser.begin()
    browser.post("/you/delete")
    now += GRACE + 1.0
    with browser.client:  # the server starts, and tidies up
        for _ in range(200):
            with store.reading() as connection:
                left = connection.execute(select(sessions)).first()
            if left is None:
                break
            time.sleep(0.05)
    assert left is None


def test_my_data(browser: Browser) -> None:
    page = browser.answer(browser.begin())
    assert 'href="/you/data.json"' in browser.get("/you").text
    file = browser.get("/you/data.json")
    assert "attachment" in file.headers["content-disposition"]
    data = json.loads(file.text)
    assert [session["id"] for session in data["sessions"]] == [page.path.rpartition("/")[2]]
    assert [step["kind"] for step in data["sessions"][0]["steps"]] == ["choice", None]
    assert data["pools"][0]["question"] == DINNER
    assert data["memory"] is None
    browser.post("/you/allow", remember="true")
    assert json.loads(browser.get("/you/data.json").text)["memory"]["sessions"]


def test_nothing_is_allowed_unless_it_is_said(browser: Browser) -> None:
    browser.begin()
    assert "checked" not in browser.get("/you").text


def test_blinding(browser: Browser) -> None:
    page = browser.begin()
    # The session's name is random, and may hold any short word.
    without = re.sub(r"<header.*?</header>|method=|/s/[\w-]+", "", page.text, flags=re.DOTALL)
    for word in (
        "unbiased",
        "interest",
        "baseline",
        "incumbent",
        "challenger",
        "method",
        "u0",
        "i0",
    ):
        assert word not in without.lower(), word


def test_the_reference_names_every_operation(browser: Browser, app: FastAPI) -> None:
    text = browser.get("/docs").text
    for path in app.openapi()["paths"]:
        assert path in text


def test_health_and_files(browser: Browser) -> None:
    assert browser.get("/healthz").text == "ok"
    for path in re.findall(r'"(/static/[^"]+)"', browser.get("/").text):
        found = browser.get(path)
        assert found.status == 200
        assert "immutable" in found.headers["cache-control"]
    assert browser.get("/favicon.ico").status == 200
    assert "Disallow: /s/" in browser.get("/robots.txt").text


def test_settings_for_this_machine_are_the_default(store: Store) -> None:
    assert create_app(store).state.settings == Settings()
