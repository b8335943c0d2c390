"""The administration pages: closed by default, limited tries, and what they show and give."""

from __future__ import annotations

import os
import re
import threading
from itertools import product
from pathlib import Path
from random import Random

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.study.conftest import Walker, small_design
from tests.web.routes import table
from useralign.store import Store
from useralign.study import ParticipantFlow
from useralign.study.export import COLUMNS, FORMATS, dataset_rows, read_rows
from useralign.study.recruitment import Arrival
from useralign.web import Settings, rehearsal
from useralign.web.app import create_app

SECRET = "a secret of many letters"  # noqa: S105
WORKER = "worker-77"


@pytest.fixture
def walker(store: Store) -> Walker:
    return furnished(store)


def furnished(store: Store) -> Walker:
    """A study in which four have finished, and one has begun."""
    flow = ParticipantFlow(store, rng=Random(1))
    made = Walker(flow, flow.studies.add(small_design()))
    ids = {"PROLIFIC_PID": WORKER, "STUDY_ID": "s", "SESSION_ID": "x"}
    made.finish(made.enter(Arrival("prolific", WORKER, ids)))
    for _ in range(3):
        made.finish(made.enter())
    made.enter()
    return made


@pytest.fixture
def app(store: Store, walker: Walker) -> FastAPI:
    return create_app(store, Settings(secret=SECRET))


def logged_in(app: FastAPI, base: str = "http://localhost") -> TestClient:
    client = TestClient(app, base_url=base)
    reply = client.post("/admin/login", data={"secret": SECRET})
    assert reply.status_code == 200
    return client


