"""The pages of a study: with and without cookies, doubled, stale, foreign, framed, blind."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from tests.study.conftest import crowd_design, small_design
from useralign.errors import ConflictError
from useralign.pool import Pool
from useralign.store import Store, digest, token
from useralign.store.schema import participants, pools
from useralign.store.studies import reading
from useralign.study import ParticipantFlow, Studies
from useralign.study.browser import Page, read_page
from useralign.study.export import dataset_rows
from useralign.study.recruitment import invitation
from useralign.web import Settings
from useralign.web.app import create_app

PROLIFIC = "?PROLIFIC_PID=5f0a&STUDY_ID=s1&SESSION_ID=x1"
MTURK = "?workerId=W1&assignmentId=A1&hitId=H1&turkSubmitTo=https%3A%2F%2Fworkersandbox.mturk.com"


class Person:
    """A browser at a study's door."""

    def __init__(self, app: FastAPI, *, cookies: bool = True) -> None:
        self.client = TestClient(app, base_url="http://localhost")
        self.cookies = cookies
        self.path = ""

    def get(self, path: str) -> Page:
        if not self.cookies:
            self.client.cookies.clear()
        self.reply = self.client.get(path)
        return read_page(self.reply.text)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Page:
        if not self.cookies:
            self.client.cookies.clear()
        self.reply = self.client.post(path, data=fields, headers=headers)
        return read_page(self.reply.text)

    def enter(self, query: str = "", slug: str = "small") -> Page:
        landing = self.get(f"/study/{slug}{query}")
        page = self.post(f"/study/{slug}", landing.fields | landing.boxes)
        self.path = self.reply.url.path
        return page

    def answer(self, page: Page, response: str = "0", **headers: str) -> Page:
        fields = page.fields | ({"response": response} if page.options else {})
        return self.post(self.path, fields, **headers)

    def finish(self, page: Page) -> Page:
        for _ in range(30):
            if "outcome" in page.words:
                return page
            page = self.answer(page)
        raise AssertionError("it does not end")


def count(store: Store) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(participants)).scalar_one())


@pytest.fixture
def studied(store: Store) -> FastAPI:
    Studies(store).add(small_design())
    return create_app(store)


@pytest.fixture
def lit(light: Store) -> FastAPI:
    """Over SQLite alone, where the database is not the point."""
    Studies(light).add(small_design())
    return create_app(light)


@pytest.fixture
def crowd(light: Store) -> FastAPI:
    """With a study for the workers of platforms."""
    Studies(light).add(crowd_design())
    return create_app(light)


@pytest.mark.parametrize("cookies", [True, False])
@pytest.mark.parametrize("query", ["", PROLIFIC, MTURK])
def test_the_whole_way(light: Store, query: str, cookies: bool) -> None:
    Studies(light).add(crowd_design() if query else small_design())
    person = Person(create_app(light), cookies=cookies)
    page = person.enter(query)
    assert page.words["query-text"]
    done = person.finish(page)
    assert done.words["outcome"] == "completed"
    assert len(done.words.get("code", "")) == {"": 32, PROLIFIC: 4, MTURK: 0}[query]
    assert person.get(person.path) == done


def test_on_both_databases(studied: FastAPI, store: Store) -> None:
    person = Person(studied)
    done = person.finish(person.enter())
    assert done.words["code"]
    again = person.get("/study/small")  # the cookie brings them back
    assert "Welcome back" in person.reply.text
    assert person.post("/study/small", again.fields) == done
    assert count(store) == 1


def test_nothing_is_recorded_before_consent(lit: FastAPI, light: Store) -> None:
    person = Person(lit)
    landing = person.get("/study/small")
    person.post("/study/small", landing.fields)  # without the tick
    assert person.reply.status_code == 422
    assert "Please tick the box" in person.reply.text
    assert count(light) == 0


def test_a_preview_takes_no_place(crowd: FastAPI, light: Store) -> None:
    person = Person(crowd)
    page = person.get("/study/small?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H1")
    assert "This is a preview" in person.reply.text
    assert not page.has_form
    fields = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "agree": "yes", "token": token()}
    person.post("/study/small", fields)
    assert person.reply.status_code == 409
    assert count(light) == 0


def test_one_worker_one_session(crowd: FastAPI, light: Store) -> None:
    worker = Person(crowd)
    worker.answer(worker.enter(MTURK))
    first = worker.path
    worker.enter(MTURK.replace("A1", "A2"))  # returned, and accepted again
    assert worker.path == first
    assert count(light) == 1
    done = worker.finish(worker.get(first))
    assert done.fields == {"assignmentId": "A2", "outcome": "completed"}
    action = 'action="https://workersandbox.mturk.com/mturk/externalSubmit"'
    assert action in worker.reply.text


