"""Sessions that live in the database.

A session is rebuilt by replaying the recorded answers, so that any server process can serve any
person, and a restart is not noticed. What a process has rebuilt it keeps for a while
(`store.rebuilt`), so that a request costs the same however long the session is. The next screen is
computed before the transaction that writes it; who comes second finds the step answered.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import delete, func, insert, select, update

from useralign.errors import AnswerError, ConflictError, NotFoundError, SessionStateError
from useralign.session import Session
from useralign.store.keys import token
from useralign.store.pool_jobs import forget_job
from useralign.store.pools import delete_unused, forget_grown, grown_row, insert_pool
from useralign.store.rebuilt import State
from useralign.store.schema import pools, sessions, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from useralign.models import Generator
    from useralign.pool import Pool
    from useralign.store.store import Store

VIEW_FIELDS = ("pool_id", "bound", "cost", "viable", "best", "finished", "sure")
PATIENCE = 8.0  # seconds that a person waits for a model to judge a wish
MOST_STEPS = 500  # of a session: answers, and whatever else was said or taken back
ENDING = frozenset(("stop", "final", "growth"))  # what may still follow
PLAIN = ("equal", "neither", "skip", "undo", "stop", "go_on", "prove")  # with nothing else to say
FEW = "few"  # the preset, where a method is named
_SIDES = 71  # sets the draws of sides apart from the method's own


@dataclass(frozen=True, slots=True)
class Screen:
    """What a person looks at."""

    session_id: str
    pool_id: str
    step: int  # how many screens were completed before it
    # Indices in the pool, in the order on the page; empty when the session is over.
    candidates: tuple[int, ...]
    bound: float
    cost: int  # how many comparisons were answered
    viable: int  # how many candidates may still be the best
    best: int  # the index of the candidate to recommend now
    finished: str | None  # why the session is over, or None while it is not
    # The probability that `best` is among the top so many, if the method knows.
    sure: tuple[float, int] | None


@dataclass(frozen=True, slots=True)
class UserResponse:
    """What a person did on a screen."""

    # `"choice"`, `"ranking"`, `"equal"`, `"neither"`, `"skip"`, `"remark"`, `"wish"`, `"withdraw"`,
    # `"undo"`, `"stop"`, `"final"`, `"go_on"` or `"prove"`.
    kind: str
    # For a choice: the position on the page, from 0. For a final choice, which may be of any
    # candidate: its index in the pool.
    position: int | None = None
    order: tuple[int, ...] = ()  # for a ranking: the positions on the page, best first
    # For a remark or wish: what was said; for `"withdraw"`: the wish that is taken back.
    text: str = ""
    # For a remark: where it points in the space of the raw features.
    direction: tuple[float, ...] = ()
    model: Generator | None = None  # for a wish: judges the candidates beside the words

    def request(self) -> dict[str, Any]:
        """Return what makes two submissions the same; how a remark or wish was read does not."""
        values = {"position": self.position, "order": list(self.order), "text": self.text}
        return {"kind": self.kind} | {k: v for k, v in values.items() if v not in (None, [], "")}


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session in a list."""

    id: str
    question: str
    created: float  # seconds since 1970
    answered: int  # how many comparisons were answered
    finished: bool


