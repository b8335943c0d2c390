"""Sessions that live in the database.

Every request rebuilds its session by replaying the recorded answers, which takes microseconds, so
that any server process can serve any person, and a restart is not noticed. The next screen is
computed before the transaction that writes it; who comes second finds the step answered.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from useralign.errors import ConflictError, NotFoundError
from useralign.session import Session
from useralign.store.growing import forget_grown, grown_row
from useralign.store.pools import keep
from useralign.store.replay import Told, fold, rebuild, settings_of, sides, tell
from useralign.store.schema import sessions, steps
from useralign.store.tokens import token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from useralign.pool import Pool
    from useralign.store.store import Store


@dataclass(frozen=True, slots=True)
class Screen:
    """What a person looks at.

    Parameters
    ----------
    session_id, pool_id : str
    step : int
        How many screens were completed before it.
    shown : tuple of int
        Places in the pool, in the order on the page; empty when the session is over.
    bound : float
    cost : int
        How many comparisons were answered.
    viable : int
        How many candidates may still be the best.
    best : int
        The one to recommend now, as a place in the pool.
    finished : str or None
        Why the session is over, or None while it is not.
    sure : tuple of (float, int) or None
        The probability that `best` is among the top so many, if the method knows.
    """

    session_id: str
    pool_id: str
    step: int
    shown: tuple[int, ...]
    bound: float
    cost: int
    viable: int
    best: int
    finished: str | None
    sure: tuple[float, int] | None


class Interactions:
    """The sessions of a database.

    Parameters
    ----------
    store : Store
    clock : callable, optional
        Returns the time in seconds since 1970.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def create(
        self,
        pool_id: str,
        owner: str,
        settings: Mapping[str, Any],
        *,
        also: Callable[[Connection, Screen], None] | None = None,
    ) -> Screen:
        """Begin a session and return its first screen.

        Parameters
        ----------
        pool_id, owner : str
        settings : mapping
            Arguments of `Session`; the method's own under `"options"`. What only the page needs
            to know is kept as it is, under `"page"`.
        also : callable, optional
            Called with the open connection and the screen, to write more in the same
            transaction; an error from it undoes all.
        """
        pool = self._store.pools.get(pool_id, owner)
        apart = {key: settings.get(key, {}) for key in ("options", "page")}
        given = {key: value for key, value in settings.items() if key not in apart}
        session = Session(pool, **given, **apart["options"])
        session_id, now = token(), self._clock()
        first = _screen(session, session_id, pool_id, 0)
        row = {
            "id": session_id,
            "owner": owner,
            "pool_id": pool_id,
            "settings": settings_of(session) | ({"page": apart["page"]} if apart["page"] else {}),
            "created": now,
        }

        with self._store.writing() as connection:
            connection.execute(insert(sessions).values(row))
            connection.execute(insert(steps).values(_row_of(first, now)))
            if also is not None:
                also(connection, first)
        return first

    def screen(self, session_id: str, owner: str) -> Screen:
        """Return what a person looks at now: the same pair on the same sides, always.

        Raises
        ------
        NotFoundError
            If there is no such session, or it is somebody else's.
        """
        with self._store.reading() as connection:
            about = _about(connection, session_id, owner)
            last = select(steps).where(steps.c.session_id == session_id)
            newest = last.order_by(steps.c.number.desc()).limit(1)
            return _screen_of(connection.execute(newest).first(), about)

    def session(self, session_id: str, owner: str) -> Session:
        """Return the session itself, rebuilt; changing it changes nothing in the database."""
        return self._rebuilt(*self._read(session_id, owner))

    def look(self, session_id: str, owner: str) -> tuple[Screen, Session]:
        """Return what a person looks at now, and the session itself, of the same moment."""
        about, rows = self._read(session_id, owner)
        return _screen_of(rows[-1], about), self._rebuilt(about, rows)

    def shown(self, session_id: str, owner: str, step: int) -> tuple[int, ...]:
        """Return what was on a screen, in the order on the page.

        Raises
        ------
        NotFoundError
            If there is no such session, or it is somebody else's.
        ConflictError
            If the screen was not reached yet.
        """
        _, rows = self._read(session_id, owner)
        return tuple(_reached(rows, step).shown)

    def page(self, session_id: str, owner: str) -> dict[str, Any]:
        """Return what `create` was given for the page alone."""
        with self._store.reading() as connection:
            about = _about(connection, session_id, owner)
        return dict(about.settings.get("page", {}))

    def answer(
        self,
        session_id: str,
        owner: str,
        step: int,
        told: Told,
        *,
        milliseconds: int | None = None,
        also: Callable[[Connection, Screen], None] | None = None,
    ) -> Screen:
        """Record what a person did on a screen, and return the screen that follows.

        Doing the same again changes nothing and returns the same screen.

        Parameters
        ----------
        session_id, owner : str
        step : int
            The screen that it was done on.
        told : Told
        milliseconds : int, optional
            How long it took, as the page measured it.
        also : callable, optional
            Called with the open connection and the next screen, to write more in the same
            transaction; not called when the step was answered before.

        Raises
        ------
        NotFoundError
            If there is no such session, or it is somebody else's.
        ConflictError
            If the step was answered otherwise, or was not reached yet.
        AnswerError, SessionStateError
            If it does not fit what was shown. Nothing has changed.
        """
        about, rows = self._read(session_id, owner)
        if (known := _answered(rows, step, told)) is not None:
            return _screen_of(known, about)
        session = self._rebuilt(about, rows)
        kept = tell(session, told, rows[step].shown)
        following = _screen(session, session_id, rows[step].view["pool_id"], step + 1)
        values = {"kind": told.kind, "told": kept, "milliseconds": milliseconds}
        return self._write(about, told, values, following, also)

    def grow(self, session_id: str, owner: str, step: int, pool: Pool) -> Screen:
        """Go on with a larger pool, and return the screen that follows.

        It takes the place of an answer to a screen that has none, so that a person who is looking
        at that screen can no longer answer it: grow right after an answer, before its next screen
        is sent. What was answered stays. Doing the same again changes nothing and returns the same
        screen.

        Parameters
        ----------
        session_id, owner : str
        step : int
            The screen that waits for an answer.
        pool : Pool
            The session's pool with more candidates behind, such as `session(...).pool` after
            `useralign.pooling.grow.Growth.join`; kept in the same transaction.

        Raises
        ------
        NotFoundError
            If there is no such session, or it is somebody else's.
        ConflictError
            If the step was answered otherwise, or was not reached yet.
        PoolError
            If a candidate was lost, changed or moved. Nothing has changed.
        """
        told = Told("growth", text=pool.fingerprint)
        about, rows = self._read(session_id, owner)
        if (known := _answered(rows, step, told)) is not None:
            return _screen_of(known, about)
        answers, stopped = fold(rows)
        present = self._store.pools.of_session(rows[step].view["pool_id"])
        row, pictures = grown_row(present, pool, owner)
        session = rebuild(pool, about.settings, answers, stopped)
        following = _screen(session, session_id, str(row["id"]), step + 1)
        kept = {"request": told.request(), "pool": row["id"]}
        values = {"kind": told.kind, "told": kept, "milliseconds": None}
        return self._write(
            about, told, values, following, lambda connection, _: keep(connection, row, pictures)
        )

    def forget(self, session_id: str, owner: str) -> None:
        """Delete a session with all that was told in it.

        Raises
        ------
        NotFoundError
            If there is no such session, or it is somebody else's.
        """
        with self._store.writing() as connection:
            _about(connection, session_id, owner)
            rows = connection.execute(_steps_of(session_id)).all()
            connection.execute(delete(sessions).where(sessions.c.id == session_id))
            forget_grown(connection, rows, owner)

    def _read(self, session_id: str, owner: str) -> tuple[Row[Any], Sequence[Row[Any]]]:
        with self._store.reading() as connection:
            about = _about(connection, session_id, owner)
            rows = connection.execute(_steps_of(session_id)).all()
        if not rows:  # deleted between the two
            raise NotFoundError("there is no such session")
        return about, rows

    def _write(
        self,
        about: Row[Any],
        told: Told,
        values: Mapping[str, Any],
        following: Screen,
        also: Callable[[Connection, Screen], None] | None,
    ) -> Screen:
        """Complete a step and begin the next, in one transaction; or find that it was done."""
        step, now = following.step - 1, self._clock()
        with self._store.writing() as connection:
            if _complete(connection, about.id, step, {**values, "answered": now}):
                connection.execute(insert(steps).values(_row_of(following, now)))
                if also is not None:
                    also(connection, following)
                return following
            rows = connection.execute(_steps_of(about.id)).all()
        known = _answered(rows, step, told)
        if known is None:  # deleted meanwhile
            raise NotFoundError("there is no such session")
        return _screen_of(known, about)

    def _rebuilt(self, about: Row[Any], rows: Sequence[Row[Any]]) -> Session:
        answers, stopped = fold(rows)
        pool: Pool = self._store.pools.of_session(rows[-1].view["pool_id"])
        return rebuild(pool, about.settings, answers, stopped, rows[-1].shown)


