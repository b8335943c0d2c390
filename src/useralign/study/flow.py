"""The way of a participant through a study, as the paper describes it (section 6).

    landing -> query -> comparisons -> evaluation -> done

The landing page asks for consent; nothing is recorded before it is given. The query stage shows
the query and the persona, then come the comparisons, and the evaluation sets the selections at two
steps and a random candidate against the baseline.

Every step is one transaction, may be sent twice, and never goes back: a step that was done already
is not done again; one that was done otherwise is a `ConflictError`, and the first answer stands.
"""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from contextlib import suppress
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import TYPE_CHECKING

from useralign.errors import AnswerError, ConflictError, NotFoundError, StoreError
from useralign.session import Session
from useralign.store import Interactions, UserResponse, digest, studies
from useralign.store.studies import (
    ATTENTION,
    EARLIER,
    LATER,
    RANDOM,
    Matchup,
    Participant,
    StudyRecords,
)
from useralign.study.assignment import choose_cell, choose_within
from useralign.study.studies import Studies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from useralign.pool import Candidate, Pool
    from useralign.store import Screen, Store
    from useralign.study.recruiting import Arrival
    from useralign.study.studies import Study, StudyQuestion

QUERY, COMPARISONS, EVALUATION, DONE = "query", "comparisons", "evaluation", "done"
STAGES = (QUERY, COMPARISONS, EVALUATION, DONE)
SIDES = ("left", "right")
INSTRUCTED = -1  # the "candidate" of an attention check: the option that says to choose it
CHOOSE_THIS = "This one checks that the page is being read. Please choose **this** option."
NOT_THIS = "This one checks that the page is being read. Please choose the **other** option."
NOT_DUE = "this comparison is not due yet; reload the page to see what is"
_CODE_BYTES = 20  # 160 bits, 32 letters and digits that are not mistaken for one another