class Interactions:
    """The sessions of a database; `clock` returns the time in seconds since 1970.

    A session that there is not, or that is somebody else's, is a NotFoundError throughout.
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
        lender: str | None = None,
        first: Callable[[Connection], None] | None = None,
        also: Callable[[Connection, Screen], None] | None = None,
    ) -> Screen:
        """Begin a session and return its first screen.

        `settings` are arguments of `Session`; the method's own under `"options"`. The method
        `"few"` is the preset, with what else is given in place of its own. What only the page needs
        is stored as it is, under `"page"`. `lender` is somebody else whose pools may be used.
        `first` is called with the open connection before anything is written, `also` with it and
        the screen, to write more in the same transaction; an error from either undoes all.
        """
        pool = self._store.pools.get(pool_id, owner, *([lender] if lender else []))
        session = _begin(pool, settings)
        session_id, now = token(), self._clock()
        screen = _screen(session, session_id, pool_id, 0)
        row = {
            "id": session_id,
            "owner": owner,
            "pool_id": pool_id,
            "settings": _settings_of(session)
            | ({"page": settings["page"]} if settings.get("page") else {}),
            "created": now,
        }

        with self._store.writing() as connection:
            if first is not None:
                first(connection)
            connection.execute(insert(sessions).values(row))
            connection.execute(insert(steps).values(_row_of(screen, now)))
            if also is not None:
                also(connection, screen)
        self._store.rebuilt.add(State(session_id, pool_id, (screen, now), [], False, session))
        return screen

    def open(self, session_id: str, owner: str) -> StoredSession:
        """Read a session: its current screen, and what is needed to rebuild and to answer it."""
        with self._store.reading() as connection:
            about = _about(connection, session_id, owner)
            newest = select(steps).where(steps.c.session_id == session_id)
            row = connection.execute(newest.order_by(steps.c.number.desc()).limit(1)).first()
        if row is None:  # deleted between the two
            raise NotFoundError("there is no such session")
        return StoredSession(self._store, self._clock, about, row)

    def set_page(self, session_id: str, owner: str, **values: Any) -> None:
        """Change what only the page needs to know of a session."""
        with self._store.writing() as connection:
            settings = _about(connection, session_id, owner).settings
            settings = settings | {"page": settings.get("page", {}) | values}
            own = sessions.c.id == session_id
            connection.execute(update(sessions).where(own).values(settings=settings))

    def all(self, owner: str, most: int = 200) -> list[SessionSummary]:
        """List someone's sessions, the newest first."""
        newest = steps.alias()
        last = select(func.max(newest.c.number)).where(newest.c.session_id == sessions.c.id)
        current = (steps.c.session_id == sessions.c.id) & (steps.c.number == last.scalar_subquery())
        listing = (
            select(sessions.c.id, sessions.c.created, pools.c.question, steps.c.view)
            .join(pools, pools.c.id == sessions.c.pool_id)
            .join(steps, current)
            .where(sessions.c.owner == owner)
            .order_by(sessions.c.created.desc())
            .limit(most)
        )
        return [
            SessionSummary(
                row.id,
                row.question,
                row.created,
                answered=row.view["cost"],
                finished=row.view["finished"] is not None,
            )
            for row in self._store.rows(listing)
        ]

    def trim(self, owner: str, most: int) -> None:
        """Delete someone's oldest sessions without an answer, with their pools.

        So many of those as `most` stay, the newest.
        """
        answered = select(steps.c.session_id).where(steps.c.kind.is_not(None))
        own = (sessions.c.owner == owner) & sessions.c.id.not_in(answered)
        newest = (sessions.c.created.desc(), sessions.c.id)
        old = select(sessions.c.id, sessions.c.pool_id).where(own).order_by(*newest).offset(most)
        if not (rows := self._store.rows(old)):
            return
        with self._store.writing() as connection:
            ids = [row.id for row in rows]
            connection.execute(delete(sessions).where(sessions.c.id.in_(ids), own))
            own_pools = pools.c.id.in_([row.pool_id for row in rows]) & (pools.c.owner == owner)
            delete_unused(connection, own_pools)

    def forget(self, session_id: str, owner: str) -> None:
        """Delete a session with all answers in it."""
        with self._store.writing() as connection:
            about = _about(connection, session_id, owner)
            rows = connection.execute(_steps_of(session_id)).all()
            connection.execute(delete(sessions).where(sessions.c.id == session_id))
            self._store.rebuilt.forget(session_id)
            forget_grown(connection, rows, owner)
            if (job := about.settings.get("page", {}).get("making")) is not None:
                forget_job(connection, job)


