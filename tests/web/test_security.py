"""What stands around every request."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select
from starlette.testclient import TestClient

from tests.web.browser import Browser
from tests.web.routes import SAFE, filled, table, unsafe
from useralign.errors import OptionError
from useralign.pooling import PoolRequest
from useralign.store import Store
from useralign.store.schema import metadata
from useralign.web import Settings
from useralign.web.app import create_app
from useralign.web.settings import is_loopback

SECRET = "a secret of many letters"  # noqa: S105
ANYWHERE = "0.0.0.0"  # noqa: S104
FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "http://localhost:81"},
    {"origin": "https://localhost"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


def rows(store: Store) -> dict[str, int]:
    """Count what is in every table."""
    with store.reading() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }


@pytest.fixture
def local(light: Store) -> FastAPI:
    return create_app(light, Settings(secret=SECRET))


def test_no_unsafe_route_listens_to_another_site(local: FastAPI, light: Store) -> None:
    browser = Browser(local)
    page = browser.begin()
    key = light.keys.add("test")
    before = rows(light)
    data = {"form_token": page.token, "step": "0", "response": "0", "question": "What?"}
    session = page.path.split("/")[2]
    for method, path in unsafe(local):
        address = filled(path, session_id=session)
        for headers in FOREIGN:
            signed = headers | {"authorization": f"Bearer {key}"}
            reply = browser.client.request(method, address, data=data, headers=signed)
            assert reply.status_code == 403, (method, path, headers)
    assert rows(light) == before


def test_a_form_needs_the_token_of_its_own_visitor(local: FastAPI, light: Store) -> None:
    browser, stranger = Browser(local), Browser(local)
    page = browser.begin()
    others = stranger.get("/").token
    assert others != page.token
    before = rows(light)
    session = page.path.split("/")[2]
    elsewhere = ("/api", "/mcp", "/v1", "/study", "/admin")
    pages = [path for _, path in unsafe(local) if not path.startswith(elsewhere)]
    assert len(pages) >= 7
    for path in pages:
        for token in ("", others, page.token[:-1]):
            data = {"form_token": token, "step": "0", "response": "0", "question": "What?"}
            reply = browser.client.post(filled(path, session_id=session), data=data)
            assert reply.status_code == 403, path
            assert "form" in reply.text
    assert rows(light) == before


@pytest.mark.parametrize("origin", ["null", "http://[", "http://[zz]", "localhost", "://"])
def test_an_origin_that_is_none_is_another_site(local: FastAPI, origin: str) -> None:
    client = TestClient(local, base_url="http://localhost")
    reply = client.post("/api/pools", json={}, headers={"origin": origin})
    assert reply.status_code == 403


def test_programs_without_origin_are_let_in(local: FastAPI) -> None:
    reply = TestClient(local, base_url="http://localhost").post(
        "/api/pools", json={"question": "Which?", "texts": ["a", "b"]}
    )
    assert reply.status_code == 201


def test_our_own_pages_are_let_in(local: FastAPI) -> None:
    browser = Browser(local)
    token = browser.get("/").token
    headers = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
    data = {"form_token": token, "remember": "true"}
    reply = browser.client.post("/you/allow", data=data, headers=headers)
    assert reply.status_code == 200
    assert "Your choice is kept" in reply.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[bad"])
def test_another_name_for_this_machine_is_refused(local: FastAPI, host: str) -> None:
    reply = TestClient(local, base_url="http://localhost").get("/", headers={"host": host})
    assert reply.status_code == 421


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_the_names_of_this_machine_are_answered(local: FastAPI, host: str) -> None:
    reply = TestClient(local, base_url="http://localhost").get("/", headers={"host": host})
    assert reply.status_code == 200


def test_every_answer_carries_the_headers(local: FastAPI) -> None:
    client = TestClient(local, base_url="http://localhost", raise_server_exceptions=False)
    for method, path in table(local):
        reply = client.request(method, filled(path), follow_redirects=False)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "unsafe" not in policy
        assert "frame-ancestors" in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "same-origin"
        assert "server" not in reply.headers
        if "text/html" in reply.headers.get("content-type", ""):
            assert reply.headers["cache-control"] == "no-store", path


def test_no_page_has_anything_inline_or_from_elsewhere(local: FastAPI) -> None:
    browser = Browser(local)
    page = browser.begin()
    pages = [page, browser.finish(page), *map(browser.get, ("/", "/you", "/docs", "/nope"))]
    for found in pages:
        assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", found.text)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", found.text)
        for address in re.findall(r'(?:src|href|action)="([^"]+)"', found.text):
            assert address.startswith(("/", "#")), address
            assert not address.startswith("//")


def test_the_cookie(light: Store) -> None:
    app = create_app(light, Settings(secret=SECRET, loopback=False, trust_proxy=True))
    client = TestClient(app, base_url="http://site.example")
    plain = client.get("/").headers["set-cookie"]
    found = re.match(r"useralign=([\w-]{43,});", plain)
    assert found, plain  # 43 characters of base64 are 256 bits
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    assert "Secure" not in plain
    assert "set-cookie" not in client.get("/").headers
    client.cookies.clear()
    behind = {"x-forwarded-proto": "https"}
    assert "Secure" in client.get("/", headers=behind).headers["set-cookie"]


def test_forwarded_headers_count_only_when_told_so(local: FastAPI) -> None:
    client = TestClient(local, base_url="http://localhost")
    headers = {"x-forwarded-proto": "https", "x-forwarded-host": "evil.example"}
    assert "Secure" not in client.get("/", headers=headers).headers["set-cookie"]


def test_the_database_holds_no_token(local: FastAPI, light: Store) -> None:
    browser = Browser(local)
    browser.begin()
    key = light.keys.add("test")
    held = browser.client.cookies["useralign"]
    with light.reading() as connection:
        for one in metadata.sorted_tables:
            for row in connection.execute(select(one)):
                assert held not in str(row)
                assert key not in str(row)


def test_nobody_sees_anothers(app: FastAPI, store: Store) -> None:
    browser, stranger = Browser(app), Browser(app)
    page = browser.begin()
    session = page.path.split("/")[2]
    making = app.state.pool_jobs.start(stranger_of(browser), PoolRequest("What?"))
    names = {"session_id": session, "making_id": making}
    token = stranger.get("/you").token
    checked = 0
    for method, path in table(app):
        if not re.search(r"\{(session|making)_id\}", path):
            continue
        data = {"form_token": token, "step": "0", "response": "0"}
        body: dict[str, object] = {"data": data} if method == "POST" else {}
        if path.startswith("/api") and method == "POST":
            body = {"json": {"step": 0, "winner": 0}}
        reply = stranger.client.request(method, filled(path, **names), **body)  # type: ignore[arg-type]
        assert reply.status_code == 404, (method, path)
        checked += 1
    assert checked >= 14
    assert browser.get(page.path).step == 0
    assert session not in stranger.get("/you").text


def stranger_of(browser: Browser) -> str:
    from useralign.store import digest

    return digest(browser.client.cookies["useralign"])


def test_a_key_sees_only_its_own(store: Store) -> None:
    app = create_app(store, Settings(secret=SECRET, loopback=False))
    client = TestClient(app, base_url="http://site.example")
    one, other = ({"authorization": f"Bearer {store.keys.add(name)}"} for name in ("a", "b"))
    body = {"question": "Which?", "features": [[0, 0], [1, 0], [0, 1]]}
    assert client.post("/api/pools", json=body).status_code == 401
    wrong = client.post("/api/pools", json=body, headers={"authorization": "Bearer ua_wrong"})
    assert wrong.status_code == 401
    assert wrong.headers["www-authenticate"].startswith("Bearer")
    pool = client.post("/api/pools", json=body, headers=one).json()["id"]
    assert client.get(f"/api/pools/{pool}", headers=one).status_code == 200
    assert client.get(f"/api/pools/{pool}", headers=other).status_code == 404
    made = client.post("/api/sessions", json={"pool": pool}, headers=other)
    assert made.status_code == 404
    session = client.post("/api/sessions", json={"pool": pool}, headers=one).json()["id"]
    for tail in ("", "/comparison", "/result"):
        assert client.get(f"/api/sessions/{session}{tail}", headers=other).status_code == 404
    assert client.delete(f"/api/sessions/{session}", headers=other).status_code == 404
    assert client.delete(f"/api/sessions/{session}", headers=one).status_code == 204
    assert client.get(f"/api/sessions/{session}", headers=one).status_code == 404


def test_keys_are_named_once_and_can_be_taken_back(light: Store) -> None:
    light.keys.add("one")
    with pytest.raises(OptionError, match="already"):
        light.keys.add("one")
    with pytest.raises(OptionError, match="name"):
        light.keys.add("  ")
    assert [key.name for key in light.keys.all()] == ["one"]
    assert light.keys.remove("one")
    assert not light.keys.remove("one")


def test_beyond_this_machine_a_secret_is_needed() -> None:
    with pytest.raises(OptionError, match="USERALIGN_SECRET"):
        Settings(loopback=False)
    with pytest.raises(OptionError, match="at least 16"):
        Settings(secret="short")  # noqa: S106
    assert "secret" not in repr(Settings(secret=SECRET)).lower().replace("usersecret", "")


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.9.9.9", True), ("::", False),
     (ANYWHERE, False), ("192.168.0.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_what_is_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_large_body_is_refused_however_it_comes(light: Store) -> None:
    app = create_app(light, Settings(largest_body=1000))
    client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)

    def pieces() -> Iterator[bytes]:
        yield b'{"question": "'
        for _ in range(100):
            yield b"x" * 100
        yield b'"}'

    headers = {"content-type": "application/json"}
    whole = client.post("/api/pools", content=b"".join(pieces()), headers=headers)
    streamed = client.post("/api/pools", content=pieces(), headers=headers)
    for reply in (whole, streamed):
        assert reply.status_code == 413
        assert reply.headers["content-type"] == "application/problem+json"
    form = client.post("/you/allow", data={"remember": "x" * 5000})
    assert form.status_code == 413
    assert "Make it shorter" in form.text


def test_all_methods_that_are_safe_change_nothing(local: FastAPI, light: Store) -> None:
    browser = Browser(local)
    session = browser.begin().path.split("/")[2]
    before = rows(light)
    for method, path in table(local):
        if method in SAFE:
            browser.client.request(method, filled(path, session_id=session))
    assert rows(light) == before
