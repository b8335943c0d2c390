"""The administration pages: closed by default, limited tries, and what they show and give."""

from __future__ import annotations

import re
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
from useralign.study.recruiting import Arrival
from useralign.web import Settings
from useralign.web.app import create_app

SECRET = "a secret of many letters"  # noqa: S105
WORKER = "worker-77"


@pytest.fixture
def walker(store: Store) -> Walker:
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
