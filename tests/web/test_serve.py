"""`useralign serve` as a process."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.commands import run, run_apart
from tests.web.browser import DINNER
from tests.web.server import running
from useralign.web.settings import settings_at

SECRET = "a secret of many letters"  # noqa: S105
ANYWHERE = "0.0.0.0"  # noqa: S104


def token_of(text: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', text)
    assert found
    return found[1]


def pair_of(text: str) -> list[str]:
    return re.findall(r'<div class="body" dir="auto">(.*?)</div>', text, re.DOTALL)


def test_a_session_outlives_the_server(store_url: str) -> None:
    cookies = httpx.Cookies()
    with running(store_url) as base, httpx.Client(base_url=base, follow_redirects=True) as client:
        form = {"form_token": token_of(client.get("/").text), "question": DINNER}
        page = client.post("/ask", data=form)
        path = page.url.path
        for step in range(3):
            told = {"form_token": form["form_token"], "step": str(step), "response": "0"}
            page = client.post(path, data=told)
            assert page.status_code == 200
        cookies.update(client.cookies)
    with running(store_url) as base:
        again = httpx.get(f"{base}{path}", cookies={"useralign": cookies["useralign"]})
        assert pair_of(again.text) == pair_of(page.text)
        assert httpx.get(f"{base}{path}").status_code == 404


def test_several_processes_share_one_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    with running(url, "--workers", "2") as base:
        limits = httpx.Limits(max_keepalive_connections=0)  # so that both workers are met
        with httpx.Client(base_url=base, limits=limits, timeout=60.0) as client:
            pool = client.post("/api/pools", json={"question": DINNER}).json()["id"]
            begin = {"pool": pool, "method": "useralign"}  # the preset ends sooner
            session = client.post("/api/sessions", json=begin).json()["id"]
            for step in range(8):
                now = client.get(f"/api/sessions/{session}/comparison").json()
                assert now["step"] == step
                body = {"step": step, "winner": now["candidates"][0]["index"]}
                reply = client.post(f"/api/sessions/{session}/answers", json=body)
                assert reply.status_code == 200, reply.text


def test_nothing_is_logged_about_who_came(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "useralign.cli", "serve", "--port", "0", "--no-open"]
    process = subprocess.Popen(
        [*command, "--database", f"sqlite:///{tmp_path / 'x.db'}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    base = line.removeprefix("useralign is at ").strip()
    assert base.startswith("http://127.0.0.1:")
    httpx.get(base)
    httpx.get(f"{base}nothing")
    httpx.post(f"{base}api/pools", json={})
    form = {"content-type": "multipart/form-data; boundary=a"}
    httpx.post(f"{base}ask", content=b"what somebody wrote", headers=form)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=20)[0]
    assert rest.replace("useralign: stopped", "").strip() == ""
    assert process.returncode == 130


@pytest.mark.parametrize(
    "options",
    [
        ("--host", ANYWHERE),
        ("--host", "::"),
        ("--behind-proxy",),
        ("--allowed-host", "ask.example.org"),
    ],
)
def test_no_way_in_from_elsewhere_without_a_secret(options: tuple[str, ...]) -> None:
    done = run("serve", "--port", "0", *options)
    assert done.returncode == 1
    assert "USERALIGN_SECRET" in done.stderr


def test_under_another_name_the_api_needs_a_key() -> None:
    assert settings_at("localhost", secret=None, hosts=["localhost"], trust_proxy=False).loopback
    settings = settings_at("localhost", secret=SECRET, hosts=["ask.example.org"], trust_proxy=False)
    assert not settings.loopback
    assert not settings.visitors_may_make


def test_a_secret_that_is_too_short(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("short\n", encoding="utf-8")
    done = run("serve", "--port", "0", "--host", ANYWHERE, "--secret-file", str(file))
    assert done.returncode == 1
    assert "at least 16" in done.stderr


def test_a_secret_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"\xff\xfe\x00 a secret of many bytes")
    done = run("serve", "--port", "0", "--secret-file", str(file))
    assert done.returncode == 1
    assert "is no text" in done.stderr


def test_from_elsewhere_the_api_needs_a_key(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    added = run("serve", "keys", "add", "mine", "--database", url)
    key = added.stdout.split()[0]
    assert key.startswith("ua_")
    assert "mine" in run("serve", "keys", "list", "--database", url).stdout
    assert key.encode() not in (tmp_path / "x.db").read_bytes()
    with running(url, "--host", ANYWHERE, USERALIGN_SECRET=SECRET) as base:
        here = base.replace(ANYWHERE, "127.0.0.1")
        assert httpx.get(f"{here}/").status_code == 200
        assert httpx.get(f"{here}/api/models").status_code == 401
        headers = {"authorization": f"Bearer {key}"}
        assert httpx.get(f"{here}/api/models", headers=headers).status_code == 200
        assert "was removed" in run("serve", "keys", "remove", "mine", "--database", url).stdout
        assert httpx.get(f"{here}/api/models", headers=headers).status_code == 401


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run_apart("serve", "--port", port, "--database", f"sqlite:///{tmp_path / 'x.db'}")
    assert done.returncode == 1
    assert "another --port" in done.stderr


def test_a_database_that_cannot_be_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder", encoding="utf-8")
    done = run_apart("serve", "--port", "0", "--database", f"sqlite:///{file}/x.db")
    assert done.returncode == 1
    assert done.stderr.startswith("useralign: ")


def test_without_the_extra(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'fastapi' else find(name, *rest)\n",
        encoding="utf-8",
    )
    done = run_apart(
        "serve", PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    assert done.returncode == 1
    assert "useralign[web]" in done.stderr
