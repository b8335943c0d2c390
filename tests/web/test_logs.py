"""Logs: nothing of anybody in any line, one line per fault, and no more than so many."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from starlette.responses import StreamingResponse
from starlette.testclient import TestClient

from tests.web.browser import Browser
from useralign.store import Store
from useralign.web.app import create_app
from useralign.web.logs import MOST_LINES, SECONDS, Bounded, OneLine
from useralign.web.security import BrokenReplyError

QUESTION = "What would Zebulon like for dinner?"
ANSWERS = "\n".join(f"quixotic {dish} with zucchini" for dish in ("soup", "cake", "tea", "stew"))
WORKER = "5f3a9c0e77d1b2a4c6e8f001"
PERSONAL = ("Zebulon", "quixotic", "zucchini", WORKER)


class Lines(logging.Handler):
    """What the server would write."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(OneLine())
        self.addFilter(Bounded())
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def check(self, *tokens: str) -> None:
        whole = "\n".join(self.lines)
        assert self.lines
        assert not [word for word in (*PERSONAL, *tokens) if word in whole], whole
        assert not [line for line in self.lines if "\n" in line or "Traceback" in line]


@pytest.fixture
def log() -> Iterator[Lines]:
    handler, root = Lines(), logging.getLogger()
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)


def fill_disk(store: Store) -> None:
    """Leave no room for a pool: a page limit, or an error of PostgreSQL that repeats the row."""
    if store.sqlite:

        @event.listens_for(store.engine, "checkout")
        def limit(connection: object, *_: object) -> None:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()  # type: ignore[attr-defined]
            connection.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[attr-defined]

        return
    with store.writing() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION "
                "'no room for %', NEW USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
            )
        )
        for table in ("pools", "steps"):
            connection.execute(
                text(
                    f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} "
                    "FOR EACH ROW EXECUTE FUNCTION full_disk()"
                )
            )


def make_room(store: Store) -> None:
    if not store.sqlite:
        with store.writing() as connection:
            connection.execute(text("DROP FUNCTION full_disk CASCADE"))


def test_a_full_disk(app: FastAPI, store: Store, log: Lines) -> None:
    browser = Browser(app)
    session = browser.post("/ask", question=QUESTION, list=ANSWERS)
    assert session.status == 200
    answers = browser.client.cookies["useralign"]
    fill_disk(store)
    long = ANSWERS + "\n" + "\n".join(f"quixotic {n} {'zucchini ' * 400}" for n in range(30))
    replies = [browser.post("/ask", session.token, question=QUESTION, list=long) for _ in range(5)]
    make_room(store)
    for reply in replies:
        assert reply.status == 503, reply.text
        assert int(reply.headers["retry-after"]) > 0
        assert "disk is full" in reply.text
        assert not [word for word in ("53100", "SQLITE", "INSERT") if word in reply.text]
    log.check(answers, session.path.split("/")[-1])
    assert len(log.lines) == 1, log.lines


def test_a_database_that_is_away(
    app: FastAPI, store: Store, log: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(app)
    session = browser.post("/ask", question=QUESTION, list=ANSWERS)

    def away() -> None:
        statement = "SELECT 1"
        raise OperationalError(statement, {"worker": WORKER}, OSError(f"no way to {QUESTION}"))

    monkeypatch.setattr(store.engine, "connect", away)
    page = f"/study/dinner?PROLIFIC_PID={WORKER}&STUDY_ID=a&SESSION_ID=b"
    for path in (session.path, "/you", "/healthz", page, "/api/sessions/x", "/making/x"):
        for _ in range(5):
            reply = browser.get(path)
            assert (reply.status, reply.headers["retry-after"]) == (503, "5"), path
            assert "Zebulon" not in reply.text
    log.check(browser.client.cookies["useralign"], session.path.split("/")[-1])
    assert len(log.lines) == 1, log.lines


def test_a_mistake_of_ours(light: Store, log: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(light)
    browser = Browser(app)
    session = browser.post("/ask", question=QUESTION, list=ANSWERS)

    def mistaken(*_: object) -> None:
        raise ValueError(f"{QUESTION} {ANSWERS} {session.path}")

    monkeypatch.setattr(app.state.live, "open", mistaken)
    for _ in range(3):
        assert browser.get(session.path).status == 500
    log.check(browser.client.cookies["useralign"], session.path.split("/")[-1])
    assert len(log.lines) == 1
    assert "GET /s/{session_id}: ValueError at" in log.lines[0]


def test_a_reply_that_breaks_off(light: Store, log: Lines) -> None:
    app = create_app(light)

    def pieces() -> Iterator[str]:
        yield "a beginning"
        raise ValueError(QUESTION)

    app.add_api_route("/broken/{worker}", lambda: StreamingResponse(pieces()))
    client = TestClient(app, base_url="http://localhost")
    with pytest.raises(BrokenReplyError):
        client.get(f"/broken/{WORKER}")
    log.check()
    assert "GET /broken/{worker}: ValueError" in log.lines[0]


def test_lines_that_repeat_are_counted() -> None:
    clock = [0.0]
    bounded = Bounded(lambda: clock[0])
    record = logging.makeLogRecord({"name": "asyncio", "msg": "socket.accept() failed %s"})
    assert [bounded.filter(record) for _ in range(1000)] == [True] + [False] * 999
    others = [logging.makeLogRecord({"name": "x", "msg": f"line {n}"}) for n in range(1000)]
    assert sum(map(bounded.filter, others)) == MOST_LINES - 1
    clock[0] += SECONDS
    again = logging.makeLogRecord({"name": "asyncio", "msg": "socket.accept() failed %s"})
    assert bounded.filter(again)
    assert OneLine().format(again).endswith("(999 more like it before)")


def test_what_other_libraries_are_told_stays_with_them() -> None:
    told = {"name": "psycopg", "msg": "error in %s: %s", "args": ("x", QUESTION)}
    assert QUESTION not in OneLine().format(logging.makeLogRecord(told))
    message = f"Task exception was never retrieved\nfuture: <Task exception=ValueError({QUESTION})>"
    line = OneLine().format(logging.makeLogRecord({"name": "asyncio", "msg": message}))
    assert line.endswith("Task exception was never retrieved")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_secret_is_in_the_environment_of_workers(tmp_path: Path, workers: str) -> None:
    secret, name = "a secret of many letters", "a-name-of-a-database"
    file = tmp_path / "secret"
    file.write_text(secret, encoding="utf-8")
    command = [sys.executable, "-m", "useralign.cli", "serve", "--port", "0", "--no-open"]
    process = subprocess.Popen(
        [*command, "--workers", workers, "--secret-file", str(file)],
        env=os.environ
        | {"USERALIGN_DATABASE": f"sqlite:///{tmp_path / name}.db", "USERALIGN_SECRET": secret},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().removeprefix("useralign is at ").strip()
        assert httpx.get(address, timeout=60).status_code == 200
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) >= (2 if workers == "2" else 0)
        for child in children:
            for kind in ("environ", "cmdline"):
                shown = Path(f"/proc/{child}/{kind}").read_bytes()
                assert secret.encode() not in shown
                assert name.encode() not in shown
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