class StoredSession:
    """A session as it was read from the database, for one request.

    `about` is its row of the table `sessions`, `newest` that of its newest step, which has no
    answer yet; the others are read when they are needed. `page` is what `Interactions.create` was
    given for the page alone, `screen` what the person looks at now; after an answer, the screen
    that follows.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], about: Row[Any], newest: Row[Any]
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings: dict[str, Any] = about.settings
        self.id: str = about.id
        self.owner: str = about.owner
        self.page: dict[str, Any] = dict(about.settings.get("page", {}))
        self._stand_at(_screen_of(newest), newest.asked)

    def _stand_at(self, screen: Screen, asked: float) -> None:
        """Go on from another screen; what is known of the last one no longer holds."""
        self.screen, self._newest = screen, (screen, asked)
        for name in ("_rows", "_state"):
            self.__dict__.pop(name, None)

    @property
    def session(self) -> Session:
        """The session itself, rebuilt; changing it changes nothing in the database."""
        return self._state.session

    @cached_property
    def _rows(self) -> Sequence[Row[Any]]:
        """All steps, in order."""
        if rows := self._store.rows(_steps_of(self.id)):
            return rows
        raise NotFoundError("there is no such session")  # deleted meanwhile

    @cached_property
    def _state(self) -> State:
        """The session at its present screen, for this request alone."""
        for state in self._store.rebuilt.get(self.id):
            if state.newest == self._newest:
                return state._replace(session=state.session.copy())
        answers, stopped = fold(self._rows[: self.screen.step])
        session = self._session_of(answers, stopped=stopped)
        if not _shows(session, self.screen):
            pool = self._store.pools.of_session(self.screen.pool_id)
            settings = self._settings_now()
            session = rebuild(pool, settings, answers, stopped, self.screen.candidates)
        pool_id = self.screen.pool_id
        state = State(self.id, pool_id, self._newest, answers, stopped, session)
        self._store.rebuilt.add(state._replace(session=session.copy()))
        return state

    def _session_of(self, answers: list[Any], *, stopped: bool) -> Session:
        """Return the session of some answers: from the nearest one that is cached, or replayed."""
        nearest = [
            state
            for state in self._store.rebuilt.get(self.id)
            if state.pool_id == self.screen.pool_id
            and answers[: len(state.answers)] == state.answers
        ]
        if not nearest:
            pool = self._store.pools.of_session(self.screen.pool_id)
            return rebuild(pool, self._settings_now(), answers, stopped)
        state = max(nearest, key=lambda state: len(state.answers))
        session = state.session.copy()
        session.follow(answers[len(state.answers) :], stopped=stopped)
        return session

    def _settings_now(self) -> Mapping[str, Any]:
        """Return the settings that the session has by now: growing may change options."""
        settings: Mapping[str, Any] = self._settings
        for row in self._rows:
            if row.kind == "growth":
                settings = with_options(settings, row.told)
        return settings

    def candidates_at(self, step: int) -> tuple[int, ...]:
        """Return what was on a screen, in order; a ConflictError if it was not reached yet."""
        if step == self.screen.step:
            return self.screen.candidates
        return tuple(_reached(self._rows, step).shown)

    def answer(
        self,
        step: int,
        response: UserResponse,
        *,
        milliseconds: int | None = None,
        also: Callable[[Connection, Screen], None] | None = None,
    ) -> Screen:
        """Record what the person did on a screen, and return the screen that follows.

        Doing the same again changes nothing and returns the same screen. `also` is called with the
        open connection and the next screen, to write more in the same transaction; not when the
        step was answered before. After an error nothing has changed: a ConflictError if the step
        was answered otherwise, or was not reached yet; an AnswerError or SessionStateError if it
        does not fit what was shown, or the session is as long as one may be.
        """
        if (following := self._answered(step, response)) is not None:
            return following
        _check_length(step, response)
        state, record = self._applied(response)
        following = _screen(state.session, self.id, self.screen.pool_id, step + 1)
        record["request"] = response.request()
        screen = self._write(response, record, milliseconds, following, also)
        if screen is following:
            self._state = state = state._replace(newest=self._newest)
            self._store.rebuilt.add(state._replace(session=state.session.copy()))
        return screen

    def _answered(self, step: int, response: UserResponse) -> Screen | None:
        """Return the screen after a step that was answered in this way; None if it has no answer.

        What was answered since this was read is read again.
        """
        if step == self.screen.step:
            return None
        row = _following(self._rows, step, response)
        if row is not None:
            return _screen_of(row)
        newest = self._rows[-1]
        self._stand_at(_screen_of(newest), newest.asked)
        return None

    def _applied(self, response: UserResponse) -> tuple[State, dict[str, Any]]:
        """Return the state that a response leads to, and what to record of it."""
        state = self._state
        takes_back = response.kind == "undo" and state.answers
        if takes_back and not (state.stopped and not _is_final(state.answers)):
            answers, stopped = fold([_Step("undo")], state.answers, stopped=state.stopped)
            session = self._session_of(answers, stopped=stopped)
            return state._replace(answers=answers, stopped=stopped, session=session), {}
        session = state.session
        answer = apply(session, response, self.screen.candidates)
        record = {} if answer is None else {"answer": answer}
        step = _Step(response.kind, record)
        answers, stopped = fold([step], state.answers, stopped=state.stopped)
        return state._replace(answers=answers, stopped=stopped, session=session), record

    def grow(
        self,
        step: int,
        pool: Pool,
        options: Mapping[str, Any] | None = None,
        *,
        also: Callable[[Connection, Screen], None] | None = None,
    ) -> Screen:
        """Go on with a larger pool, and return the screen that follows.

        It takes the place of an answer to a screen that has none, so that a person who is looking
        at that screen can no longer answer it: grow right after an answer, before its next screen
        is sent. What was answered stays. Doing the same again changes nothing and returns the same
        screen.

        `pool` is the session's with more candidates behind, such as `session.pool` after
        `useralign.pooling.grow.Growth.join`; stored in the same transaction. `options` of the
        method are others for the larger pool. Raises ConflictError as `answer` does, and PoolError
        if a candidate was lost, changed or moved.
        """
        response = UserResponse("growth", text=pool.fingerprint)
        if (following := self._answered(step, response)) is not None:
            return following
        present = self._store.pools.of_session(self.screen.pool_id)
        pool_row, pictures = grown_row(present, pool, self.owner)
        record = {"request": response.request(), "pool": pool_row["id"]}
        record |= {"options": dict(options)} if options else {}
        settings = with_options(self._settings_now(), record)
        session = rebuild(pool, settings, *fold(self._rows))
        following = _screen(session, self.id, str(pool_row["id"]), step + 1)

        def insert_grown(connection: Connection, screen: Screen) -> None:
            insert_pool(connection, pool_row, pictures)
            if also is not None:
                also(connection, screen)

        return self._write(response, record, None, following, insert_grown)

    def _write(
        self,
        response: UserResponse,
        record: Mapping[str, Any],
        milliseconds: int | None,
        following: Screen,
        also: Callable[[Connection, Screen], None] | None,
    ) -> Screen:
        """Complete a step and begin the next, in one transaction; or find that it was done."""
        step, now = following.step - 1, self._clock()
        which = (steps.c.session_id == self.id) & (steps.c.number == step) & steps.c.kind.is_(None)
        values = {"kind": response.kind, "told": record, "milliseconds": milliseconds}
        with self._store.writing() as connection:
            complete = update(steps).where(which).values({**values, "answered": now})
            ours = connection.execute(complete).rowcount == 1
            if ours:
                connection.execute(insert(steps).values(_row_of(following, now)))
                if also is not None:
                    also(connection, following)
        if ours:
            self._stand_at(following, now)
            return following
        self.__dict__.pop("_rows", None)
        rows = self._rows
        self._stand_at(_screen_of(rows[-1]), rows[-1].asked)
        row = _following(rows, step, response)
        assert row is not None  # noqa: S101 - it was not ours to complete, so it is answered
        return _screen_of(row)


def _about(connection: Connection, session_id: str, owner: str) -> Row[Any]:
    own = select(sessions).where(sessions.c.id == session_id, sessions.c.owner == owner)
    row = connection.execute(own).first()
    if row is None:
        raise NotFoundError("there is no such session")
    return row


def _steps_of(session_id: str) -> Any:
    return select(steps).where(steps.c.session_id == session_id).order_by(steps.c.number)


def _check_length(step: int, response: UserResponse) -> None:
    """Raise SessionStateError if a session is as long as one may be, unless to end it."""
    if step >= MOST_STEPS and response.kind not in ENDING:
        raise SessionStateError(
            f"this session has {step} steps, and may have {MOST_STEPS}; everything is kept: stop "
            "here, take an answer of the shortlist, or start another session"
        )


def _shows(session: Session, screen: Screen) -> bool:
    """Whether a session asks about what is on a screen."""
    comparison = session.ask()
    candidates = () if comparison is None else comparison.candidates
    return {candidate.index for candidate in candidates} == set(screen.candidates)


def _reached(rows: Sequence[Row[Any]], step: int) -> Row[Any]:
    if not 0 <= step < len(rows):
        raise ConflictError(f"screen {step} was not shown yet; the current one is {len(rows) - 1}")
    return rows[step]


def _following(rows: Sequence[Row[Any]], step: int, response: UserResponse) -> Row[Any] | None:
    """Return the row after a step if it was answered in this way; None if it awaits an answer."""
    row = _reached(rows, step)
    if row.kind is None:
        return None
    if row.told.get("request") != response.request():
        raise ConflictError(
            f"screen {step} was answered already, and otherwise; the current one is {len(rows) - 1}"
        )
    return rows[step + 1]


def first_screen(pool: Pool, settings: Mapping[str, Any]) -> Screen:
    """Return the first screen of a session that is stored nowhere, for a preview."""
    return _screen(_begin(pool, settings), "", "", 0)


def _begin(pool: Pool, settings: Mapping[str, Any]) -> Session:
    nested = ("options", "page")
    arguments = {key: value for key, value in settings.items() if key not in nested}
    options = settings.get("options", {})
    if arguments.get("method") == FEW:
        del arguments["method"]
        return Session.few(pool, **arguments, **options)
    return Session(pool, **arguments, **options)


def _screen(session: Session, session_id: str, pool_id: str, step: int) -> Screen:
    comparison = session.ask()
    candidates = () if comparison is None else tuple(c.index for c in comparison.candidates)
    sure = session.confidence
    return Screen(
        session_id,
        pool_id,
        step,
        tuple(sides(candidates, session.seed, step)),
        bound=session.bound,
        cost=session.cost,
        viable=len(session.viable),
        best=session.best.index,
        finished=session.stop_reason,
        sure=None if sure is None else (sure.probability, sure.top),
    )


def _row_of(screen: Screen, now: float) -> dict[str, Any]:
    return {
        "session_id": screen.session_id,
        "number": screen.step,
        "shown": list(screen.candidates),
        "view": {name: getattr(screen, name) for name in VIEW_FIELDS},
        "asked": now,
    }


def _screen_of(row: Row[Any]) -> Screen:
    view = {**row.view, "sure": row.view["sure"] and tuple(row.view["sure"])}
    return Screen(session_id=row.session_id, step=row.number, candidates=tuple(row.shown), **view)


class _Step(NamedTuple):
    """What `fold` needs to know of a step."""

    kind: str
    told: Mapping[str, Any] = {}


def fold(
    rows: Iterable[Row[Any] | _Step], before: Sequence[Any] = (), *, stopped: bool = False
) -> tuple[list[Any], bool]:
    """Return the answers in force after some answered steps, and whether the person ended it there.

    Answers are as a session saves them; `before` and `stopped` are what held before these steps.
    """
    answers = list(before)
    for row in rows:
        if row.kind == "stop":
            stopped = True
        elif row.kind == "undo" and stopped and not _is_final(answers):
            stopped = False
        elif row.kind == "undo":
            answers.pop()
        elif row.kind not in (None, "growth"):
            if row.kind == "final" and _is_final(answers):
                answers.pop()  # another choice takes the place of the first
            answers.append(row.told["answer"])
            stopped = stopped and row.kind not in ("go_on", "prove")
    return answers, stopped


def with_options(settings: Mapping[str, Any], record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a session with the options that were recorded when it grew."""
    return {**settings, "options": {**settings["options"], **record.get("options", {})}}