@dataclass(frozen=True, slots=True)
class Option:
    """One of two things to choose from.

    Parameters
    ----------
    text : str
        Markdown; for a picture what it shows.
    media : str or None
        The id of its picture.
    """

    text: str
    media: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What a participant's page shows, with nothing that tells the methods apart.

    Parameters
    ----------
    study : Study
    participant : Participant
    stage : str
    query : str
    persona : tuple of (str, str) or None
        Name and description, where the participant plays one.
    step : int
        The number that the page's form carries.
    number, total : int
        How far: "Comparison 4 of 10".
    options : tuple of Option
        Left and right, or nothing.
    """

    study: Study
    participant: Participant
    stage: str
    query: str
    persona: tuple[str, str] | None
    step: int = 0
    number: int = 0
    total: int = 0
    options: tuple[Option, ...] = ()


class _BegunError(Exception):
    """The comparisons have begun already."""


class ParticipantFlow:
    """Takes participants through the studies of a database.

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
        self._sessions = Interactions(store, clock)
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
        with studies.writing(self._store, study.slug) as records:
            records.lock()
            who = _present(records, study, arrival, own)
            if who is None and study.open:
                self._add_participant(records, study, arrival, digest(own), now)
                who = _present(records, study, arrival, own)
            elif who is not None and arrival.recorded not in ({}, who.recruitment):
                # A task that was returned and accepted again has a new id, which paying needs.
                records.set_recruitment(who.id, arrival.recorded)
        return None if who is None else (own, who)

    def has_place(self, study: Study, arrival: Arrival, token: str) -> bool:
        """Return whether someone has a place already."""
        with studies.reading(self._store, study.slug) as records:
            return _present(records, study, arrival, arrival.token(study) or token) is not None

    def is_complete(self, study: Study) -> bool:
        """Return whether as many have finished as were wanted."""
        with studies.reading(self._store, study.slug) as records:
            counts = records.count_cells(self._clock(), study.design.window)
        return sum(count.finished for count in counts.values()) >= study.design.participants

    def find(self, slug: str, token: str) -> Participant:
        """Return who holds a token.

        Raises
        ------
        NotFoundError
            If nobody in this study does.
        """
        with studies.reading(self._store, slug) as records:
            return _holder(records, token)

    def look(self, slug: str, token: str) -> View:
        """Return what a participant's page shows now: always the same until they act."""
        study = self.studies.get(slug)
        with studies.reading(self._store, slug) as records:
            who = _holder(records, token)
            matchups = records.matchups(who.id) if who.stage == EVALUATION else []
        screen = None
        if who.stage == COMPARISONS and who.session_id is not None:
            screen = self._sessions.screen(who.session_id, who.id)
            if screen.finished:  # the stage moved on between the two reads
                return self.look(slug, token)
        question = _question(study, who)
        pool = self._store.pools.of_session(question.pool_id)
        return _view(study, who, question, pool, screen=screen, matchups=matchups)

    def begin(self, slug: str, token: str) -> None:
        """Go on from the query to the comparisons; nothing if that was done."""
        who = self.find(slug, token)
        if who.stage != QUERY:
            return
        study = self.studies.get(slug)
        settings = {
            "method": who.assignment.method,
            "epsilon": None,
            "budget": study.design.domain(who.assignment.domain).budget,
            "seed": self._rng.getrandbits(32),
        }

        def start(records: StudyRecords, session_id: str) -> None:
            if not records.leave_stage(who.id, QUERY, COMPARISONS):
                raise _BegunError
            records.enter_stage(who.id, COMPARISONS, self._clock(), session_id=session_id)

        with suppress(_BegunError):  # by a form that was sent twice: its session stands
            self._sessions.create(
                _question(study, who).pool_id,
                who.id,
                settings,
                also=lambda connection, first: start(
                    StudyRecords(connection, slug), first.session_id
                ),
            )

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
        """Take the answer to a comparison of the second or third stage.

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
        if stage == COMPARISONS and who.session_id is not None:
            self._sessions.answer(
                who.session_id,
                who.id,
                step,
                UserResponse("choice", position=position),
                milliseconds=milliseconds,
                also=lambda connection, screen: self._after_comparison(
                    StudyRecords(connection, slug), who, screen
                ),
            )
        elif stage == EVALUATION:
            self._evaluate(who, step, SIDES[position], milliseconds)
        else:
            raise ConflictError(NOT_DUE)

    def _add_participant(
        self, records: StudyRecords, study: Study, arrival: Arrival, identity: str, now: float
    ) -> None:
        """Add a participant if there is a place."""
        window = study.design.window
        counts = records.count_cells(now, window)
        cell = choose_cell(study.design, counts, self._rng, waiting=arrival.worker is None)
        if cell is None:
            return
        others = records.assignments(cell, now, window)
        participant = Participant(
            identity,
            study.slug,
            arrival.source,
            arrival.recorded,
            choose_within(study, cell, others, self._rng),
            session_id=None,
            stage=QUERY,
            code=None,
            created=now,
            seen=now,
            finished=None,
        )
        records.add_participant(participant, arrival.hashed(study))

    def _after_comparison(self, records: StudyRecords, who: Participant, screen: Screen) -> None:
        """Stay active; after the last comparison choose what the evaluation compares."""
        if screen.finished is None:
            records.touch(who.id, self._clock())
            return
        study = self.studies.get(who.study_id, records)
        selected = select_candidates(
            records.recommendations(who.session_id),
            study.design.domain(who.assignment.domain).checkpoints,
            self._store.pools.of_session(_question(study, who).pool_id),
            self._rng,
        )
        plan = plan_matchups(selected, self._rng, attention=study.design.attention_checks)
        records.add_matchups(who.id, plan, self._clock())
        records.enter_stage(who.id, EVALUATION, self._clock())

    def _evaluate(self, who: Participant, number: int, side: str, milliseconds: int | None) -> None:
        """Take the answer to a matchup; after the last hand out the code."""
        now = self._clock()
        with studies.writing(self._store, who.study_id) as records:
            matchups = records.locked_matchups(who.id)
            due = next((m.number for m in matchups if m.chosen is None), len(matchups))
            if not 0 <= number <= min(due, len(matchups) - 1):
                raise ConflictError(NOT_DUE)
            if number < due:
                if matchups[number].chosen != side:
                    raise ConflictError("this comparison was answered already, and otherwise")
                return
            records.set_matchup(
                who.id, number, chosen=side, answered=now, milliseconds=milliseconds
            )
            if number + 1 == len(matchups):
                code = b32encode(secrets.token_bytes(_CODE_BYTES)).decode()
                records.enter_stage(who.id, DONE, self._clock(), code=code, finished=now)
            else:
                records.set_matchup(who.id, number + 1, asked=now)
                records.touch(who.id, self._clock())


def _present(
    records: StudyRecords, study: Study, arrival: Arrival, token: str
) -> Participant | None:
    """Return who has arrived if they have a place: a worker by their id, others by the token."""
    hashed = arrival.hashed(study)
    if hashed is None:
        return records.participant(digest(token))
    return records.participant_of_worker(hashed)


def _holder(records: StudyRecords, token: str) -> Participant:
    who = records.participant(digest(token))
    if who is None:
        raise NotFoundError("there is no such page in this study")
    return who


def _question(study: Study, who: Participant) -> StudyQuestion:
    return study.question(who.assignment.domain, who.assignment.question)


def select_candidates(
    bests: Sequence[int], checkpoints: Sequence[int], pool: Pool, rng: Random
) -> dict[str, int]:
    """Return the three candidates of the evaluation by their role.

    They may coincide; each is evaluated in a matchup of its own all the same. The random one is
    what the method Random recommends.

    Parameters
    ----------
    bests : sequence of int
        The candidate that the session recommended after 0, 1, 2, ... answers.
    checkpoints : sequence of int
        The earlier and the later step; the last answer where there are fewer.
    pool : Pool
    rng : Random
    """
    earlier, later = (bests[min(step, len(bests) - 1)] for step in checkpoints)
    random = Session(pool, "random", seed=rng.getrandbits(32)).best.index
    return {LATER: later, EARLIER: earlier, RANDOM: random}


def plan_matchups(candidates: dict[str, int], rng: Random, *, attention: bool) -> list[Matchup]:
    """Put the matchups of the evaluation into a random order, on sides as even as can be.

    Parameters
    ----------
    candidates : dict of str to int
        By role.
    rng : Random
    attention : bool
        Whether to add an attention check.
    """
    pairs = list(candidates.items())
    if attention:
        pairs.append((ATTENTION, INSTRUCTED))
    rng.shuffle(pairs)
    sides = [*SIDES] * (len(pairs) // 2) + [rng.choice(SIDES)] * (len(pairs) % 2)
    rng.shuffle(sides)
    return [
        Matchup(number, role, candidate, side)
        for number, ((role, candidate), side) in enumerate(zip(pairs, sides, strict=True))
    ]


def _view(
    study: Study,
    who: Participant,
    question: StudyQuestion,
    pool: Pool,
    *,
    screen: Screen | None,
    matchups: Sequence[Matchup],
) -> View:
    """Build what a participant sees: `screen` in the comparisons, `matchups` in the evaluation."""
    name = who.assignment.persona
    persona = None if name is None else (spaced(name), question.personas[name])
    common = (study, who, who.stage, question.text, persona)
    if screen is not None:
        budget = study.design.domain(who.assignment.domain).budget
        left, right = (_option(pool[index]) for index in screen.candidates)
        return View(*common, screen.step, screen.cost + 1, budget, (left, right))
    due = next((matchup for matchup in matchups if matchup.chosen is None), None)
    if due is not None:
        return View(*common, due.number, due.number + 1, len(matchups), _options(pool, due))
    return View(*common)


def _options(pool: Pool, matchup: Matchup) -> tuple[Option, Option]:
    if matchup.role == ATTENTION:
        one, other = Option(CHOOSE_THIS), Option(NOT_THIS)
    else:
        if pool.baseline is None:
            raise StoreError("the pool of this question has no baseline; add the study anew")
        one, other = _option(pool[matchup.candidate]), _option(pool.baseline)
    return (one, other) if matchup.side == "left" else (other, one)


def _option(candidate: Candidate) -> Option:
    return Option(candidate.text, candidate.meta.get("media"))


def spaced(name: str) -> str:
    """Return a name like `HeatSeekingExplorer` as words."""
    words = ""
    for before, char in zip(" " + name, name, strict=False):
        words += f" {char}" if char.isupper() and before.islower() else char
    return words
