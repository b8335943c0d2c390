"""Tokens of an application's people, and pages of other sites."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.web.browser import Browser
from tests.web.routes import filled, table, unsafe
from tests.web.test_security import rows
from useralign.cli.serve import listed_origins
from useralign.errors import OptionError
from useralign.store import Store
from useralign.web import Settings
from useralign.web.app import create_app
from useralign.web.identity import GRANT, Grant
from useralign.web.rendering import STATIC

SECRET = "a secret of many letters"  # noqa: S105
ORIGIN = "https://app.example"
TEXTS = ["plain rice", "a hot curry", "a sweet cake", "cold soup"]


class Clock:
    time = 1000.0

    def __call__(self) -> float:
        return self.time


class Site:
    """A server beyond this machine, and an application that has a key of it."""

    def __init__(self, store: Store) -> None:
        self.clock = Clock()
        settings = Settings(
            secret=SECRET,
            loopback=False,
            origins=frozenset({ORIGIN}),
            now=self.clock,
            tries_per_minute=1000,
        )
        self.client = TestClient(create_app(store, settings), base_url="http://site.example")
        self.key = store.keys.add("dinner")
        pool = {"question": "Which?", "texts": TEXTS}
        self.pool = self.call("POST", "/pools", self.key, pool).json()["id"]

    def call(self, method: str, path: str, bearer: str, body: Any = None) -> Any:
        headers = {"authorization": f"Bearer {bearer}"}
        if bearer.startswith(GRANT):
            headers |= {"origin": ORIGIN, "sec-fetch-site": "cross-site"}
        return self.client.request(method, f"/api{path}", json=body, headers=headers)

    def token(self, person: str = "17", **options: Any) -> str:
        reply = self.call("POST", "/tokens", self.key, {"person": person, **options})
        assert reply.status_code == 201, reply.text
        return str(reply.json()["token"])

    def begin(self, token: str, pool: str | None = None) -> Any:
        return self.call("POST", "/sessions", token, {"pool": pool or self.pool})


@pytest.fixture
def site(light: Store) -> Site:
    return Site(light)


def test_a_person_holds_a_session_over_the_applications_pool(site: Site) -> None:
    token = site.token()
    begun = site.begin(token)
    assert begun.status_code == 201
    assert begun.headers["access-control-allow-origin"] == ORIGIN
    path = f"/sessions/{begun.json()['id']}"
    answer = {"step": 0, "winner": begun.json()["comparison"]["candidates"][0]["index"]}
    assert site.call("POST", f"{path}/answers", token, answer).json()["cost"] == 1
    again = site.token()  # the same person, later
    assert site.call("GET", f"{path}/result", again).json()["cost"] == 1
    for other in (site.token("18"), site.key):
        assert site.call("GET", path, other).status_code == 404
        assert site.call("DELETE", path, other).status_code == 404
    assert site.call("DELETE", path, token).status_code == 204


def test_the_same_name_under_another_key_is_somebody_else(site: Site, light: Store) -> None:
    begun = site.begin(site.token()).json()["id"]
    site.key = light.keys.add("another")
    assert site.call("GET", f"/sessions/{begun}", site.token()).status_code == 404
    assert site.begin(site.token()).status_code == 404, "nor is the other's pool theirs"


def test_a_person_brings_texts(site: Site) -> None:
    body = {"question": "Which?", "texts": TEXTS}
    made = site.call("POST", "/pools", site.token(), body)
    assert made.status_code == 201
    assert site.begin(site.token(), made.json()["id"]).status_code == 201
    assert site.begin(site.token("18"), made.json()["id"]).status_code == 404
    asked = site.call("POST", "/pools", site.token(), {"question": "What should I cook?"})
    assert asked.status_code == 422, "no model works for them"
    assert "texts" in asked.json()["detail"]


def test_a_token_for_one_pool_is_for_no_other(site: Site) -> None:
    more = {"question": "Which else?", "texts": TEXTS}
    other = site.call("POST", "/pools", site.key, more).json()["id"]
    token = site.token(pool=site.pool)
    assert site.begin(token).status_code == 201
    assert site.begin(token, other).status_code == 404
    assert site.call("POST", "/pools", token, more).status_code == 422
    assert site.call("POST", "/tokens", site.key, {"person": "1", "pool": "no"}).status_code == 404


def test_it_ends_by_itself(site: Site) -> None:
    token = site.token(seconds=60)
    session = site.begin(token).json()["id"]
    site.clock.time += 61
    reply = site.call("GET", f"/sessions/{session}", token)
    assert reply.status_code == 401
    assert "Reload" in reply.json()["detail"]
    assert reply.headers["access-control-allow-origin"] == ORIGIN, "the page may say so"
    assert site.call("GET", f"/sessions/{session}", site.token()).status_code == 200


def test_it_ends_with_its_key(site: Site, light: Store) -> None:
    token = site.token()
    light.keys.remove("dinner")
    assert site.begin(token).status_code == 401


def changed(token: str) -> str:
    content, _, signature = token.partition(".")
    return f"{content[:-3]}{'A' if content[-3] != 'A' else 'B'}{content[-2:]}.{signature}"


@pytest.mark.parametrize(
    "change",
    [
        changed,
        lambda token: token[:-1],
        lambda token: token.partition(".")[0],
        lambda _: GRANT,
        lambda _: GRANT + "é.é",
        lambda _: Grant("o", "this machine", None, 9e9).sign(SECRET * 2),
        lambda _: Grant("o", "this machine", None, 9e9).sign(SECRET),
    ],
)
def test_what_we_did_not_sign_is_refused(site: Site, change: Callable[[str], str]) -> None:
    headers = {"authorization": f"Bearer {change(site.token())}".encode()}
    reply = site.client.post("/api/sessions", json={"pool": site.pool}, headers=headers)  # type: ignore[arg-type]
    assert reply.status_code == 401


def test_a_token_opens_nothing_else(site: Site) -> None:
    token = site.token()
    sessions = [path for _, path in table(app_of(site)) if path.startswith("/api/sessions")]
    for method, path in table(app_of(site)):
        if path.startswith("/api") and path not in sessions and (method, path) != MAKES_POOLS:
            reply = site.call(method, filled(path).removeprefix("/api"), token, {"person": "1"})
            assert reply.status_code == 401, (method, path)


MAKES_POOLS = ("POST", "/api/pools")


def app_of(site: Site) -> FastAPI:
    app = site.client.app
    assert isinstance(app, FastAPI)
    return app


def test_an_allowed_site_can_do_nothing_without_a_token(light: Store) -> None:
    """Not even on this machine, where programs need no key."""
    app = create_app(light, Settings(secret=SECRET, origins=frozenset({ORIGIN})))
    browser = Browser(app)
    page = browser.begin()
    key = light.keys.add("test")
    before = rows(light)
    data = {"form_token": page.token, "step": "0", "response": "0", "question": "What?"}
    session = page.path.split("/")[2]
    for signed in ({}, {"authorization": f"Bearer {key}"}):
        headers = {"origin": ORIGIN, "sec-fetch-site": "cross-site", **signed}
        for method, path in unsafe(app):
            address = filled(path, session_id=session)
            reply = browser.client.request(method, address, data=data, headers=headers)
            assert reply.status_code == (401 if path.startswith("/api/") else 403), (method, path)
        for method, path in table(app):
            if path.startswith("/api/") and method == "GET":
                reply = browser.client.get(filled(path, session_id=session), headers=headers)
                assert reply.status_code == 401, path
    assert rows(light) == before


@pytest.mark.parametrize("path", ["/api/sessions", "/user-align.js", "/media/none", "/", "/you"])
def test_who_may_read(site: Site, path: str) -> None:
    shared = path not in ("/", "/you")
    for origin in (ORIGIN, "https://evil.example", "null"):
        asks = {"origin": origin, "access-control-request-method": "POST",
                "access-control-request-headers": "authorization,content-type"}  # fmt: skip
        for reply in (
            site.client.options(path, headers=asks),
            site.client.get(path, headers={"origin": origin}),
        ):
            allowed = reply.headers.get("access-control-allow-origin")
            assert allowed == (ORIGIN if shared and origin == ORIGIN else None)
            assert "access-control-allow-credentials" not in reply.headers
            assert not shared or "Origin" in reply.headers["vary"]


@pytest.mark.parametrize(
    "origin",
    ["*", "app.example", "https://app.example/", "https://App.example", "https://*.example",
     "null", "file://", "https://app.example:443", "http://app.example:80", "https://[bad", ""],
)  # fmt: skip
def test_an_origin_is_written_as_browsers_do(origin: str) -> None:
    with pytest.raises(OptionError, match=r"such as https://app\.example"):
        Settings(origins=frozenset({origin}))


def test_origins_that_are_taken() -> None:
    Settings(origins=frozenset({ORIGIN, "http://localhost:3000", "http://[::1]:81"}))


def test_origins_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_ORIGINS", f"{ORIGIN}, http://localhost:3000,")
    assert listed_origins() == [ORIGIN, "http://localhost:3000"]


def test_the_element_has_the_colours_of_the_page() -> None:
    """They were checked for contrast there."""
    style = (STATIC / "app.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w+);", part)) for part in style.split("@media")[:2]
    )
    script = (STATIC / "user-align.js").read_text("utf-8")
    own = re.findall(r"--ua-([\w-]+), light-dark\((#\w+), (#\w+)\)", script)
    assert len(own) >= 9
    for name, day, night in own:
        assert (day, night) == (light[name], dark[name]), name
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(|http://|https://", script)
