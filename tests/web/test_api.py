"""The HTTP API, by example and by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from starlette.testclient import TestClient

from tests.web.browser import DINNER
from useralign import Pool, Session
from useralign.store import Store
from useralign.store.schema import steps
from useralign.web.app import create_app

THREE = {"question": "Which?", "texts": ["plain rice", "a hot curry", "a sweet cake"]}


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as opened:
        yield opened


@pytest.fixture
def quick(light: Store) -> Iterator[TestClient]:
    """The same where the database is not the point."""
    app = create_app(light)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as opened:
        yield opened


def begun(client: TestClient, pool: Any = None, **options: Any) -> dict[str, Any]:
    made = client.post("/api/pools", json=pool or THREE)
    assert made.status_code == 201, made.text
    body = {"pool": made.json()["id"], "seed": 1, "method": "useralign"} | options
    reply = client.post("/api/sessions", json=body)
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def is_problem(reply: Any, status: int) -> str:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert {"type", "title", "status", "detail", "instance"} <= body.keys()
    assert body["status"] == status
    assert "Traceback" not in reply.text
    return str(body["detail"])


def test_from_a_pool_to_a_result(client: TestClient) -> None:
    session = begun(client)
    place = f"/api/sessions/{session['id']}"
    while (now := client.get(f"{place}/comparison").json())["finished"] is None:
        shown = [item["id"] for item in now["candidates"]]
        winner = "c1" if "c1" in shown else shown[0]
        body = {"step": now["step"], "winner": winner, "milliseconds": 1200}
        reply = client.post(f"{place}/answers", json=body)
        assert reply.status_code == 200, reply.text
        assert reply.json()["step"] == now["step"] + 1
    result = client.get(f"{place}/result").json()
    assert result["answer"]["text"] == "a hot curry"
    assert result["finished"] == "bound"
    assert result["bound"] == 0.0
    assert result["viable"] == ["c1"]
    assert len(result["transcript"]) == result["cost"]
    assert "No other answer" in result["certainty"]


def test_it_does_what_the_library_does(quick: TestClient) -> None:
    features = [[0.1, 0.9], [0.5, -0.2], [-0.7, 0.3], [0.4, 0.4], [-0.1, -0.8]]
    session = begun(quick, {"question": "?", "features": features}, seed=3)
    place = f"/api/sessions/{session['id']}"
    here = Session(Pool.from_features(features, question="?"), seed=3)
    now = session["comparison"]
    while (pair := here.ask()) is not None:
        shown = {item["index"] for item in now["candidates"]}
        assert shown == {pair.first.index, pair.second.index}
        winner = max(shown)
        here.tell(winner)
        now = quick.post(f"{place}/answers", json={"step": now["step"], "winner": winner}).json()
        assert now["bound"] == pytest.approx(here.bound)
    assert quick.get(f"{place}/result").json()["answer"]["index"] == here.best.index


def test_a_shipped_question_needs_no_model(client: TestClient) -> None:
    made = client.post("/api/pools", json={"question": DINNER})
    assert made.status_code == 201
    assert len(made.json()["candidates"]) == 20
    assert made.json()["baseline"]["id"] == "baseline"
    assert made.headers["location"] == f"/api/pools/{made.json()['id']}"
    again = client.get(made.headers["location"])
    assert again.json() == made.json()


def test_a_question_for_a_model(client: TestClient) -> None:
    made = client.post("/api/pools", json={"question": "Which bicycle?"})
    assert made.status_code == 202
    assert made.json()["state"] in ("waiting", "making", "failed")
    found = client.get(made.headers["location"])
    assert found.status_code == 200
    unknown = client.post("/api/pools", json={"question": "Which?", "model": "nobody"})
    assert "GET /api/models" in is_problem(unknown, 422)
    assert client.get("/api/models").json() == []


@pytest.mark.parametrize("kind", ["choice", "skip", "equal", "stop"])
def test_twenty_at_once_are_one(client: TestClient, store: Store, kind: str) -> None:
    session = begun(client)
    body: dict[str, Any] = {"step": 0, "kind": kind}
    if kind == "choice":
        body["winner"] = session["comparison"]["candidates"][0]["index"]
    path = f"/api/sessions/{session['id']}/answers"
    with ThreadPoolExecutor(20) as crowd:
        replies = list(crowd.map(lambda _: client.post(path, json=body), range(20)))
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.text for reply in replies}) == 1
    with store.reading() as connection:
        rows = connection.execute(select(steps)).all()
    assert [row.kind for row in rows if row.kind is not None] == [kind]
    assert len(rows) == 2


def test_another_answer_to_an_answered_step(client: TestClient) -> None:
    session = begun(client)
    path = f"/api/sessions/{session['id']}/answers"
    one, other = (item["index"] for item in session["comparison"]["candidates"])
    first = client.post(path, json={"step": 0, "winner": one})
    assert client.post(path, json={"step": 0, "winner": one}).text == first.text
    assert "answered already" in is_problem(
        client.post(path, json={"step": 0, "winner": other}), 409
    )
    is_problem(client.post(path, json={"step": 0, "kind": "skip"}), 409)
    is_problem(client.post(path, json={"step": 9, "winner": one}), 409)
    is_problem(client.post(path, json={"step": -1, "winner": one}), 409)
    assert client.post(path, json={"step": 0, "winner": one}).text == first.text


def test_all_kinds_of_answers(client: TestClient) -> None:
    session = begun(client, {"question": DINNER}, shown=3)
    path = f"/api/sessions/{session['id']}/answers"
    shown = [item["id"] for item in session["comparison"]["candidates"]]
    assert len(shown) == 3
    is_problem(client.post(path, json={"step": 0, "kind": "ranking", "ranking": shown[:1]}), 422)
    is_problem(client.post(path, json={"step": 0, "kind": "ranking"}), 422)
    is_problem(client.post(path, json={"step": 0}), 422)
    is_problem(client.post(path, json={"step": 0, "winner": "baseline"}), 422)
    is_problem(client.post(path, json={"step": 0, "winner": True}), 422)
    is_problem(client.post(path, json={"step": 0, "kind": "undo"}), 409)
    is_problem(client.post(path, json={"step": 0, "kind": "remark", "text": ""}), 422)
    ranked = client.post(path, json={"step": 0, "kind": "ranking", "ranking": shown[::-1]})
    assert ranked.json()["cost"] == 1
    remark = {"step": 1, "kind": "remark", "text": "more vegetables, less meat"}
    assert client.post(path, json=remark).json()["step"] == 2
    assert client.post(path, json=remark).json()["step"] == 2
    for step, kind in enumerate(("neither", "equal", "undo", "skip", "stop"), start=2):
        reply = client.post(path, json={"step": step, "kind": kind})
        assert reply.status_code == 200, (kind, reply.text)
    assert reply.json()["finished"] == "stopped"
    assert reply.json()["candidates"] == []
    is_problem(client.post(path, json={"step": 7, "winner": shown[0]}), 422)
    transcript = client.get(f"/api/sessions/{session['id']}/result").json()["transcript"]
    assert [item["kind"] for item in transcript] == ["ranking", "remark", "neither", "skip"]
    assert client.delete(f"/api/sessions/{session['id']}").status_code == 204
    is_problem(client.get(f"/api/sessions/{session['id']}"), 404)


def test_wishes(client: TestClient) -> None:
    session = begun(client, {"question": DINNER}, shown=3)
    path = f"/api/sessions/{session['id']}"
    before = client.get(f"{path}/wishes").json()
    assert before["wishes"] == []
    chip = before["chips"][0]
    assert chip["text"] == "vegetarian"
    assert chip["hides"] == 11
    for text in ("", " ", None, "please"):
        is_problem(
            client.post(f"{path}/answers", json={"step": 0, "kind": "wish", "text": text}), 422
        )
    wish = {"step": 0, "kind": "wish", "text": "vegetarian"}
    first = client.post(f"{path}/answers", json=wish)
    assert first.json()["step"] == 1
    assert client.post(f"{path}/answers", json=wish).text == first.text
    (own,) = client.get(f"{path}/wishes").json()["wishes"]
    assert own["effect"] == "hiding 11 with meat or fish"
    assert len(own["hidden"]) == 11
    assert not set(own["hidden"]) & {shown["id"] for shown in first.json()["candidates"]}
    result = client.get(f"{path}/result").json()
    assert result["answer"]["id"] not in own["hidden"]
    assert not set(result["viable"]) & set(own["hidden"])
    unknown = {"step": 1, "kind": "withdraw", "text": "no nuts"}
    assert "no wish" in is_problem(client.post(f"{path}/answers", json=unknown), 422)
    back = {"step": 1, "kind": "withdraw", "text": "Vegetarian"}
    assert client.post(f"{path}/answers", json=back).json()["step"] == 2
    assert client.get(f"{path}/wishes").json()["wishes"] == []
    undone = client.post(f"{path}/answers", json={"step": 2, "kind": "undo"})
    assert undone.json()["step"] == 3
    assert len(client.get(f"{path}/wishes").json()["wishes"]) == 1


POOLS: list[tuple[dict[str, Any], str]] = [
    ({"question": ""}, "empty"),
    ({"question": "?", "texts": []}, "at least one"),
    ({"question": "?", "texts": ["a", "  "]}, "empty"),
    ({"question": "?", "texts": ["a\u0000"]}, "U+0000"),
    ({"question": "?", "texts": ["a"], "candidates": [{"text": "a"}]}, "one of them"),
    ({"question": "?", "candidates": [{"id": "a"}, {"id": "a"}], "features": [[0], [1]]}, "differ"),
    ({"question": "?", "texts": ["a", "b"], "features": [[0]]}, "one row per candidate"),
    ({"question": "?", "features": []}, ""),
    ({"question": "?", "features": [[]]}, ""),
    ({"question": "?", "features": [[0, 1], [0]]}, ""),
    ({"question": "?", "features": [[1e308], [-1e308]]}, ""),
    ({"question": "?", "features": [["x"]]}, "number"),
    ({"question": "?", "features": [[0.0], [1.0]], "normalise": "unit"}, "zeros"),
    ({"question": "?", "size": 1}, "greater than or equal to 2"),
    ({"question": "?", "unknown": 1}, "not permitted"),
    ({"texts": ["a", "b"]}, "Field required"),
    ({"question": "x" * 5000, "texts": ["a"]}, "4000"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "said"), POOLS, ids=range(len(POOLS)))
def test_pools_that_are_none(quick: TestClient, body: dict[str, Any], said: str) -> None:
    reply = quick.post("/api/pools", json=body)
    if body.get("features") == [[1e308], [-1e308]]:  # large, but usable
        assert reply.status_code == 201
        return
    assert said in is_problem(reply, 422)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000])
def test_numbers_that_are_none(quick: TestClient, text: str) -> None:
    headers = {"content-type": "application/json"}
    body = f'{{"question": "?", "features": [[{text}], [1.0]]}}'
    reply = quick.post("/api/pools", content=body, headers=headers)
    assert is_problem(reply, reply.status_code)
    assert reply.status_code in (400, 422)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"question": 1}']
)
def test_bodies_that_are_none(quick: TestClient, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    for path in ("/api/pools", "/api/sessions", "/api/sessions/x/answers"):
        reply = quick.post(path, content=body, headers=headers)
        assert reply.status_code in (400, 404, 422)
        is_problem(reply, reply.status_code)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "nobody"},
        {"epsilon": -1},
        {"epsilon": 99},
        {"epsilon": None, "method": "useralign"},
        {"budget": -1},
        {"budget": 1e300},
        {"shown": 10},
        {"seed": -1},
        {"seed": 2**70},
        {"options": {"delta": "x"}},
        {"options": {"norm_bound": -1}},
        {"options": {"nonsense": 1}},
        {"method": "useralign", "options": {"backend": "reference"}},
        {"options": {"answers": [[0, 1, 0]]}},
        {"method": "few", "options": {"limit": 10**9}},
        {"options": {"seed": 1}},
        {"options": {"pool": 1}},
        {"method": "oracle"},
        {"method": "oracle", "options": {"utilities": ["x"]}},
        {"method": "oracle", "options": {"utilities": [1, 2]}},
        {"pool": "nobody's"},
    ],
    ids=str,
)  # fmt: skip
def test_sessions_that_are_none(quick: TestClient, options: dict[str, Any]) -> None:
    pool = quick.post("/api/pools", json=THREE).json()["id"]
    reply = quick.post("/api/sessions", json={"pool": pool} | options)
    is_problem(reply, 404 if "pool" in options else 422)


def test_what_no_database_takes(client: TestClient) -> None:
    is_problem(client.post("/api/pools", json={"question": "?", "texts": ["a\u0000"]}), 422)
    is_problem(client.post("/api/pools", json={"question": "?\u0000", "texts": ["a"]}), 422)
    is_problem(client.post("/api/sessions", json={"pool": "\u0000"}), 422)
    is_problem(client.get("/api/pools/%00"), 404)
    odd = {"question": "\u200b\ufffd😀", "candidates": [{"text": "a", "id": "'; DROP TABLE"}]}
    assert client.post("/api/pools", json=odd).status_code == 201


@pytest.mark.parametrize("path", ["/api", "/api/nothing", "/api/pools/x", "/api/sessions/%00"])
def test_what_is_not_there(quick: TestClient, path: str) -> None:
    is_problem(quick.get(path), 404)


def test_a_method_that_is_not_offered(quick: TestClient) -> None:
    reply = quick.put("/api/pools", json={})
    is_problem(reply, 405)


def test_an_error_of_ours_is_a_problem_too(app: FastAPI) -> None:
    def broken() -> None:
        raise RuntimeError("an inside of ours")

    app.add_api_route("/api/broken", broken)
    app.add_api_route("/broken", broken)
    client = TestClient(app, base_url="http://localhost")
    reply = client.get("/api/broken")
    assert "inside" not in is_problem(reply, 500)
    assert reply.headers["x-content-type-options"] == "nosniff"
    page = client.get("/broken")
    assert page.status_code == 500
    assert "our mistake" in page.text
    assert "inside" not in page.text


def test_the_description_speaks_of_problems(quick: TestClient) -> None:
    described = quick.get("/openapi.json").json()
    assert described["info"]["title"] == "useralign"
    for path, verbs in described["paths"].items():
        assert path.startswith(("/api/", "/v1/"))
        for operation in verbs.values():
            assert operation["description"]
            kind = "problem+json" if path.startswith("/api/") else "json"
            assert f"application/{kind}" in operation["responses"]["422"]["content"]


def test_a_pool_is_deleted_with_what_was_told_over_it(light: Store) -> None:
    client = TestClient(create_app(light), base_url="http://localhost")
    body = {"question": "Which is quixotic?", "texts": ["a zucchini soup", "a cake"]}
    pool = client.post("/api/pools", json=body).json()["id"]
    session = client.post("/api/sessions", json={"pool": pool}).json()["id"]
    remark = {"step": 0, "kind": "remark", "text": "less perspicacious"}
    assert client.post(f"/api/sessions/{session}/answers", json=remark).status_code == 200
    assert client.delete(f"/api/pools/{pool}").status_code == 204
    assert client.delete(f"/api/pools/{pool}").status_code == 404
    assert client.get(f"/api/sessions/{session}").status_code == 404
    path = Path(str(light.url.database))
    whole = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert not [word for word in (b"quixotic", b"zucchini", b"perspicacious") if word in whole]
    shared = client.post("/api/pools", json={"question": DINNER}).json()["id"]
    assert client.delete(f"/api/pools/{shared}").status_code == 404


def test_a_deleted_session_leaves_no_remark_in_the_files(light: Store) -> None:
    client = TestClient(create_app(light), base_url="http://localhost")
    body = {"question": "?", "texts": ["a soup", "a cake"]}
    pool = client.post("/api/pools", json=body).json()["id"]
    session = client.post("/api/sessions", json={"pool": pool}).json()["id"]
    remark = {"step": 0, "kind": "remark", "text": "less perspicacious"}
    assert client.post(f"/api/sessions/{session}/answers", json=remark).status_code == 200
    assert client.delete(f"/api/sessions/{session}").status_code == 204
    path = Path(str(light.url.database))
    whole = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert b"perspicacious" not in whole
