"""Trying again: exponential back-off with jitter, and no sooner than the service asks for."""

from __future__ import annotations

import asyncio
import email.utils
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from useralign.errors import ModelError, OptionError

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class TransientError(Exception):
    """Inside a call: it failed, but may well succeed when tried again.

    Parameters
    ----------
    final : ModelError
        What to raise when there are no tries left.
    after : float, optional
        Seconds that the service asks to wait.
    tries : int, optional
        How often this kind of failure is worth trying at most, the first time included.
    """

    def __init__(
        self, final: ModelError, after: float | None = None, tries: int | None = None
    ) -> None:
        super().__init__(str(final))
        self.final = final
        self.after = after
        self.tries = tries


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and when to try again.

    Parameters
    ----------
    tries : int
        At most so many, the first included.
    first : float
        Seconds before the second try; each wait after it is twice as long, and each is
        shortened by a random part of up to a half, so that many callers do not come back at
        the same moment.
    longest : float
        No wait of our own is longer, in seconds.
    patience : float
        When a service asks for a longer wait than this, in seconds, give up at once.
    """

    tries: int = 5
    first: float = 0.5
    longest: float = 20.0
    patience: float = 60.0

    def __post_init__(self) -> None:
        if self.tries < 1 or min(self.first, self.longest, self.patience) < 0:
            raise OptionError(f"{self}: expected at least one try and no negative time")

    def wait(self, tried: int, after: float | None, rng: random.Random) -> float:
        """Return the seconds to wait after so many tries.

        Parameters
        ----------
        tried : int
            At least 1.
        after : float or None
            What the service asked for.
        rng : random.Random
        """
        own = min(self.first * 2.0 ** (tried - 1), self.longest) * rng.uniform(0.5, 1.0)
        return max(own, after or 0.0)

    async def run(self, call: Callable[[], Awaitable[T]], rng: random.Random) -> T:
        """Await a call until it succeeds or there is no point in going on.

        Parameters
        ----------
        call : callable
            Starts one try; raises `TransientError` when another makes sense.
        rng : random.Random
            For the jitter.

        Raises
        ------
        ModelError
            The `final` error of the last try.
        """
        tried = 0
        while True:
            try:
                return await call()
            except TransientError as error:
                failure = error
            tried += 1
            wait = self.wait(tried, failure.after, rng)
            if tried >= min(self.tries, failure.tries or self.tries) or wait > self.patience:
                break
            await asyncio.sleep(wait)
        # Raised out here: a chained exception could hold a request, and with it a key.
        raise _with_count(failure, tried)


def _with_count(failure: TransientError, tried: int) -> ModelError:
    count = "once" if tried == 1 else f"{tried} times"
    asked = f"; it asks to wait {failure.after:g} s" if failure.after else ""
    return type(failure.final)(f"{failure.final} (tried {count}{asked})")


def seconds_of(header: str | None, now: datetime | None = None) -> float | None:
    """Read a Retry-After header: seconds or a date; None when there is nothing usable.

    Parameters
    ----------
    header : str or None
    now : datetime, optional
        Aware; the present by default.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            then = email.utils.parsedate_to_datetime(header)
        except ValueError:
            return None
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        seconds = (then - (now or datetime.now(UTC))).total_seconds()
    return seconds if 0 <= seconds < float("inf") else None
