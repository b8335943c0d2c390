"""How fast someone may do something, and how much at once.

A limit refuses before anything is stored, never after.

One is counted by one statement in the database, so that threads, workers and servers share a limit.
The database knows whom it counts for by a keyed hash alone, under a key that follows from the
server's secret, and forgets it when it does not count any more. (Without a secret all visitors
come from this machine.)
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import math
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Annotated
from weakref import WeakValueDictionary

from anyio import Semaphore
from fastapi import Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - the framework reads the annotation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from useralign.store import Store
    from useralign.web.settings import Settings

DAY = 24 * 3600
# Requests of one person, or for one session through the API. One after another, so that a session
# that is not in memory is replayed once, however many ask for it.
AT_ONCE, WAITING = 1, 24
# Many people may share an address, or a proxy that is not believed.
AT_ONCE_AN_ADDRESS, WAITING_AN_ADDRESS = 4, 256


class Limiter:
    """So many per key at once, and so many in the long run.

    A rate of 0 lets the burst through once a day, infinity everything. `what` is limited, for the
    message; the names of those counted for are hashed with `key`.
    """

    def __init__(
        self, per_second: float, burst: float, what: str, store: Store, key: bytes
    ) -> None:
        self._unlimited = math.isinf(per_second)
        self._burst = 1 if self._unlimited else max(1, round(burst))
        self._interval = 1.0 / per_second if per_second > 0 else DAY / self._burst
        self._what = what
        self._counters = store.rate_limits
        self._key = key

    def take(self, who: str) -> None:
        """Count one, or raise 429 with Retry-After if it is one too many."""
        if self._unlimited:
            return
        wait = math.ceil(self._counters.take(self._name(who), self._interval, self._burst))
        if wait:
            detail = f"Too many {self._what} at once. Try again in {wait} s."
            raise HTTPException(429, detail, {"Retry-After": str(wait)})

    def give_back(self, who: str) -> None:
        """Count one less: it was none of those that are limited."""
        self._counters.give_back(self._name(who), self._interval)

    def _name(self, who: str) -> str:
        return hmac.new(self._key, f"{self._what} {who}".encode(), hashlib.sha256).hexdigest()


class Turns:
    """How many requests of one key are worked on at once. Some more wait; the rest are refused.

    Who waits holds no thread, so that others are served meanwhile.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._waiting = at_once, waiting
        # Those of the keys that somebody works or waits for.
        self._semaphores: WeakValueDictionary[object, Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the end; 429 if too many wait already."""
        loop = asyncio.get_running_loop()  # a semaphore cannot wake who waits in another one
        semaphore = self._semaphores.setdefault((key, loop), Semaphore(self._at_once))
        if not semaphore.value and semaphore.statistics().tasks_waiting >= self._waiting:
            detail = "Too many requests at once. Try again in 1 s."
            raise HTTPException(429, detail, {"Retry-After": "1"})
        async with semaphore:
            yield


async def one_by_one(request: Request) -> AsyncIterator[None]:
    """Let one request at once compute for a browser, and for the session or participant named."""
    cookie, path = request.cookies.get("useralign"), request.path_params
    people = {cookie, path.get("session_id"), path.get("token")}
    async with AsyncExitStack() as turns:
        for person in sorted(filter(None, people)):  # in one order, so that no two block each other
            await turns.enter_async_context(request.app.state.limits.turns.turn(person))
        yield


async def in_turn(request: Request, _: Annotated[None, Depends(one_by_one)]) -> AsyncIterator[None]:
    """Let few requests at once compute for one address, besides."""
    limits: Limits = request.app.state.limits
    async with limits.turns_of_address.turn(limits.visitor(request)):
        yield


class Limits:
    """All limits of one application."""

    def __init__(self, settings: Settings, store: Store) -> None:
        key = hashlib.sha256(f"limits {settings.secret}".encode()).digest()

        def limiter(per_second: float, burst: float, what: str) -> Limiter:
            return Limiter(per_second, burst, what, store, key)

        answers, asks = settings.answers_per_minute, settings.asks_per_hour
        views, tries = settings.views_per_minute, settings.tries_per_minute
        self.answers = limiter(answers / 60, settings.answers_at_once, "answers")  # per person
        self.views = limiter(views / 60, views / 2, "views")  # of pages of sessions, per person
        # New questions, pools and sessions, per visitor.
        self.asks = limiter(asks / 3600, asks, "questions")
        # Keys and passwords, per visitor: `take` before looking, `give_back` when it was right.
        self.tries = limiter(tries / 60, tries, "tries")
        # Requests that compute, per person and per visitor.
        self.turns = Turns(AT_ONCE, WAITING)
        self.turns_of_address = Turns(AT_ONCE_AN_ADDRESS, WAITING_AN_ADDRESS)
        self._limiter = limiter
        self._trust_proxy = settings.trust_proxy

    def newcomers(self, study: str, most: int, seconds: float) -> Limiter:
        """Return the limiter of a study's new participants: so many per visitor in so long."""
        return self._limiter(most / seconds, most, f"new participants from your network in {study}")

    def visitor(self, request: Request) -> str:
        """Return where a request comes from; to be handed to a limiter, and to nothing else."""
        host = request.client.host if request.client else ""
        if self._trust_proxy:  # the last one is what the proxy itself saw
            host = request.headers.get("x-forwarded-for", host).rpartition(",")[2].strip()
        try:  # the network of an IPv6 address, since one household has 2^64 of them
            return str(ipaddress.IPv6Network((host, 64), strict=False))
        except ValueError:
            return host
