"""What an answer and a page view cost after many answers, and who is served meanwhile.

    python -m benchmarks.cost [--methods frugal,few,useralign] [--answers 10,50,100,200] [--attack]

Somebody clicks at random in the application, over 20 shipped candidates and a SQLite file, and the
processor time of single requests is printed in milliseconds, the median of five. With `--attack`,
a server process then holds that session, 45 clients of one person ask for its page all the time,
and what is printed is how long `/healthz` takes meanwhile. Set OPENBLAS_NUM_THREADS=1, as the
server does for itself.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient

from useralign.domains import load
from useralign.store import digest, open_store, token
from useralign.web import Settings
from useralign.web.app import create_app

METHODS: dict[str, dict[str, Any]] = {
    "frugal": {"method": "frugal"},
    "few": {"method": "few"},
    "useralign": {"method": "useralign", "options": {"reask": True}},
}
ATTACKERS, SECONDS = 45, 20.0
PAUSE = 0.2  # seconds, so that what is measured is the server and not the clients


class Visitor:
    """Somebody with a browser and one endless session over a database.

    Parameters
    ----------
    folder : Path
    settings : dict
        Of the session.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.cookie = token()
        self.database = f"sqlite:///{folder / 'cost.db'}"
        self._store = open_store(self.database)
        rates = {"answers_per_minute": 1e9, "answers_at_once": 10**9, "asks_per_hour": 1e9}
        app = create_app(self._store, Settings(**rates))  # type: ignore[arg-type]
        if "views" in vars(app.state.limits):
            app.state.limits.views = app.state.limits.answers
        self._client = TestClient(
            app,
            "http://localhost",
            headers={"sec-fetch-dest": "empty"},
            cookies={"useralign": self.cookie},
        )
        pool = load("food64d").questions[0].pool()
        endless = {"seed": 1, "epsilon": None, "budget": 1000} | settings
        screen = app.state.live.create(self._store.pools.add(pool), digest(self.cookie), endless)
        self.path = f"/s/{screen.session_id}"
        self._random = random.Random(0)  # noqa: S311 - a person, not a secret
        self._page = self._client.get(self.path).text

    def answer(self) -> float:
        """Click on one at random and return the milliseconds of processor time."""
        data = {key: self._field(key) for key in ("form_token", "step")}
        places = re.findall(r'type="submit" name="response" value="(\d)"', self._page)
        data |= {"response": self._random.choice(places), "milliseconds": "900"}
        began = time.process_time()
        reply = self._client.post(self.path, data=data).raise_for_status()
        spent = 1000 * (time.process_time() - began)
        self._page = reply.text
        return spent

    def view(self) -> float:
        """Load the page again and return the milliseconds of processor time."""
        began = time.process_time()
        self._client.get(self.path).raise_for_status()
        return 1000 * (time.process_time() - began)

    def _field(self, name: str) -> str:
        return str(re.findall(rf'name="{name}" value="(\w+)"', self._page)[0])

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()


def measure(visitor: Visitor, lengths: list[int]) -> None:
    """Answer, and print what single requests cost at some lengths of the session."""
    answered = 0
    for length in lengths:
        while answered < length:
            visitor.answer()
            answered += 1
        views = [visitor.view() for _ in range(5)]
        answers = [visitor.answer() for _ in range(5)]
        answered += 5
        print(
            f"  after {length:3}: answer {statistics.median(answers):7.1f} ms, "
            f"view {statistics.median(views):7.1f} ms",
            flush=True,
        )


def attack(visitor: Visitor) -> None:
    """Ask for the page of a session many times at once, and print how `/healthz` fares."""
    command = [sys.executable, "-m", "useralign.cli", "serve", "--port", "0", "--no-open"]
    env = {**os.environ, "USERALIGN_DATABASE": visitor.database}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as server:
        try:
            line = next(line for line in server.stdout or () if "http://" in line)
            _besiege(re.findall(r"http://[^\s]+?:\d+", line)[0], visitor)
        finally:
            server.terminate()


def _besiege(address: str, visitor: Visitor) -> None:
    over, statuses = threading.Event(), []

    def ask() -> None:
        with httpx.Client(cookies={"useralign": visitor.cookie}, timeout=120) as client:
            while not over.is_set():
                with suppress(httpx.TransportError):  # the server is stopped at the end
                    statuses.append(client.get(address + visitor.path).status_code)
                time.sleep(PAUSE)

    attackers = [threading.Thread(target=ask, daemon=True) for _ in range(ATTACKERS)]
    for attacker in attackers:
        attacker.start()
    waits = []
    until = time.monotonic() + SECONDS
    with httpx.Client(timeout=120) as client:
        while time.monotonic() < until:
            began = time.monotonic()
            client.get(address + "/healthz").raise_for_status()
            waits.append(1000 * (time.monotonic() - began))
            time.sleep(0.05)
    over.set()
    for attacker in attackers:
        attacker.join()
    p95 = statistics.quantiles(waits, n=20)[-1] if len(waits) > 1 else waits[0]
    print(
        f"  /healthz with {ATTACKERS} clients: median {statistics.median(waits):.0f} ms, "
        f"p95 {p95:.0f} ms, {len(waits)} asked; pages {statuses.count(200)} answered, "
        f"{statuses.count(429)} told to come again, {len(statuses)} in all",
        flush=True,
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--answers", default="10,50,100,200")
    parser.add_argument("--attack", action="store_true")
    chosen = parser.parse_args()
    for name in chosen.methods.split(","):
        print(name)
        with tempfile.TemporaryDirectory() as folder:
            visitor = Visitor(Path(folder), METHODS[name])
            measure(visitor, [int(length) for length in chosen.answers.split(",")])
            visitor.close()
            if chosen.attack:
                attack(visitor)


if __name__ == "__main__":
    main()
