"""How fast someone may do something. A limit refuses before anything is stored, never after.

Counters live in the memory of one process: with several workers the limit is that of each. They
are keyed by who is signed in or, where nobody is, by a keyed hash of the network address under a
key that is drawn at start and never written down.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from useralign.web.settings import Settings

MOST_KEYS = 20_000


class Limiter:
    """A bucket of permissions for each key, refilled at a steady rate.

    Parameters
    ----------
    per_second : float
        How many permissions flow in.
    burst : int
        How many a full bucket holds.
    what : str
        What is limited, for the message.
    clock : callable
        Returns a time in seconds that never goes back.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        what: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = per_second
        self._burst = float(max(1, burst))
        self._what = what
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, key: str) -> None:
        """Use one permission.

        Raises
        ------
        HTTPException
            429 with Retry-After, if there is none left.
        """
        self.check(key)
        with self._lock:
            self._buckets[key] = (self._level(key) - 1.0, self._clock())

    def check(self, key: str) -> None:
        """Raise as `take` does if there is no permission left, but use none."""
        with self._lock:
            if len(self._buckets) > MOST_KEYS:
                self._forget_full()
            level = self._level(key)
        if level < 1.0:
            wait = math.ceil((1.0 - level) / self._rate) if self._rate > 0 else 3600
            raise HTTPException(
                429,
                f"Too many {self._what} at once. Try again in {wait} s.",
                {"Retry-After": str(wait)},
            )

    def _level(self, key: str) -> float:
        level, at = self._buckets.get(key, (self._burst, self._clock()))
        return min(self._burst, level + (self._clock() - at) * self._rate)

    def _forget_full(self) -> None:
        self._buckets = {
            key: value for key, value in self._buckets.items() if self._level(key) < self._burst
        }


class Limits:
    """All limits of one application.

    Attributes
    ----------
    answers : Limiter
        Per person.
    asks : Limiter
        New questions, pools and sessions, per visitor.
    tries : Limiter
        Wrong keys and passwords, per visitor: `check` before looking, `take` when it was wrong.
    """

    def __init__(self, settings: Settings) -> None:
        minute, hour = 60.0, 3600.0
        self.answers = Limiter(
            settings.answers_per_minute / minute, settings.answers_at_once, "answers"
        )
        self.asks = Limiter(
            settings.asks_per_hour / hour, round(settings.asks_per_hour), "questions"
        )
        self.tries = Limiter(
            settings.tries_per_minute / minute, round(settings.tries_per_minute), "tries"
        )
        self._key = secrets.token_bytes(32)
        self._trust_proxy = settings.trust_proxy

    def visitor(self, request: Request) -> str:
        """Return a key for where a request comes from; it means nothing outside this process."""
        host = request.client.host if request.client else ""
        if self._trust_proxy:  # the last one is what the proxy itself saw
            host = request.headers.get("x-forwarded-for", host).rpartition(",")[2].strip()
        return hmac.new(self._key, host.encode(), hashlib.sha256).hexdigest()