def test_the_way_back_to_prolific(crowd: FastAPI) -> None:
    person = Person(crowd)
    page = person.enter(PROLIFIC)
    assert "app.prolific.com" not in person.reply.text
    person.finish(page)
    assert 'href="https://app.prolific.com/submissions/complete?cc=C0DE"' in person.reply.text


def test_invitations(lit: FastAPI, light: Store) -> None:
    given = invitation(Studies(light).get("small"), "guest")
    one, other = Person(lit, cookies=False), Person(lit, cookies=False)
    one.enter(f"?invitation={given}")
    other.enter(f"?invitation={given}")
    assert one.path == other.path
    one.get("/study/small?invitation=guest.forged")
    assert one.reply.status_code == 422


def test_double_stale_and_contrary_forms(lit: FastAPI) -> None:
    person = Person(lit)
    page = person.answer(person.enter())
    following = person.answer(page)
    assert person.answer(page) == following
    assert person.reply.status_code == 200
    assert person.answer(page, "1") == following  # the first answer stands
    assert person.reply.status_code == 409
    assert "Your first answer counts" in person.reply.text
    ahead = person.post(person.path, following.fields | {"step": "3", "response": "0"})
    assert (person.reply.status_code, ahead) == (409, following)
    person.post(person.path, {"stage": "comparisons", "step": "x", "response": "0"})
    assert person.reply.status_code == 422
    assert person.get(person.path) == following


def test_our_script_saves_a_request(lit: FastAPI) -> None:
    person = Person(lit)
    page = person.enter()
    scripted = person.answer(page, **{"sec-fetch-dest": "empty"})
    assert not person.reply.history
    assert scripted.options
    person.answer(scripted)
    assert person.reply.history[0].status_code == 303


def test_a_foreign_page_is_not_found(lit: FastAPI) -> None:
    person = Person(lit)
    page = person.enter()
    for path in ("/study/none", f"/study/none/{token()}", f"/study/small/{token()}"):
        person.get(path)
        assert person.reply.status_code == 404, path
        if path.count("/") == 3:
            person.post(path, page.fields)
            assert person.reply.status_code == 404, path
    assert "small" not in person.reply.text  # nor is told what there is


def test_full_and_closed(light: Store) -> None:
    Studies(light).add(small_design(participants=4))
    app = create_app(light)
    people = [Person(app) for _ in range(4)]
    for person in people:
        person.enter()
    late = Person(app)
    late.enter()
    assert late.reply.status_code == 503
    assert "All places are taken" in late.reply.text
    Studies(light).set_open("small", False)
    late.get("/study/small")
    assert "The study is closed" in late.reply.text
    Studies(light).set_open("small", False, paused=True)
    late.get("/study/small")
    assert "The study is paused" in late.reply.text
    assert "<form" not in late.reply.text
    early = people[0]
    assert early.finish(early.get(early.path)).words["code"]


def test_complete(light: Store) -> None:
    Studies(light).add(small_design(participants=4))
    app = create_app(light)
    for _ in range(4):
        person = Person(app)
        person.finish(person.enter())
    late = Person(app)
    late.enter()
    assert late.reply.status_code == 503
    assert "The study is complete" in late.reply.text


@pytest.mark.parametrize("path", [f"/study/small{MTURK}", "/study/small", "/study/small/nobody"])
def test_frames(crowd: FastAPI, light: Store, path: str) -> None:
    person = Person(crowd)
    person.get(path)  # a page, and two that say what is wrong
    rules = person.reply.headers["content-security-policy"]
    assert "frame-ancestors 'self' https://workersandbox.mturk.com" in rules
    assert "form-action 'self' https://workersandbox.mturk.com;" in rules
    assert "script-src 'self';" in rules
    assert "x-frame-options" not in person.reply.headers
    recruitment = {"link": True, "mturk": "off"}
    person.get("/study/small/nobody")
    assert person.reply.status_code == 404
    assert "workersandbox.mturk.com" in person.reply.headers["content-security-policy"]
    assert "x-frame-options" not in person.reply.headers
    Studies(light).add(small_design(slug="unframed", recruitment=recruitment))
    person.get("/study/unframed")
    assert "frame-ancestors 'none'" in person.reply.headers["content-security-policy"]
    assert person.reply.headers["x-frame-options"] == "DENY"


