"""People who answer while the server, or its database, is killed; what was acknowledged is kept."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from sqlalchemy import select

from tests.servers import Server
from useralign.store import open_store
from useralign.store.schema import steps

TEXTS = [f"Answer number {k}, which is like no other: {k * 7919 % 101}." for k in range(12)]


@dataclass
class Log:
    """What the server said it had taken: (session, step) to the winner."""

    acknowledged: dict[tuple[str, int], int] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    sessions: int = 0
    away: list[str] = field(default_factory=list)  # why the server could not take something
    pauses: list[float] = field(default_factory=list)  # seconds from a start to the next answer


class Victim(Protocol):
    """What can be killed and started again."""

    def kill(self) -> None:
        """End it without a warning."""

    def start(self) -> None:
        """Start it, and wait until it answers."""


@dataclass
class Person:
    """Somebody who goes through session after session, each answer until it is acknowledged.

    Parameters
    ----------
    address : str
        Of the server.
    log : Log
    over : Event
        When to stop.
    seed : int
    keys : list of str
        Of the API, one for each session: many applications, so that none asks too much.
    pause : float
        Seconds after each answer.
    """

    address: str
    log: Log
    over: threading.Event
    seed: int
    keys: list[str]
    pause: float = 0.0

    def go_on(self) -> None:
        """Answer until it is over."""
        rng = random.Random(self.seed)
        with httpx.Client(base_url=self.address, timeout=5.0) as client:
            while not self.over.is_set():
                client.headers["authorization"] = f"Bearer {rng.choice(self.keys)}"
                self._hold_session(client, rng)

    def _hold_session(self, client: httpx.Client, rng: random.Random) -> None:
        made = self._post(client, "/api/pools", {"question": "Which?", "texts": TEXTS})
        if made is None:
            return
        body = {"pool": made["id"], "seed": rng.randrange(10**6)}
        body |= {"method": "useralign"} if rng.random() < 0.5 else {}  # else the preset
        begun = self._post(client, "/api/sessions", body)
        if begun is None:
            return
        self.log.sessions += 1
        name, screen = begun["id"], begun["comparison"]
        while not screen["finished"] and not self.over.is_set():
            winner = rng.choice(screen["candidates"])["index"]
            answer = {"step": screen["step"], "winner": winner}
            reply = self._post(client, f"/api/sessions/{name}/answers", answer)
            if reply is None:
                return
            self.log.acknowledged[name, screen["step"]] = winner
            screen = reply
            self.over.wait(self.pause)

    def _post(self, client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send until there is an answer; None when all is over or the server refuses."""
        while not self.over.is_set():
            try:
                reply = client.post(path, json=body)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if reply.is_success:
                content: dict[str, Any] = reply.json()
                return content
            if reply.status_code != 503 or "retry-after" not in reply.headers:
                self.log.conflicts.append(reply.text)
                return None
            self.log.away.append(reply.json()["detail"])
            time.sleep(0.02)
        return None


@contextmanager
def answering(
    database: str, people: int, seed: int, pause: float = 0.0
) -> Iterator[tuple[Server, Log]]:
    """Let people answer at a server until the end; yield it and what it acknowledged so far."""
    log, over, store = Log(), threading.Event(), open_store(database)
    keys = [store.keys.add(f"application {number}") for number in range(50)]
    store.close()
    with Server(database) as server:
        crowd = [Person(server.address, log, over, seed + n, keys, pause) for n in range(people)]
        threads = [threading.Thread(target=one.go_on) for one in crowd]
        for thread in threads:
            thread.start()
        try:
            yield server, log
            wait(log, len(log.acknowledged) + people)
        finally:
            over.set()
            for thread in threads:
                thread.join()


def kill_often(
    database: str, kills: int, people: int, seed: int, victim: Victim | None = None
) -> Log:
    """Let people answer, kill the server at random moments, and return what it acknowledged.

    Another victim, the database, stays away until somebody was told so.
    """
    rng = random.Random(seed)
    with answering(database, people, seed) as (server, log):
        for _ in range(kills):
            wait(log, len(log.acknowledged) + rng.randrange(1, 12))
            time.sleep(rng.uniform(0.0, 0.05))
            refused = len(log.away)
            (victim or server).kill()
            while victim is not None and len(log.away) == refused:
                time.sleep(0.005)
            (victim or server).start()
            began = time.monotonic()
            wait(log, len(log.acknowledged) + 1)
            log.pauses.append(time.monotonic() - began)
    return log


def wait(log: Log, count: int) -> None:
    """Wait until so many answers are acknowledged."""
    end = time.monotonic() + 120
    while len(log.acknowledged) < count:
        assert time.monotonic() < end, f"no answers any more; refused: {log.conflicts[:3]}"
        time.sleep(0.005)


def lost(database: str, log: Log) -> list[tuple[str, int]]:
    """Return what was acknowledged and is not in the database, or is there otherwise."""
    store = open_store(database)
    with store.reading() as connection:
        rows = connection.execute(select(steps).where(steps.c.kind.is_not(None))).all()
    store.close()
    kept = {(row.session_id, row.number): _winner(row.told["answer"]) for row in rows}
    return [key for key, winner in log.acknowledged.items() if kept.get(key) != winner]


def _winner(answer: list[int] | dict[str, int]) -> int:
    """Return the winner of a stored choice: of a pair, or of a larger screen."""
    return answer["winner"] if isinstance(answer, dict) else answer[2]


def broken(database: str) -> list[str]:
    """Return the sessions whose steps are not 0, 1, ... with only the last unanswered."""
    store = open_store(database)
    with store.reading() as connection:
        rows = connection.execute(select(steps).order_by(steps.c.session_id, steps.c.number)).all()
    store.close()
    by_session: dict[str, list[tuple[int, bool]]] = {}
    for row in rows:
        by_session.setdefault(row.session_id, []).append((row.number, row.kind is None))
    return [
        name
        for name, seen in by_session.items()
        if seen != [(n, n == len(seen) - 1) for n in range(len(seen))]
    ]
