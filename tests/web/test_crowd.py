"""Workers of platforms: whom an id in the address opens nothing to, and who cannot fill a study."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI
from sqlalchemy import select
from starlette.testclient import TestClient

from tests.study.conftest import crowd_design, crowd_recruitment
from tests.web.test_study_pages import MTURK, PROLIFIC, Person
from useralign.store import Store
from useralign.store.schema import participants
from useralign.study import Studies
from useralign.web import Settings
from useralign.web.app import create_app

WORKERS = {"prolific": PROLIFIC, "mturk": MTURK}
IDS = {"PROLIFIC_PID": "5f0a", "STUDY_ID": "s1", "SESSION_ID": "x1"}
CODES = {
    "screened-out": "SCR33N",
    "quota-full": "FU11",
    "timed-out": "L8",
    "withdrawn": "W1TH",
    "returned": "R3T",
    "failed-check": "F41L",
}


def rows(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(select(participants).order_by(participants.c.number)))


def serve(store: Store, settings: Settings | None = None, **recruitment: Any) -> FastAPI:
    Studies(store).add(crowd_design(recruitment=crowd_recruitment(**recruitment)))
    return create_app(store, settings)


@pytest.mark.parametrize("query", WORKERS.values(), ids=WORKERS)
def test_knowing_a_workers_id_gives_nothing(store: Store, query: str) -> None:
    app = serve(store)
    victim, thief = Person(app), Person(app)
    victim.finish(victim.enter(query))
    token = victim.path.rpartition("/")[2]
    [before] = rows(store)
    other = query.replace("x1", "x2").replace("A1", "A2")
    for address in (query, other):
        page = thief.get(f"/study/small{address}")
        assert thief.reply.status_code == 409
        assert "begun elsewhere" in thief.reply.text
        assert token not in thief.reply.text
        assert "C0DE" not in thief.reply.text
        assert not page.has_form
        ids = dict(part.split("=") for part in address[1:].replace("%3A%2F%2F", "://").split("&"))
        for claimed in ("t" * 43, victim.client.cookies.get("useralign") or ""):
            thief.post("/study/small", {**ids, "token": claimed, "agree": "yes"})
            assert thief.reply.status_code == 409
    assert rows(store) == [before]


def test_a_worker_cannot_take_anothers_name(store: Store) -> None:
    app = serve(store)
    thief = Person(app)
    landing = thief.get("/study/small?PROLIFIC_PID=mine&STUDY_ID=s1&SESSION_ID=x9")
    fields = landing.fields | landing.boxes
    thief.post("/study/small", fields)
    thief.post("/study/small", fields | IDS)  # their own token, with somebody else's ids
    assert thief.reply.status_code == 409
    [row] = rows(store)
    assert row.recruitment["PROLIFIC_PID"] == "mine"


def test_recruitment_is_frozen_at_the_end(store: Store) -> None:
    app = serve(store)
    worker = Person(app)
    page = worker.enter(MTURK)
    worker.enter(MTURK.replace("A1", "A2"))
    assert rows(store)[0].recruitment["assignmentId"] == "A2"
    worker.finish(page)
    worker.enter(MTURK.replace("A1", "A3"))
    assert worker.reply.status_code == 200
    assert rows(store)[0].recruitment["assignmentId"] == "A2"


def test_two_workers_may_share_a_browser(light: Store) -> None:
    person = Person(serve(light))
    person.enter(PROLIFIC)
    first = person.path
    person.enter(PROLIFIC.replace("5f0a", "6b1b"))
    assert person.path != first
    person.enter(PROLIFIC)
    assert person.path == first


def test_the_cookie_reaches_into_the_frame(light: Store) -> None:
    app = serve(light, Settings(secret="a secret of many letters", loopback=False))  # noqa: S106
    client = TestClient(app, base_url="https://study.example.org")
    cookie = client.get(f"/study/small{MTURK}").headers["set-cookie"]
    assert cookie.endswith("; Partitioned")
    assert "samesite=none" in cookie.lower()
    assert "secure" in cookie.lower()
    assert "httponly" in cookie.lower()


def test_invented_ids_cannot_fill_a_study(store: Store) -> None:
    recruitment = crowd_recruitment(per_address=None)
    Studies(store).add(crowd_design(participants=8, recruitment=recruitment))
    app = create_app(store, Settings(trust_proxy=True))
    crook = Person(app)
    for number in range(300):
        ids = {"PROLIFIC_PID": f"made-up-{number}", "STUDY_ID": "s1", "SESSION_ID": f"x{number}"}
        crook.client.headers["x-forwarded-for"] = f"2001:db8::{number:x}"  # one household's
        crook.client.post("/study/small", data={**ids, "token": f"{number:043}", "agree": "yes"})
    assert len(rows(store)) == 2  # a quarter of eight
    honest = Person(app)
    honest.client.headers["x-forwarded-for"] = "198.51.100.7"
    assert honest.finish(honest.enter(PROLIFIC)).words["code"] == "C0DE"


def test_over_assignment_is_capped(light: Store) -> None:
    Studies(light).add(crowd_design(participants=8))
    app = create_app(light)
    for number in range(12):
        person = Person(app)
        person.enter(PROLIFIC.replace("5f0a", f"p{number}"))
        assert person.reply.status_code == (200 if number < 10 else 503)
    assert "return your submission on Prolific" in person.reply.text
    assert len(rows(light)) == 10


def test_other_studies_of_the_platform_are_refused(light: Store) -> None:
    person = Person(serve(light, task_ids=["s1", "H1"]))
    for query in (PROLIFIC, MTURK):
        assert person.get(f"/study/small{query}").has_form
        person.get(f"/study/small{query.replace('s1', 's2').replace('H1', 'H2')}")
        assert person.reply.status_code == 422
        assert "another study" in person.reply.text


def test_the_bare_link_is_closed(light: Store) -> None:
    person = Person(serve(light, link=True))
    assert not person.get("/study/small").has_form
    assert person.reply.status_code == 422
    assert "Open the study on Prolific / Mechanical Turk" in person.reply.text
    person.post("/study/small", {"token": "t" * 43, "agree": "yes"})
    assert person.reply.status_code == 422
    assert rows(light) == []
    design = crowd_design(slug="german", languages=["en", "de"], recruitment=crowd_recruitment())
    Studies(light).add(design)
    german = Person(create_app(light))
    german.client.headers["accept-language"] = "de"
    german.get("/study/german")
    assert '<html lang="de">' in german.reply.text
    assert "Öffnen Sie die Studie bei Prolific / Mechanical Turk" in german.reply.text


@pytest.mark.parametrize("outcome", ["declined", "returned", "withdrawn", "completed"])
def test_a_code_for_each_outcome(light: Store, outcome: str) -> None:
    person = Person(serve(light, codes=CODES | {"declined": "N0"}))
    if outcome == "declined":
        fields = person.get(f"/study/small{PROLIFIC}").fields
        person.post("/study/small", fields | {"decline": "yes"})
    else:
        page = person.enter(PROLIFIC)
        if outcome == "completed":
            person.finish(page)
        else:
            person.post(person.path, {"leave": outcome})
    code = {"declined": "N0", "completed": "C0DE"}.get(outcome) or CODES[outcome]
    if outcome == "completed" and "F41L" in person.reply.text:  # chose left at the check as well
        code = "F41L"
    address = f"https://app.prolific.com/submissions/complete?cc={code}"
    assert f'href="{address}" rel="noreferrer" data-forward' in person.reply.text
    assert f'<noscript><meta http-equiv="refresh" content="8; url={address}">' in person.reply.text
    assert [c for c in (*CODES.values(), "C0DE", "N0") if f">{c}<" in person.reply.text] == [code]


def test_failing_the_check_has_a_code_of_its_own(light: Store) -> None:
    app = serve(light, codes=CODES)
    for choice, code in (("Please choose this", "C0DE"), ("Please choose the other", "F41L")):
        person = Person(app)
        page = person.enter(PROLIFIC.replace("5f0a", code))
        while "outcome" not in page.words:
            where = [k for k, text in enumerate(page.options) if choice in text]
            page = person.answer(page, str(where[0] if where else 0))
        assert page.words["code"] == code


def test_the_end_shows_a_worker_no_private_code(light: Store) -> None:
    person = Person(serve(light))
    person.finish(person.enter(MTURK))
    assert "completion code" not in person.reply.text
    assert rows(light)[0].code is None


def test_quota_full_takes_its_code_back(light: Store) -> None:
    recruitment = crowd_recruitment(codes=CODES)
    Studies(light).add(crowd_design(participants=1, recruitment=recruitment))
    app = create_app(light)
    person = Person(app)
    for number in range(8):
        person.enter(PROLIFIC.replace("5f0a", f"p{number}"))
    assert person.reply.status_code == 503
    assert "submissions/complete?cc=FU11" in person.reply.text


class Platform:
    """What Prolific does: signs addresses with a key whose public half is for all to see."""

    def __init__(self, name: str = "k1") -> None:
        self.name = name
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        self.keys = {"keys": [{**public, "kid": name, "alg": "RS256", "use": "sig"}]}

    def sign(self, ids: dict[str, str], **changes: Any) -> str:
        claims = {
            "iss": "https://www.prolific.com",
            "aud": "http://localhost/study/small",
            "exp": time.time() + 300,
            "sub": ids["SESSION_ID"],
            "prolific": {**ids, "workspace_id": "w"},
        }
        return jwt.encode(claims | changes, self._key, "RS256", headers={"kid": self.name})


@pytest.fixture(scope="module")
def platform() -> Platform:
    return Platform()


def test_a_signed_address_opens_the_same_part_anywhere(light: Store, platform: Platform) -> None:
    app = serve(light, keys=platform.keys)
    query = f"{PROLIFIC}&prolific_token={platform.sign(IDS)}"
    one, other = Person(app), Person(app, cookies=False)
    one.answer(one.enter(query))
    other.enter(query)
    assert other.path == one.path
    assert len(rows(light)) == 1


def test_only_what_is_signed_opens(light: Store, platform: Platform) -> None:
    app = serve(light, keys=platform.keys)
    bad = {
        "unsigned": "",
        "another's key": Platform().sign(IDS),
        "unknown key": Platform("k2").sign(IDS),
        "another worker's": platform.sign(IDS | {"PROLIFIC_PID": "6b1b"}),
        "old": platform.sign(IDS, exp=time.time() - 3600),
        "endless": platform.sign(IDS, exp=None),
        "for another server": platform.sign(IDS, aud="https://evil.example"),
        "without ids": platform.sign(IDS, prolific=None),
        "no signature": jwt.encode({"prolific": IDS}, "", "none", headers={"kid": "k1"}),
        "not a token": "abc",
    }
    person = Person(app)
    for why, signature in bad.items():
        person.get(f"/study/small{PROLIFIC}&prolific_token={signature}")
        assert person.reply.status_code == 422, why
        fields = {**IDS, "prolific_token": signature, "token": "t" * 43, "agree": "yes"}
        person.post("/study/small", fields)
        assert person.reply.status_code == 422, why
    assert rows(light) == []


def test_keys_at_an_address(light: Store, platform: Platform) -> None:
    asked: list[str] = []

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(platform.keys).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        app = serve(light, keys=f"http://127.0.0.1:{server.server_port}/jwks.json")
        person = Person(app)
        for number in range(3):
            ids = IDS | {"PROLIFIC_PID": f"p{number}"}
            signed = platform.sign(ids)
            person.enter(f"{PROLIFIC.replace('5f0a', f'p{number}')}&prolific_token={signed}")
            assert person.reply.status_code == 200
        server.shutdown()
    assert asked == ["/jwks.json"]
    person.get(f"/study/small{PROLIFIC}&prolific_token={Platform('k2').sign(IDS)}")
    assert person.reply.status_code == 422  # and an unknown key does not make it ask again
    assert len(asked) == 1


def test_keys_that_cannot_be_fetched(light: Store, platform: Platform) -> None:
    person = Person(serve(light, keys="http://127.0.0.1:1/jwks.json"))
    person.get(f"/study/small{PROLIFIC}&prolific_token={platform.sign(IDS)}")
    assert person.reply.status_code == 503
    assert "try again" in person.reply.text
    person.get(f"/study/small{PROLIFIC.replace('5f0a', '')}")
    assert "The address lacks PROLIFIC_PID" in person.reply.text


def test_workers_are_refused_in_their_own_language(light: Store) -> None:
    Studies(light).add(crowd_design(languages=["en", "de"]))
    person = Person(create_app(light))
    person.client.headers["accept-language"] = "de"
    for query, words in (
        (PROLIFIC.replace("5f0a", ""), "In der Adresse fehlt PROLIFIC_PID"),
        (MTURK.replace("workersandbox.mturk.com", "evil.example"), "muss https://workersandbox."),
        ("?invitation=guest", "Diese Einladung gilt nicht"),
    ):
        person.get(f"/study/small{query}")
        assert (person.reply.status_code, words in person.reply.text) == (422, True), query