def test_a_form_that_cannot_be_read_is_answered_in_the_frame(crowd: FastAPI) -> None:
    person = Person(crowd)
    person.enter(MTURK)
    person.post(person.path, {"response": "99"})
    assert person.reply.status_code == 422
    assert "workersandbox.mturk.com" in person.reply.headers["content-security-policy"]
    assert "x-frame-options" not in person.reply.headers
    assert 'href="/"' not in person.reply.text


def test_who_was_too_slow_is_told_so(crowd: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def enter(*_: object, **__: object) -> None:
        raise ConflictError("another request was quicker just now; try again")

    monkeypatch.setattr(ParticipantFlow, "enter", enter)
    person = Person(crowd)
    person.enter(PROLIFIC)
    assert person.reply.status_code == 409
    assert "Another request was quicker" in person.reply.text
    assert "preview" not in person.reply.text


def test_links_are_limited_and_answers_are_not_dropped(light: Store) -> None:
    Studies(light).add(small_design())
    app = create_app(light, Settings(asks_per_hour=2, answers_per_minute=0.001, answers_at_once=3))
    people = [Person(app) for _ in range(3)]
    pages = [person.enter() for person in people]
    assert people[2].reply.status_code == 429
    page = pages[0]
    while people[0].reply.status_code == 200:
        before = page
        page = people[0].answer(page)
    assert people[0].reply.status_code == 429
    assert people[0].get(people[0].path) == before


def skeleton(page: str, options: list[str]) -> str:
    """A page without what may differ: the token in its address, and the options' own content."""
    page = re.sub(r"/study/[\w-]+/[\w-]{43}", "/study/PERSON", page)
    page = re.sub(r"/media/\w{64}", "/media/PICTURE", page)
    for text in options:
        words = re.escape(text.strip()).replace("'", "(?:'|&#39;)")
        page = re.sub(words, "OPTION", page)
    return page


def test_pages_do_not_tell_methods_apart(light: Store) -> None:
    pages: dict[str, list[str]] = {}
    for method in ("useralign", "iidbest"):
        slug = f"of-{method[:3]}"
        domain = small_design().domains[0].model_dump() | {"questions": ["food-01"]}
        design = small_design(
            slug=slug, methods=[method], conditions=["without-persona"], domains=[domain]
        )
        study = Studies(light).add(design)
        pool = light.pools.get(study.question("food64d", "food-01").pool_id)
        person = Person(create_app(light))
        page = person.enter(slug=slug)
        seen = []
        while "outcome" not in page.words:
            text = person.reply.text
            assert "method" not in text.replace('method="post"', "").lower()
            for marker in ("useralign", "iidbest", "baseline", "candidate", "incumbent"):
                assert marker not in text.lower(), marker
            for candidate in pool:
                assert f'"{candidate.label}"' not in text
            assert set(page.fields) <= {"stage", "step", "milliseconds"}
            order = sorted(page.options, key=len, reverse=True)
            checked = any("being read" in option for option in page.options)
            seen.append("" if checked else skeleton(text, order).replace(slug, "STUDY"))
            page = person.answer(page)
        pages[method] = [text for text in seen if text]
    mine, others = pages.values()
    comparing = slice(0, 5)  # the query and stage 2 come in the same order
    assert mine[comparing] == others[comparing]

    def numberless(texts: list[str]) -> set[str]:
        return {re.sub(r'Comparison \d|value="\d"|>Saved\.?<', "", text) for text in texts[5:]}

    assert numberless(mine) == numberless(others)
    assert len(numberless(mine)) == 1  # and within stage 3, all matchups look alike


def test_hostile_texts_stay_texts(light: Store) -> None:
    study = Studies(light).add(small_design())
    bad = (
        "<script>alert(1)</script> ![x](https://evil.example/x.png) [y](javascript:alert(1)) \"'<b>"
    )
    for asked in study.questions["food64d"].values():
        pool = light.pools.get(asked.pool_id)
        data = Pool(
            pool.question,
            [replace(candidate, text=f"{bad} {candidate.index}") for candidate in pool],
            pool.raw_features,
            replace(pool.baseline, text=bad) if pool.baseline else None,
            normalise=pool.normalise,
        )
        import json

        with light.writing() as connection:
            here = update(pools).where(pools.c.id == asked.pool_id)
            text = json.dumps(data.to_dict())
            connection.execute(here.values(data=text, fingerprint=data.fingerprint))
    from useralign.store import open_store

    again = open_store(str(light.url))  # with nothing kept in memory
    person = Person(create_app(again))
    page = person.answer(person.enter())
    while "outcome" not in page.words:
        text = person.reply.text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<b>" not in text
        assert 'href="javascript' not in text
        page = person.answer(page)
    again.close()


def own(light: Store, **changes: object) -> FastAPI:
    """A study with a page of questions, in two languages."""
    fields = [
        {"id": "age", "type": "number", "text": "Age?", "min": 18, "whole": True},
        {
            "id": "mood", "type": "likert", "low": "bad", "high": "good",
            "text": {"en": "Your mood?", "de": "Ihre Laune?"},
        },
        {"id": "words", "type": "text", "text": "Anything else?", "required": False},
    ]  # fmt: skip
    pages = [{"kind": "questionnaire", "id": "you", "fields": fields}, {"kind": "task"}]
    given = {"pages": pages, "languages": ["en", "de"], **changes}
    Studies(light).add(small_design(slug="own", **given))
    return create_app(light)


def test_a_page_of_questions(light: Store) -> None:
    person = Person(own(light))
    page = person.enter(slug="own")
    assert {name: one.kind for name, one in page.inputs.items()} == {
        "age": "number", "mood": "radio", "words": "text",
    }  # fmt: skip
    person.post(person.path, page.fields | {"age": "17", "words": '<b>"x"'})
    assert person.reply.status_code == 422
    for words in ("within the limits", "Please answer this.", 'value="17"', "&lt;b&gt;"):
        assert words in person.reply.text
    right = page.fields | {"age": "44", "mood": "4", "milliseconds": "900", "left": "2"}
    following = person.post(person.path, right)
    assert following.words["query-text"]
    assert person.post(person.path, right) == following  # sent twice
    assert person.post(person.path, right | {"mood": "5"}) == following
    assert person.reply.status_code == 409
    with reading(light, "own") as records:
        kept = {(a.field, a.value) for a in records.page_answers(digest(person.path[-43:]))}
    assert {("age", "44"), ("mood", "4"), ("_milliseconds", "900"), ("_left", "2")} <= kept
    read = following.fields | {"milliseconds": "700", "left": "1"}
    following = person.post(person.path, read)
    assert person.post(person.path, read) == following
    chosen = following.fields | {"response": "0", "left": "4"}
    assert person.post(person.path, chosen) == person.post(person.path, chosen)
    pages = {row["page"]: row for row in dataset_rows(light, Studies(light).get("own"), "pages")}
    assert (pages["query"]["page_seconds"], pages["query"]["times_left"]) == (0.7, 1)
    assert pages["comparisons"]["times_left"] == 4  # what is sent twice counts once
    following = person.get(person.path)
    assert person.finish(following).words["outcome"] == "completed"


def test_the_language_of_the_browser_or_the_link(light: Store) -> None:
    person = Person(own(light))
    person.client.headers["accept-language"] = "de-CH,de;q=0.9"
    landing = person.get("/study/own")
    assert '<html lang="de">' in person.reply.text
    assert "Beginnen" in person.reply.text
    page = person.post("/study/own", landing.fields | landing.boxes)
    assert "Ihre Laune?" in person.reply.text
    assert page.inputs
    landing = person.get("/study/own?lang=en")
    assert '<html lang="en">' in person.reply.text
    other = Person(own(light))
    landing = other.get("/study/own?lang=de")
    other.post("/study/own", landing.fields)  # without consent the page comes back as it was
    assert "Bitte setzen Sie das Häkchen" in other.reply.text


def test_declining_records_nothing(light: Store) -> None:
    person = Person(own(light))
    landing = person.get("/study/own")
    person.post("/study/own", landing.fields | {"decline": "yes"})
    assert "Nothing was recorded" in person.reply.text
    assert count(light) == 0


def test_stopping(light: Store) -> None:
    person = Person(own(light))
    page = person.enter(slug="own")
    assert "?leave=yes" in person.reply.text
    person.get(f"{person.path}?leave=yes")
    assert "Do you want to stop?" in person.reply.text
    ended = person.post(person.path, {"leave": "withdrawn"})
    assert ended.words["outcome"] == "withdrawn"
    assert "code" not in ended.words
    assert person.post(person.path, page.fields | {"age": "44", "mood": "4"}) == ended
    Studies(light).add(small_design(slug="bound", withdraw=False))
    person.enter(slug="bound")
    assert "?leave=yes" not in person.reply.text


def test_a_screen_is_kept_only_if_it_looks_like_one(light: Store) -> None:
    for screen, kept in (("390x844 390x700 3", True), ("<script>", False)):
        person = Person(own(light))
        landing = person.get("/study/own")
        person.post("/study/own", landing.fields | landing.boxes | {"screen": screen})
        with reading(light, "own") as records:
            answers = records.page_answers(digest(person.reply.url.path[-43:]))
        assert ("screen" in {answer.field for answer in answers}) == kept
