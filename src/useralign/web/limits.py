"""How fast someone may do something. A limit refuses before anything is stored, never after.

Counters are those of the library `limits`, by default in the memory of one process: with several
workers the limit is that of each, unless they share a storage. They are keyed by who is signed in
or, where nobody is, by a keyed hash of the network address under a key that is drawn at start and
never written down.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
from typing import TYPE_CHECKING

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from limits.storage import Storage
    from starlette.requests import Request

    from useralign.web.settings import Settings

DAY = 24 * 3600


class Limiter:
    """So many per key in a window of time that slides.

    Parameters
    ----------
    per_second : float
        How many are let through in the long run; 0 lets the burst through once a day.
    burst : int
        How many at once: the window is as long as these take in the long run.
    what : str
        What is limited, for the message.
    storage : Storage
        Where the counters are.
    """

    def __init__(self, per_second: float, burst: int, what: str, storage: Storage) -> None:
        seconds = math.ceil(max(1, burst) / per_second) if per_second > 0 else DAY
        amount = max(1, burst, round(per_second * seconds))
        self._item = RateLimitItemPerSecond(amount, seconds, namespace=what)
        self._window = SlidingWindowCounterRateLimiter(storage)
        self._what = what
        self._lock = threading.Lock()  # counters in memory are not safe between threads

    def take(self, key: str) -> None:
        """Count one.

        Raises
        ------
        HTTPException
            429 with Retry-After, if it is one too many.
        """
        with self._lock:
            if not self._window.hit(self._item, key):
                raise self._refusal(key)

    def check(self, key: str) -> None:
        """Raise as `take` does if one more would be too many, but count none."""
        with self._lock:
            if not self._window.test(self._item, key):
                raise self._refusal(key)

    def _refusal(self, key: str) -> HTTPException:
        reset = self._window.get_window_stats(self._item, key).reset_time
        wait = max(1, math.ceil(reset - time.time()))
        detail = f"Too many {self._what} at once. Try again in {wait} s."
        return HTTPException(429, detail, {"Retry-After": str(wait)})


class Limits:
    """All limits of one application.

    Parameters
    ----------
    settings : Settings
    storage : Storage, optional
        Where the counters are; in the memory of this process when not given.

    Attributes
    ----------
    answers : Limiter
        Per person.
    asks : Limiter
        New questions, pools and sessions, per visitor.
    tries : Limiter
        Wrong keys and passwords, per visitor: `check` before looking, `take` when it was wrong.
    """

    def __init__(self, settings: Settings, storage: Storage | None = None) -> None:
        storage = storage or MemoryStorage()
        minute, hour = 60.0, 3600.0
        self.answers = Limiter(
            settings.answers_per_minute / minute, settings.answers_at_once, "answers", storage
        )
        self.asks = Limiter(
            settings.asks_per_hour / hour, round(settings.asks_per_hour), "questions", storage
        )
        self.tries = Limiter(
            settings.tries_per_minute / minute, round(settings.tries_per_minute), "tries", storage
        )
        self._key = secrets.token_bytes(32)
        self._trust_proxy = settings.trust_proxy

    def visitor(self, request: Request) -> str:
        """Return a key for where a request comes from; it means nothing outside this process."""
        host = request.client.host if request.client else ""
        if self._trust_proxy:  # the last one is what the proxy itself saw
            host = request.headers.get("x-forwarded-for", host).rpartition(",")[2].strip()
        return hmac.new(self._key, host.encode(), hashlib.sha256).hexdigest()