def _about(connection: Connection, session_id: str, owner: str) -> Row[Any]:
    mine = select(sessions).where(sessions.c.id == session_id, sessions.c.owner == owner)
    row = connection.execute(mine).first()
    if row is None:
        raise NotFoundError("there is no such session")
    return row


def _steps_of(session_id: str) -> Any:
    return select(steps).where(steps.c.session_id == session_id).order_by(steps.c.number)


def _reached(rows: Sequence[Row[Any]], step: int) -> Row[Any]:
    if not 0 <= step < len(rows):
        raise ConflictError(f"screen {step} was not shown yet; the current one is {len(rows) - 1}")
    return rows[step]


def _answered(rows: Sequence[Row[Any]], step: int, told: Told) -> Row[Any] | None:
    """Return the row after a step if it was answered in this way; None if it awaits an answer."""
    row = _reached(rows, step)
    if row.kind is None:
        return None
    if row.told.get("request") != told.request():
        raise ConflictError(
            f"screen {step} was answered already, and otherwise; the current one is {len(rows) - 1}"
        )
    return rows[step + 1]


def _complete(
    connection: Connection, session_id: str, step: int, values: Mapping[str, Any]
) -> bool:
    """Write an answer to a step that has none; tell whether it was still without."""
    here = (steps.c.session_id == session_id) & (steps.c.number == step) & steps.c.kind.is_(None)
    return connection.execute(update(steps).where(here).values(values)).rowcount == 1


def _screen(session: Session, session_id: str, pool_id: str, step: int) -> Screen:
    asked = session.ask()
    places = () if asked is None else tuple(c.index for c in asked.candidates)
    sure = session.confidence
    return Screen(
        session_id,
        pool_id,
        step,
        tuple(sides(places, session.seed, step)),
        bound=session.bound,
        cost=session.cost,
        viable=len(session.viable),
        best=session.best.index,
        finished=session.stop_reason,
        sure=None if sure is None else (sure.probability, sure.top),
    )


def _row_of(screen: Screen, now: float) -> dict[str, Any]:
    told = ("pool_id", "bound", "cost", "viable", "best", "finished", "sure")
    return {
        "session_id": screen.session_id,
        "number": screen.step,
        "shown": list(screen.shown),
        "view": {name: getattr(screen, name) for name in told},
        "asked": now,
    }


def _screen_of(row: Row[Any] | None, about: Row[Any]) -> Screen:
    if row is None:
        raise NotFoundError("there is no such session")
    view = {**row.view, "sure": row.view["sure"] and tuple(row.view["sure"])}
    return Screen(session_id=about.id, step=row.number, shown=tuple(row.shown), **view)
