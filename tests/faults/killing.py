"""People who answer while the server is killed again and again; what was acknowledged is kept."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

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


def person(address: str, log: Log, over: threading.Event, seed: int) -> None:
    """Go through session after session, sending each answer until it is acknowledged."""
    rng = random.Random(seed)
    with httpx.Client(base_url=address, timeout=5.0) as client:
        while not over.is_set():
            _session(client, log, over, rng)


def _session(client: httpx.Client, log: Log, over: threading.Event, rng: random.Random) -> None:
    made = _post(client, over, "/api/pools", {"question": "Which?", "texts": TEXTS})
    if made is None:
        return
    body = {"pool": made["id"], "seed": rng.randrange(10**6)}
    body |= {"method": "useralign"} if rng.random() < 0.5 else {}  # else the preset
    begun = _post(client, over, "/api/sessions", body)
    if begun is None:
        return
    log.sessions += 1
    name, screen = begun["id"], begun["comparison"]
    while not screen["finished"] and not over.is_set():
        winner = rng.choice(screen["candidates"])["index"]
        answer = {"step": screen["step"], "winner": winner}
        reply = _post(client, over, f"/api/sessions/{name}/answers", answer, log)
        if reply is None:
            return
        log.acknowledged[name, screen["step"]] = winner
        screen = reply


def _post(
    client: httpx.Client,
    over: threading.Event,
    path: str,
    body: dict[str, Any],
    log: Log | None = None,
) -> dict[str, Any] | None:
    """Send until there is an answer; None when all is over or the server refuses."""
    while not over.is_set():
        try:
            reply = client.post(path, json=body)
        except httpx.TransportError:
            time.sleep(0.02)
            continue
        if reply.is_success:
            content: dict[str, Any] = reply.json()
            return content
        if log is not None:
            log.conflicts.append(reply.text)
        return None
    return None


def kill_often(database: str, kills: int, people: int, seed: int) -> Log:
    """Let people answer, kill the server at random moments, and return what it acknowledged."""
    rng, log, over = random.Random(seed), Log(), threading.Event()
    with Server(database) as server:
        threads = [
            threading.Thread(target=person, args=(server.address, log, over, seed + n))
            for n in range(people)
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in range(kills):
                _wait(log, len(log.acknowledged) + rng.randrange(1, 12))
                time.sleep(rng.uniform(0.0, 0.05))
                server.kill()
                server.start()
            _wait(log, len(log.acknowledged) + people)
        finally:
            over.set()
            for thread in threads:
                thread.join()
    return log


def _wait(log: Log, count: int) -> None:
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
