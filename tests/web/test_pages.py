"""The personal page, from a question to an answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event, select

from tests.web.browser import DINNER, Browser, Page
from useralign import Candidate, Pool
from useralign.methods import method_for
from useralign.store import Interactions, Store, digest
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
    page = browser.begin()
    assert page.status == 200
    assert "20 answers, all in the running" in page.text
    assert len(page.bodies) == 2
    end = browser.finish(page)
    assert "No other answer here can suit you better" in end.text
    assert "You preferred it to" in end.text
    assert "<svg" in end.text
    assert len(end.bodies) == 1
    told = answered(store)
    assert [number for number, _ in told] == list(range(len(told)))
    again = browser.get(end.path)
    assert again.bodies == end.bodies


def test_the_same_pair_on_the_same_sides_until_it_is_answered(
    browser: Browser, store: Store
) -> None:
    page = browser.begin()
    for _ in range(4):
        other = Browser(create_app(store))  # as after a restart
        other.client.cookies = browser.client.cookies
        assert other.get(page.path).bodies == page.bodies
        page = browser.answer(page)


def test_one_request_two_selects_and_one_replay_a_click(
    browser: Browser, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.answer(browser.answer(browser.begin()))
    method = type(method_for("useralign"))
    start, selects, replays = method.start, [], []

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        replays.append(self)
        return start(self, *given, **options)

    monkeypatch.setattr(method, "start", counted)

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        selects.extend([statement] * statement.startswith("SELECT"))

    data = {"form_token": page.token, "step": "2", "response": "0"}
    reply = browser.client.post(page.path, data=data, follow_redirects=False)
    assert (reply.status_code, len(selects), len(replays)) == (200, 2, 1)
    assert 'data-step="3"' in reply.text


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
    now = browser.answer(browser.answer(page, 1), 0)
    stale = browser.answer(page, 0)  # the back button, or another tab
    assert stale.step == 2
    assert stale.bodies == now.bodies
    assert "You had answered that one already" in stale.text
    assert answered(store) == [(0, "choice"), (1, "choice")]
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
    assert "You found it good enough" in end.text
    on = browser.answer(end, "undo")
    assert not on.over
    assert sorted(on.bodies) == sorted(back.bodies)
    kinds = [kind for _, kind in answered(store)]
    assert kinds == ["choice", "undo", "skip", "equal", "neither", "stop", "undo"]


def test_a_remark_moves_the_scores(browser: Browser) -> None:
    page = browser.begin()
    said = browser.answer(page, "remark", remark="something vegetarian, less meat")
    assert "taken into account" in said.text
    assert said.step == 1
    assert "nothing to go by" in browser.answer(said, "remark", remark="  ,").text
    long = browser.answer(said, "remark", remark="x" * 1500)
    assert "nothing to go by" in long.text


@pytest.mark.parametrize("shown", [3, 4])
def test_more_at_once(browser: Browser, shown: int) -> None:
    page = browser.begin(shown=shown)
    assert len(page.bodies) == shown
    assert "Which do you like best?" in page.text
    assert browser.answer(page, shown - 1).step == 1
    assert "could not be used" in browser.answer(browser.get(page.path), shown, step=1).text


def test_a_number_of_questions(browser: Browser) -> None:
    page = browser.begin(budget=5)
    assert "At most 5 more questions." in page.text
    for _ in range(5):
        page = browser.answer(page)
    assert page.over
    assert "number of questions you allowed" in page.text


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
    assert browser.begin(shown=9).status == 422
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
    for path in ("/s/nope", "/s/%00", "/s/" + "x" * 500, "/making/nope", "/media/nope", "/s/é"):
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
    cleared = browser.post("/you/delete")
    assert "Everything was deleted" in cleared.text
    assert browser.get(page.path).status == 404
    with store.reading() as connection:
        for table in (persons, sessions, steps):
            assert connection.execute(select(table)).first() is None


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