def _is_final(answers: Sequence[Any]) -> bool:
    """Whether the last of some saved answers is a final choice, which comes after a stop."""
    return bool(answers) and isinstance(answers[-1], dict) and answers[-1]["kind"] == "final"


def rebuild(
    pool: Pool,
    settings: Mapping[str, Any],
    answers: Sequence[Any],
    stopped: bool,
    candidates: Sequence[int] = (),
) -> Session:
    """Return the session that these answers, as a session saves them, lead to.

    `settings` are what `_settings_of` returned when it began. `candidates` are on the person's
    screen; they stay there even if a newer version of the method would ask something else.
    """
    progress = {"answers": answers, "stopped": stopped, "asked": candidates}
    return Session.resume(pool, {**settings, **progress})


def _settings_of(session: Session) -> dict[str, Any]:
    """Return all that a session is, but for its pool and its answers."""
    state = session.to_dict()
    return {key: state[key] for key in state.keys() - {"format", "pool", "answers", "stopped"}}


def apply(session: Session, response: UserResponse, candidates: Sequence[int]) -> Any:
    """Apply a response to a session, and return the answer as a session saves it.

    None for an undo and a stop, which are no answers. `candidates` are what was on the page, in its
    order. The session stays as it was if the response does not fit (AnswerError) or came out of
    turn (SessionStateError).
    """
    session.ask()
    if response.kind in PLAIN:
        getattr(session, response.kind)()
    elif response.kind == "choice":
        session.tell(_index(response.position, candidates))
    elif response.kind == "ranking":
        session.rank([_index(position, candidates) for position in response.order])
    elif response.kind == "remark":
        session.remark(response.text, np.asarray(response.direction))
    elif response.kind == "wish":
        session.wish(response.text, model=response.model, patience=PATIENCE)
    elif response.kind == "withdraw":
        session.withdraw(response.text)
    elif response.kind == "final":
        session.choose(-1 if response.position is None else response.position)
    else:
        raise AnswerError(
            f"an answer cannot be {response.kind!r}; expected choice, ranking, equal, neither, "
            "skip, remark, wish, withdraw, undo, stop, final, go_on or prove"
        )
    return None if response.kind in ("undo", "stop") else session.answers[-1].to_data()


def _index(position: int | None, candidates: Sequence[int]) -> int:
    if position is None or not 0 <= position < len(candidates):
        raise AnswerError(
            f"the answer names place {position!r} of the page, which shows {len(candidates)}"
        )
    return candidates[position]


def sides(candidates: Sequence[int], seed: int, step: int) -> list[int]:
    """Return the candidates in the order they stand on the page: a function of seed and step.

    Of two steps in a row, one shows the method's first candidate on the left and the other on
    the right, so that over a session the sides are as even as they can be.
    """
    if len(candidates) == 2:
        flipped = np.random.default_rng([seed, _SIDES, step // 2]).integers(2) == step % 2
        return list(candidates[::-1]) if flipped else list(candidates)
    order = np.random.default_rng([seed, _SIDES, step]).permutation(len(candidates))
    return [candidates[int(k)] for k in order]
