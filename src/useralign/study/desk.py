"""Taking part: every step is one transaction, may be sent twice, and never goes back.

`enter` gives a place, `begin` starts the comparisons, `answer` takes the answers of both stages,
and `look` tells what a participant's page shows now. A step that was done already is not done
again; one that was done otherwise is a `ConflictError`, and the first answer stands.
"""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from contextlib import suppress
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from useralign.errors import AnswerError, ConflictError, NotFoundError
from useralign.store import Interactions, Screen, UserResponse, digest
from useralign.store.schema import matchups, participants, stages, steps
from useralign.study import assignment, flow
from useralign.study.participants import find
from useralign.study.studies import Studies, lock
from useralign.study.views import View, view_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from useralign.store import Store
    from useralign.study.participants import Participant
    from useralign.study.recruiting import Arrival
    from useralign.study.studies import Study

_CODE_BYTES = 20  # 160 bits, 32 letters and digits that are not mistaken for one another


class _BegunError(Exception):
    """The comparisons have begun already."""


class Desk:
    """Where participants are received.

    Parameters
    ----------
    store : Store
    clock : callable, optional
        Returns the time in seconds since 1970.
    rng : Random, optional
        For assignments, sides and orders; the system's when not given. Tokens and codes never
        come from it.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float] = time.time, rng: Random | None = None
    ) -> None:
        self.studies = Studies(store, clock)
        self._store = store
        self._live = Interactions(store, clock)
        self._clock = clock
        self._rng = rng or SystemRandom()

    def enter(self, study: Study, arrival: Arrival, token: str) -> tuple[str, Participant] | None:
        """Give a place to someone who agrees to take part.

        Parameters
        ----------
        study : Study
        arrival : Arrival
        token : str
            Theirs, unless they are a worker with a token of their own.

        Returns
        -------
        tuple of (str, Participant) or None
            The token to go on with; None when there is no place, or the study is closed. Who has
            a place gets the same again.
        """
        own = arrival.token(study) or token
        now = self._clock()
        with self._store.writing() as connection:
            lock(connection, study.slug)
            known = self._known(connection, study, arrival, own)
            if known is None and study.open:
                self._seat(connection, study, arrival, digest(own), now)
                known = self._known(connection, study, arrival, own)
            elif known is not None and arrival.kept not in ({}, known.recruitment):
                # A task that was returned and accepted again has a new id, which paying needs.
                mine = participants.c.id == known.id
                values = {"recruitment": arrival.kept}
                connection.execute(update(participants).where(mine).values(values))
        return None if known is None else (own, known)

    def is_known(self, study: Study, arrival: Arrival, token: str) -> bool:
        """Return whether someone has a place already."""
        with self._store.reading() as connection:
            own = arrival.token(study) or token
            return self._known(connection, study, arrival, own) is not None

    def is_complete(self, study: Study) -> bool:
        """Return whether as many have finished as were wanted."""
        with self._store.reading() as connection:
            counts = assignment.count_places(connection, study.design, self._clock())
        return sum(count.finished for count in counts.values()) >= study.design.participants

    def find(self, slug: str, token: str) -> Participant:
        """Return who holds a token.

        Raises
        ------
        NotFoundError
            If nobody in this study does.
        """
        with self._store.reading() as connection:
            return _holder(connection, slug, token)

    def look(self, slug: str, token: str) -> View:
        """Return what a participant's page shows now: always the same until they act."""
        study = self.studies.get(slug)
        with self._store.reading() as connection:
            who = _holder(connection, slug, token)
            judging = who.stage == flow.EVALUATION
            rows = connection.execute(_matchups_of(who.id)).all() if judging else []
        screen = None
        if who.stage == flow.COMPARISONS and who.session_id is not None:
            screen = self._live.screen(who.session_id, who.id)
            if screen.finished:  # the stage moved on between the two reads
                return self.look(slug, token)
        asked = study.asked(who.assignment.domain, who.assignment.question)
        pool = self._store.pools.of_session(asked.pool_id)
        return view_of(study, who, asked, pool, screen=screen, rows=rows)

    def begin(self, slug: str, token: str) -> None:
        """Go on from the query to the comparisons; nothing if that was done."""
        who = self.find(slug, token)
        if who.stage != flow.QUERY:
            return
        study = self.studies.get(slug)
        asked = study.asked(who.assignment.domain, who.assignment.question)
        settings = {
            "method": who.assignment.method,
            "epsilon": None,
            "budget": study.design.domain(who.assignment.domain).budget,
            "seed": self._rng.getrandbits(32),
        }

        def also(connection: Connection, first: Screen) -> None:
            waiting = (participants.c.id == who.id) & (participants.c.stage == flow.QUERY)
            claimed = update(participants).where(waiting).values(stage=flow.COMPARISONS)
            if connection.execute(claimed).rowcount != 1:
                raise _BegunError
            self._move(connection, who.id, flow.COMPARISONS, session_id=first.session_id)

        with suppress(_BegunError):  # by a form that was sent twice: its session stands
            self._live.create(asked.pool_id, who.id, settings, also=also)

    def answer(
        self,
        slug: str,
        token: str,
        stage: str,
        step: int,
        position: int,
        *,
        milliseconds: int | None = None,
    ) -> None:
        """Take the answer to a comparison of stage 2 or 3.

        Parameters
        ----------
        slug, token : str
        stage : {"comparisons", "evaluation"}
            The one that the page belonged to.
        step : int
            The number that the page carried.
        position : {0, 1}
            The side that was chosen, 0 being the left.
        milliseconds : int, optional
            How long it took, as the page measured it.

        Raises
        ------
        ConflictError
            If it was answered otherwise before, or is not due yet.
        """
        if position not in (0, 1):
            raise AnswerError(
                f"the answer must be the left option (0) or the right one (1), got {position}"
            )
        who = self.find(slug, token)
        if stage == flow.COMPARISONS and who.session_id is not None:
            self._compare(who, step, position, milliseconds)
        elif stage == flow.EVALUATION:
            self._judge(who, step, flow.SIDES[position], milliseconds)
        else:
            raise ConflictError("this comparison is not due yet; reload the page to see what is")

    def _compare(
        self, who: Participant, step: int, position: int, milliseconds: int | None
    ) -> None:
        def also(connection: Connection, screen: Screen) -> None:
            if screen.finished is None:
                self._touch(connection, who.id)
            else:
                self._evaluate(connection, who)

        told = UserResponse("choice", position=position)
        session_id = who.session_id or ""
        self._live.answer(session_id, who.id, step, told, milliseconds=milliseconds, also=also)

    def _evaluate(self, connection: Connection, who: Participant) -> None:
        """Choose what stage 3 compares, and go on to it."""
        study = self.studies.get(who.study_id, connection)
        asked = study.asked(who.assignment.domain, who.assignment.question)
        bests = [view["best"] for view in connection.execute(_views_of(who.session_id)).scalars()]
        chosen = flow.selections(
            bests,
            study.design.domain(who.assignment.domain).checkpoints,
            self._store.pools.of_session(asked.pool_id),
            self._rng,
        )
        now = self._clock()
        plan = flow.plan_matchups(chosen, self._rng, attention=study.design.attention_checks)
        rows = [
            {
                "participant_id": who.id,
                "number": matchup.number,
                "role": matchup.role,
                "candidate": matchup.candidate,
                "side": matchup.side,
                "asked": now,
            }
            for matchup in plan
        ]
        connection.execute(insert(matchups), rows)
        self._move(connection, who.id, flow.EVALUATION)

    def _judge(self, who: Participant, number: int, side: str, milliseconds: int | None) -> None:
        now = self._clock()
        with self._store.writing() as connection:
            mine = participants.c.id == who.id
            connection.execute(select(participants.c.id).where(mine).with_for_update())
            rows = connection.execute(_matchups_of(who.id)).all()
            due = next((row.number for row in rows if row.chosen is None), len(rows))
            if not 0 <= number <= min(due, len(rows) - 1):
                raise ConflictError(
                    "this comparison is not due yet; reload the page to see what is"
                )
            if number < due:
                if rows[number].chosen != side:
                    raise ConflictError("this comparison was answered already, and otherwise")
                return
            here = (matchups.c.participant_id == who.id) & (matchups.c.number == number)
            values = {"chosen": side, "answered": now, "milliseconds": milliseconds}
            connection.execute(update(matchups).where(here).values(values))
            self._after(connection, who.id, number, len(rows), now)

    def _after(self, connection: Connection, who: str, number: int, total: int, now: float) -> None:
        """Go on to the next matchup, or hand out the code after the last."""
        if number + 1 == total:
            code = b32encode(secrets.token_bytes(_CODE_BYTES)).decode()
            self._move(connection, who, flow.DONE, code=code, finished=now)
            return
        following = (matchups.c.participant_id == who) & (matchups.c.number == number + 1)
        connection.execute(update(matchups).where(following).values(asked=now))
        self._touch(connection, who)

    def _known(
        self, connection: Connection, study: Study, arrival: Arrival, token: str
    ) -> Participant | None:
        hashed = arrival.hashed(study)
        same = participants.c.id == digest(token)
        if hashed is not None:
            same = participants.c.worker == hashed
        return find(connection, participants.c.study_id == study.slug, same)

    def _seat(
        self, connection: Connection, study: Study, arrival: Arrival, identity: str, now: float
    ) -> None:
        counts = assignment.count_places(connection, study.design, now)
        waiting = arrival.worker is None
        cell = assignment.choose_cell(study.design, counts, self._rng, waiting=waiting)
        if cell is None:
            return
        others = assignment.given_in(connection, study.design, cell, now)
        given = assignment.choose_within(study, cell, others, self._rng)
        highest = select(func.max(participants.c.number)).where(
            participants.c.study_id == study.slug
        )
        row: dict[str, Any] = {
            "id": identity,
            "study_id": study.slug,
            "number": (connection.execute(highest).scalar() or 0) + 1,
            "source": arrival.source,
            "worker": arrival.hashed(study),
            "recruitment": arrival.kept,
            "cell": given.cell,
            "assignment": given.to_dict(),
            "stage": flow.QUERY,
            "created": now,
            "seen": now,
        }
        connection.execute(insert(participants).values(row))
        self._enter_stage(connection, identity, flow.QUERY, now)

    def _move(self, connection: Connection, who: str, stage: str, **values: Any) -> None:
        now = self._clock()
        mine = update(participants).where(participants.c.id == who)
        connection.execute(mine.values(stage=stage, seen=now, **values))
        self._enter_stage(connection, who, stage, now)

    def _touch(self, connection: Connection, who: str) -> None:
        mine = update(participants).where(participants.c.id == who)
        connection.execute(mine.values(seen=self._clock()))

    @staticmethod
    def _enter_stage(connection: Connection, who: str, stage: str, now: float) -> None:
        row = {"participant_id": who, "stage": stage, "entered": now}
        connection.execute(insert(stages).values(row))


def _holder(connection: Connection, slug: str, token: str) -> Participant:
    mine = (participants.c.id == digest(token), participants.c.study_id == slug)
    found = find(connection, *mine)
    if found is None:
        raise NotFoundError("there is no such page in this study")
    return found


def _views_of(session_id: str | None) -> Any:
    """Select what each screen of a session told, the first before anything was answered."""
    mine = steps.c.session_id == session_id
    return select(steps.c.view).where(mine).order_by(steps.c.number)


def _matchups_of(participant_id: str) -> Any:
    mine = matchups.c.participant_id == participant_id
    return select(matchups).where(mine).order_by(matchups.c.number)