def form_token(text: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', text)
    assert found
    return found[1]


def test_closed_without_a_secret(light: Store) -> None:
    client = TestClient(create_app(light), base_url="http://localhost")
    assert client.get("/admin").status_code == 403
    assert "USERALIGN_SECRET" in client.get("/admin").text
    assert client.post("/admin/login", data={"secret": ""}).status_code in (403, 422)
    assert client.post("/admin/login", data={"secret": "None"}).status_code == 403


def test_every_page_needs_the_log_in(light: Store) -> None:
    flow = ParticipantFlow(light)
    flow.studies.add(small_design())
    app = create_app(light, Settings(secret=SECRET))
    client = TestClient(app, base_url="http://localhost")
    routes = [(method, path) for method, path in table(app) if path.startswith("/admin/")]
    assert len(routes) > 5
    for method, path in routes:
        if path == "/admin/login" or method == "HEAD":
            continue
        address = path.replace("{slug}", "small").replace("{dataset}.{form}", "answers.csv")
        for cookie in ("", "1.2.3", f"{10**11}.x.{'0' * 64}"):
            headers = {"cookie": f"useralign_admin={cookie}"}
            reply = client.request(method, address, data={}, headers=headers)
            assert reply.status_code == 401, (method, path)


def test_tries_are_limited(light: Store) -> None:
    app = create_app(light, Settings(secret=SECRET, tries_per_minute=3))
    client = TestClient(app, base_url="http://localhost")
    wrong = [client.post("/admin/login", data={"secret": f"no {k}"}) for k in range(5)]
    assert [reply.status_code for reply in wrong] == [401, 401, 401, 429, 429]
    assert "That is not the secret" in wrong[0].text
    assert client.post("/admin/login", data={"secret": SECRET}).status_code == 429


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie(light: Store, scheme: str) -> None:
    app = create_app(light, Settings(secret=SECRET))
    client = TestClient(app, base_url=f"{scheme}://localhost")
    reply = client.post("/admin/login", data={"secret": SECRET}, follow_redirects=False)
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/admin" in cookie
    assert ("Secure" in cookie) == (scheme == "https")
    assert SECRET not in cookie


def test_a_log_in_ends(light: Store) -> None:
    times = [1000.0]
    app = create_app(light, Settings(secret=SECRET, now=lambda: times[0]))
    client = logged_in(app)
    assert "There is no study yet" in client.get("/admin").text
    token = form_token(client.get("/admin").text)
    times[0] += 13 * 3600
    assert "The server's secret" in client.get("/admin").text.replace("&#39;", "'")
    times[0] -= 13 * 3600
    assert client.post("/admin/logout", data={}).status_code == 403  # without the form's token
    client.post("/admin/logout", data={"form_token": token})
    assert client.get("/admin/studies/small").status_code == 401


def test_what_a_study_shows(app: FastAPI, walker: Walker) -> None:
    client = logged_in(app)
    listing = client.get("/admin").text
    assert "<strong>4</strong> of 16 finished" in listing
    page = client.get("/admin/studies/small").text
    assert "food64d" in page
    assert "without-persona" in page
    assert page.count('<svg class="chart"') == 3
    assert "<script" not in page
    assert WORKER not in page  # people go by pseudonyms
    pseudonym = walker.look(walker.enter()).participant.pseudonym
    assert pseudonym in client.get("/admin/studies/small").text
    assert client.get("/admin/studies/none").status_code == 404


def test_exports_are_what_is_in_the_database(
    app: FastAPI, walker: Walker, store: Store, tmp_path: Path
) -> None:
    client = logged_in(app)
    for dataset, form in product(COLUMNS, FORMATS):
        reply = client.get(f"/admin/studies/small/{dataset}.{form}")
        assert reply.status_code == 200
        assert f'filename="small-{dataset}.{form}"' in reply.headers["content-disposition"]
        path = tmp_path / f"{dataset}.{form}"
        path.write_bytes(reply.content)
        assert list(read_rows(path, dataset)) == list(dataset_rows(store, walker.study, dataset))
    for form in FORMATS:
        assert client.get(f"/admin/studies/small/secrets.{form}").status_code == 404
    assert "## answers" in client.get("/admin/studies/small/codebook.md").text


def test_a_cookie_that_was_logged_out_opens_nothing(app: FastAPI) -> None:
    client = logged_in(app)
    cookie = client.cookies["useralign_admin"]
    other = logged_in(app)
    token = form_token(client.get("/admin/studies/small").text)
    assert client.post("/admin/logout", data={"form_token": token}).status_code == 200
    headers = {"cookie": f"useralign_admin={cookie}"}
    stolen = TestClient(app, base_url=str(client.base_url))
    assert stolen.get("/admin/studies/small", headers=headers).status_code == 401
    app.state.store.rate_limits.purge()
    assert stolen.get("/admin/studies/small", headers=headers).status_code == 401
    assert other.get("/admin/studies/small").status_code == 200


def test_the_database_holds_up_nobody_else(patient: Store) -> None:
    client = logged_in(create_app(patient, Settings(secret=SECRET)))
    reply = client.post("/admin/logout", data={"form_token": form_token(client.get("/admin").text)})
    assert reply.status_code == 200


def test_closing_and_deleting(app: FastAPI, walker: Walker) -> None:
    client = logged_in(app)
    token = form_token(client.get("/admin/studies/small").text)
    assert client.post("/admin/studies/small/open", data={"value": "false"}).status_code == 403
    data = {"value": "false", "form_token": token}
    assert "Closed:" in client.post("/admin/studies/small/open", data=data).text
    assert not walker.flow.studies.get("small").open
    client.post("/admin/studies/small/open", data=data | {"value": "true"})
    assert walker.flow.studies.get("small").open
    who = walker.enter()
    name = walker.look(who).participant.pseudonym
    gone = client.post("/admin/studies/small/forget", data={"name": name, "form_token": token})
    assert "The participant was deleted." in gone.text
    assert name not in gone.text
    again = client.post("/admin/studies/small/forget", data={"name": name, "form_token": token})
    assert again.status_code == 404


def test_pausing(light: Store) -> None:
    furnished(light)
    app = create_app(light, Settings(secret=SECRET))
    client = logged_in(app)
    token = {"form_token": form_token(client.get("/admin/studies/small").text)}
    asked = token | {"value": "false", "paused": "true"}
    assert "Paused:" in client.post("/admin/studies/small/open", data=asked).text
    newcomer = TestClient(app, base_url="http://localhost")
    assert "The study is paused" in newcomer.get("/study/small").text
    client.post("/admin/studies/small/open", data=token | {"value": "true"})
    assert "The study is paused" not in newcomer.get("/study/small").text


def test_flags_and_numbers_of_people(light: Store) -> None:
    """Everybody here takes the first option always; nobody stands without their number."""
    walker, app = furnished(light), create_app(light, Settings(secret=SECRET))
    page = logged_in(app).get("/admin/studies/small").text
    assert page.count("same side") == 4
    assert "n = 1<" in page
    assert '(0.0)</span> <span class="soft n">n = 1<' not in page
    for _ in range(22):
        walker.flow.enter(walker.study, Arrival("link"), os.urandom(16).hex())
    assert "Show all" not in logged_in(app).get("/admin/studies/small?people=all").text


def test_a_preview_stores_nothing(light: Store) -> None:
    walker, app = furnished(light), create_app(light, Settings(secret=SECRET))
    client = logged_in(app)
    before = len(list(dataset_rows(light, walker.study, "participants")))
    for cell in range(len(walker.study.design.cells)):
        reply = client.get(f"/admin/studies/small/preview/en/{cell}/0")
        assert "I agree to take part" in reply.text
        titles = []
        while "data-outcome" not in reply.text:
            assert "Preview, nothing is stored" in reply.text
            titles.append(re.search(r"<h1>(.+?)</h1>", reply.text))
            reply = client.post(str(reply.url), data={"response": "0"})
            assert reply.status_code == 200
        assert len(titles) == 4  # consent, query, comparisons, evaluation
    assert len(list(dataset_rows(light, walker.study, "participants"))) == before
    assert client.get("/admin/studies/small/preview/en/9/0").status_code == 404
    assert client.get("/admin/studies/small/preview/xx/0/0").status_code == 404
    assert client.get("/admin/studies/small/preview/en/0/9").status_code == 404


def test_a_pilot_is_never_mixed_in(light: Store) -> None:
    walker, app = furnished(light), create_app(light, Settings(secret=SECRET))
    client = logged_in(app)
    token = {"form_token": form_token(client.get("/admin/studies/small").text)}
    assert "A pilot" in client.post("/admin/studies/small/pilot", data=token).text
    pilot = walker.flow.studies.get("small-pilot")
    before = list(dataset_rows(light, walker.study, "answers"))
    Walker(walker.flow, pilot).finish(Walker(walker.flow, pilot).enter())
    assert {row["data"] for row in dataset_rows(light, pilot, "participants")} == {"pilot"}
    assert list(dataset_rows(light, walker.study, "answers")) == before
    assert walker.flow.studies.rehearse("small", "pilot").created == pilot.created  # goes on


def test_a_simulation_from_the_page(light: Store) -> None:
    walker, app = furnished(light), create_app(light, Settings(secret=SECRET))
    client = logged_in(app)
    token = {"form_token": form_token(client.get("/admin/studies/small").text)}
    before = list(dataset_rows(light, walker.study, "answers"))
    assert (
        client.post("/admin/studies/small/simulate", data=token | {"people": "51"}).status_code
        == 422
    )
    for _ in range(2):  # the second replaces the first
        reply = client.post("/admin/studies/small/simulate", data=token | {"people": "2"})
        assert "Simulated people are on their way" in reply.text
        for thread in threading.enumerate():
            if thread.name == rehearsal.THREAD:
                thread.join(120)
    twin = walker.flow.studies.get("small-simulated")
    people = list(dataset_rows(light, twin, "participants"))
    assert {row["data"] for row in people} == {"simulated"}
    assert 2 <= sum(row["finished"] for row in people) <= 5
    assert list(dataset_rows(light, walker.study, "answers")) == before
