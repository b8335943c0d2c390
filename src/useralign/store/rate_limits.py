"""How much of a limit is used up: one row, changed by one statement, for all processes.

What is kept is the time at which everything that was taken would have been due, had it come evenly
at the speed that is allowed (the generic cell rate algorithm). Times are the database's.
"""

from __future__ import annotations

from sqlalchemy import case, delete, select, update

from useralign.store.database import Part, insert_for
from useralign.store.schema import rate_limits

_ROUNDING = 0.001  # seconds; SQLite's clock has milliseconds


class RateLimits(Part):
    """The counters of a database. They need not outlive a power cut."""

    def take(self, key: str, interval: float, burst: int) -> float:
        """Count one, unless it is one too many; return 0, or the seconds until there is room.

        `key` is whom and what it counts for, at most 64 characters; `interval` the seconds from one
        to the next in the long run, `burst` how many at once.
        """
        now, window = self._database.time, interval * burst + _ROUNDING
        until = rate_limits.c.until
        # What lies further ahead than can be was written before the clock was set back.
        used = case((until.between(now, now + window), until), else_=now)
        with self._database.writing(lasting=False) as connection:
            count = (
                insert_for(connection, rate_limits)
                .values(id=key, until=now + interval)
                .on_conflict_do_update(
                    index_elements=["id"],
                    set_={"until": used + interval},
                    where=used + interval <= now + window,
                )
                .returning(until)
            )
            if connection.execute(count).first() is not None:
                return 0.0
            wait = select(until + interval - window - now).where(rate_limits.c.id == key)
            return max(_ROUNDING, connection.execute(wait).scalar() or 0.0)

    def give_back(self, key: str, interval: float) -> None:
        """Count one less."""
        which = rate_limits.c.id == key
        less = update(rate_limits).where(which).values(until=rate_limits.c.until - interval)
        self._database.change(less, lasting=False)

    def block(self, key: str, seconds: float) -> None:
        """Let nothing pass under a key for so long."""
        end = self._database.time + seconds
        with self._database.writing() as connection:
            new = insert_for(connection, rate_limits).values(id=key, until=end)
            connection.execute(
                new.on_conflict_do_update(index_elements=["id"], set_={"until": end})
            )

    def is_blocked(self, key: str) -> bool:
        """Return whether nothing passes under a key now."""
        now = rate_limits.c.until > self._database.time
        query = select(rate_limits.c.id).where(rate_limits.c.id == key, now)
        return self._database.first(query) is not None

    def purge(self) -> None:
        """Delete what does not count any more."""
        past = rate_limits.c.until < self._database.time
        self._database.change(delete(rate_limits).where(past), lasting=False)
