"""The way of a participant through a study: its pages, and the task as the paper describes it.

    consent -> pages -> (query -> comparisons -> evaluation), for each question -> pages -> done

The first page asks for consent; nothing is recorded before it is given. The query stage shows the
query and the persona, then come the comparisons, and the evaluation sets the selections at the
checkpoints and a random candidate against the baseline. Somebody's part may also end earlier, with
another outcome than "completed".

Every step is one transaction, may be sent twice, and never goes back: a step that was done already
is not done again; one that was done otherwise is a `ConflictError`, and the first answer stands.
"""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random, SystemRandom
from typing import TYPE_CHECKING

from useralign import __version__
from useralign.errors import AnswerError, ConflictError, NotFoundError, StoreError
from useralign.session import Session
from useralign.store import Interactions, UserResponse, digest, studies
from useralign.store.interactions import first_screen
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
from useralign.study.design import COMPARISONS, DONE, EVALUATION, QUERY, split_stage, stage_key
from useralign.study.flags import attempts_at
from useralign.study.pages import (
    COMPLETED,
    FAILED_CHECK,
    QUOTA_FULL,
    SCREENED_OUT,
    TIMED_OUT,
    WITHDRAWN,
    in_language,
)
from useralign.study.recruitment import LINK, Completion, completion
from useralign.study.studies import Studies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from useralign.pool import Candidate, Pool
    from useralign.store import Screen, Store
    from useralign.store.studies import PageAnswer
    from useralign.study.pages import PageEntry
    from useralign.study.recruitment import Arrival
    from useralign.study.studies import Study
    from useralign.study.wording import Words

SIDES = ("left", "right")
INSTRUCTED = -1  # the "candidate" of an attention check: the option that says to choose it
NOT_DUE = "this page is not due yet; reload to see what is"
ENDED = "this participant's part has ended"
OTHERWISE = "this was answered already, and otherwise"
CLIENT = "_"  # the page under which is kept what the browser said of itself
MILLISECONDS = "_milliseconds"  # the field with how long a page took
_CODE_BYTES = 20  # 160 bits, 32 letters and digits that are not mistaken for one another


@dataclass(frozen=True, slots=True)
class OptionView:
    """One of the things to choose from."""

    text: str  # Markdown; for a picture what it shows
    media: str | None = None  # the id of its picture


@dataclass(frozen=True, slots=True)
class View:
    """What a participant's page shows, with nothing that tells the methods apart."""

    study: Study
    participant: Participant
    stage: str  # the name of the page or the part of the task, without the round
    query: str
    persona: tuple[str, str] | None  # name and description, where the participant plays one
    step: int = 0  # the number that the page's form carries
    number: int = 0  # how far: "Comparison 4 of 10"; for a query, which of how many
    total: int = 0
    options: tuple[OptionView, ...] = ()  # from left to right, or nothing
    page: PageEntry | None = None  # a page of the study's own
    # The fields of the page whose right answer was not given at the last attempt.
    wrong: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the page's form calls the stage, with the round."""
        return self.participant.stage

    @property
    def language(self) -> str:
        """The language of the page."""
        return language_of(self.study, self.participant)

    @property
    def words(self) -> Words:
        """The texts of the page."""
        return self.study.design.words_in(self.language)


class ElsewhereError(ConflictError):
    """A worker's part belongs to another browser than the one that names the worker."""

    def __init__(self) -> None:
        super().__init__("somebody with this id has begun this study in another browser")


class _BegunError(Exception):
    """The comparisons have begun already."""


class ParticipantFlow:
    """Takes participants through the studies of a database.

    `rng` is for assignments, sides and orders; tokens and codes never come from it.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float] = time.time, rng: Random | None = None
    ) -> None:
        self.studies = Studies(store, clock)
        self._store = store
        self._sessions = Interactions(store, clock)
        self._clock = clock
        self._rng = rng or SystemRandom()

    def enter(
        self,
        study: Study,
        arrival: Arrival,
        token: str,
        *,
        language: str | None = None,
        client: Mapping[str, str] | None = None,
    ) -> tuple[str, Participant] | None:
        """Give a place to someone who agrees to take part, and return the token to go on with.

        That is `token`, unless they are a worker with one of their own. None when there is no
        place, or the study is closed; who has a place gets the same again. `client` is what is
        known of their browser: class of device, size of its screen. A worker who takes part with
        another token is an ElsewhereError.
        """
        own = arrival.token(study) or token
        with studies.writing(self._store, study.slug) as records:
            records.lock()
            who = _present(records, study, arrival, own)
            if who is None and study.open:
                who = self._add_participant(records, study, arrival, digest(own), language)
                if who is not None:
                    about = {"version": __version__, **(client or {})}
                    records.add_page_answers(who.id, CLIENT, 0, about, who.created)
            elif who is not None and _is_renewed(who, arrival):
                records.set_recruitment(who.id, arrival.recorded)
        return None if who is None else (own, who)

    def has_place(self, study: Study, arrival: Arrival, token: str) -> bool:
        """Return whether someone has a place already; raises as `enter` does."""
        with studies.reading(self._store, study.slug) as records:
            return _present(records, study, arrival, arrival.token(study) or token) is not None

    def is_complete(self, study: Study) -> bool:
        """Return whether as many have finished as were wanted."""
        with studies.reading(self._store, study.slug) as records:
            counts = records.count_cells(self._clock(), study.design.window)
        return sum(count.finished for count in counts.values()) >= study.design.wanted

    def completion(self, study: Study, who: Participant) -> Completion:
        """Return what someone takes back to where they came from, whose part has ended.

        Who failed the attention check of the evaluation takes back the code for that, if the study
        has one.
        """
        outcome = who.outcome or COMPLETED
        if outcome == COMPLETED and study.design.recruitment.code(FAILED_CHECK, who.source):
            with studies.reading(self._store, study.slug) as records:
                checks = [m.won for m in records.matchups(who.id) if m.role == ATTENTION]
            outcome = COMPLETED if all(checks) else FAILED_CHECK
        return completion(study, who.source, who.recruitment, outcome, own=who.code)

    def find(self, slug: str, token: str) -> Participant:
        """Return who holds a token; a NotFoundError if nobody in this study does."""
        with studies.reading(self._store, slug) as records:
            return _holder(records, token)

    def look(self, slug: str, token: str) -> View:
        """Return what a participant's page shows now: always the same until they act."""
        study = self._study_in_time(slug, token)
        with studies.reading(self._store, slug) as records:
            who = _holder(records, token)
            name, _ = split_stage(who.stage)
            matchups = records.matchups(who.id) if name == EVALUATION else []
            answers = records.page_answers(who.id) if study.design.page(name) else []
        screen = None
        if name == COMPARISONS and who.session_id is not None and who.outcome is None:
            screen = self._sessions.open(who.session_id, who.id).screen
            if screen.finished:  # the stage moved on between the two reads
                return self.look(slug, token)
        return self._view(study, who, screen=screen, matchups=matchups, answers=answers)

    def preview(self, study: Study, cell: int, index: int, language: str | None = None) -> View:
        """Return what somebody of a cell would see at a stage of their way; nothing is stored.

        `index` is that of the stage among those of the cell. Of the comparisons it is the first
        one, of the evaluation the first candidate of the pool.
        """
        route = _route(study, cell)
        if not 0 <= index < len(route):
            raise NotFoundError("there is no such page in this study")
        now, rounds = self._clock(), choose_within(study, cell, [], Random(cell))  # noqa: S311
        who = Participant(
            "preview", study.slug, LINK, {}, rounds[0], None, route[index], None, now, now, None,
            COMPLETED if route[index] == DONE else None, language, tuple(rounds[1:] and rounds),
        )  # fmt: skip
        name, number = split_stage(who.stage)
        screen = None
        if name == COMPARISONS:
            assigned = who.assigned(number)
            pool = self._store.pools.of_session(study.question_of(assigned).pool_id)
            screen = first_screen(pool, study.design.settings(assigned, seed=0))
        matchups = [Matchup(0, LATER, 0, "left", round=number)] if name == EVALUATION else []
        return self._view(study, who, screen=screen, matchups=matchups)

    def _view(
        self,
        study: Study,
        who: Participant,
        *,
        screen: Screen | None = None,
        matchups: Sequence[Matchup] = (),
        answers: Sequence[PageAnswer] = (),
    ) -> View:
        """Build what a participant sees at their stage, given what there is of it."""
        name, number = split_stage(who.stage)
        assigned, language = who.assigned(number), language_of(study, who)
        question = study.question_of(assigned)
        pool, persona = self._store.pools.of_session(question.pool_id), None
        if assigned.persona is not None:
            about = in_language(question.personas[assigned.persona], language)
            persona = (spaced(assigned.persona), about)
        view = View(study, who, name, in_language(question.text, language), persona)
        if (page := study.design.page(name)) is not None:
            attempts = attempts_at(who.stage, answers)
            wrong = page.wrong(attempts[-1]) if attempts else ()
            return replace(view, step=len(attempts), page=page, wrong=tuple(wrong))
        if screen is not None:
            return replace(
                view,
                step=screen.step,
                number=screen.cost + 1,
                total=study.design.budget(assigned.domain, assigned.method),
                options=tuple(_option(pool[index], language) for index in screen.candidates),
            )
        if name == QUERY and who.rounds:
            return replace(view, number=number + 1, total=len(who.rounds))
        here = [one for one in matchups if one.round == number]
        for position, due in enumerate(here):
            if due.chosen is None:
                options = _options(study, pool, due, language)
                return replace(
                    view, step=due.number, number=position + 1, total=len(here), options=options
                )
        return view  # the stage has nothing to choose from

    def begin(self, slug: str, token: str, stage: str = QUERY) -> None:
        """Go on from the query to the comparisons; nothing if that was done."""
        who = self.find(slug, token)
        study = self.studies.get(slug)
        name, number = split_stage(stage)
        if name != QUERY or who.stage != stage or who.outcome is not None:
            _check_reached(study, who, stage)
            return
        assigned = who.assigned(number)
        with studies.reading(self._store, slug) as reading:
            seed = self._rng_of(reading, study, who.id, "session", number).getrandbits(32)
        settings = study.design.settings(assigned, seed)
        following = stage_key(COMPARISONS, number)

        def start(records: StudyRecords, session_id: str) -> None:
            if not records.leave_stage(who.id, stage, following):
                raise _BegunError
            records.enter_stage(who.id, following, self._clock(), session_id=session_id)

        with suppress(_BegunError):  # by a form that was sent twice: its session stands
            self._sessions.create(
                study.question_of(assigned).pool_id,
                who.id,
                settings | ({"page": {"round": number}} if number else {}),
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
        """Take the answer to a comparison or to a matchup of the evaluation.

        `stage`, with its round, and `step` are those that the page carried; `position` is what was
        chosen, 0 being the first on the page. A ConflictError if it was answered otherwise before,
        or is not due yet.
        """
        study, who = self._study_in_time(slug, token), self.find(slug, token)
        name, number = split_stage(stage)
        if not 0 <= position <= (1 if name == EVALUATION else 8):
            raise AnswerError(
                f"the answer must be one of the options on the page, from 0, got {position}"
            )
        _check_reached(study, who, stage)
        if who.outcome not in (None, COMPLETED):
            raise ConflictError(ENDED)
        current = split_stage(who.stage)[1]
        if name == COMPARISONS and who.session_id is not None and current == number:
            self._sessions.open(who.session_id, who.id).answer(
                step,
                UserResponse("choice", position=position),
                milliseconds=milliseconds,
                also=lambda connection, screen: self._after_comparison(
                    StudyRecords(connection, slug), who, screen, number
                ),
            )
        elif name == EVALUATION:
            self._evaluate(who, number, step, SIDES[position], milliseconds)
        else:
            raise ConflictError(OTHERWISE)

    def submit(
        self,
        slug: str,
        token: str,
        stage: str,
        attempt: int,
        values: Mapping[str, Sequence[str]],
        *,
        client: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Take what was filled in on a page of the study's own: `values`, by field.

        `stage`, with its round, and `attempt` are those that the page carried; `client` is what its
        script measured, in fields that begin with an underscore. Returns what is wrong, by field,
        as keys of the wording; then nothing was stored. Raises as `answer` does.
        """
        study = self._study_in_time(slug, token)
        page = study.design.page(split_stage(stage)[0])
        if page is None:
            raise ConflictError(NOT_DUE)
        answers, problems = page.parse(values)
        with studies.writing(self._store, slug) as records:
            who = _holder(records, token, lock=True)
            _check_reached(study, who, stage)
            before = attempts_at(stage, records.page_answers(who.id))
            if who.stage != stage or who.outcome or attempt != len(before):
                stored = before[attempt] if attempt < len(before) else {}
                if any(stored.get(field) != value for field, value in answers.items()):
                    raise ConflictError(OTHERWISE)
                return {}
            if problems:
                return problems
            rows = {**answers, **(client or {})}
            records.add_page_answers(who.id, stage, attempt, rows, self._clock())
            self._after_page(records, study, who, page, answers, last=attempt + 1 >= page.tries)
        return {}

    def leave(self, slug: str, token: str, outcome: str) -> None:
        """End somebody's part at their own wish; nothing if it has ended.

        What they answered is kept if the outcome is "returned", and deleted if it is "withdrawn".
        """
        with studies.writing(self._store, slug) as records:
            who = _holder(records, token, lock=True)
            if who.outcome is not None:
                return
            if outcome == WITHDRAWN:
                records.delete_answers(who.id)
            records.end(who.id, outcome, self._clock())

    def note(self, slug: str, token: str, stage: str, step: int, client: Mapping[str, str]) -> None:
        """Write what the script of a screen of the task measured, once for each screen."""
        with studies.writing(self._store, slug) as records:
            who = _holder(records, token, lock=True)
            attempts = attempts_at(stage, records.page_answers(who.id))
            noted = attempts[step] if step < len(attempts) else {}
            new = {field: value for field, value in client.items() if field not in noted}
            records.add_page_answers(who.id, stage, step, new, self._clock())

    def _rng_of(self, records: StudyRecords, study: Study, who: str, *about: object) -> Random:
        """Return the generator for a draw: of the design's seed and the participant's number."""
        if study.design.seed is None:
            return self._rng
        number = records.number_of(who) or records.next_number()
        parts = (study.design.seed, study.slug, number, *about)
        return Random(" ".join(map(str, parts)))  # noqa: S311 - reproducible by design

    def _study_in_time(self, slug: str, token: str) -> Study:
        """Return a study; who has taken longer than it allows has come to the end of their part."""
        study = self.studies.get(slug)
        limit = study.design.limit_minutes
        if limit is not None:
            who, now = self.find(slug, token), self._clock()
            if who.outcome is None and now > who.created + 60.0 * limit:
                with studies.writing(self._store, slug) as records:
                    records.end(who.id, TIMED_OUT, now)
        return study

    def _add_participant(
        self,
        records: StudyRecords,
        study: Study,
        arrival: Arrival,
        identity: str,
        language: str | None,
    ) -> Participant | None:
        """Add a participant, and return them; None if there is no place."""
        if records.participant(identity) is not None:  # the token is another worker's
            raise ElsewhereError
        now, window = self._clock(), study.design.window
        rng = self._rng_of(records, study, identity, "place")
        counts = records.count_cells(now, window)
        cell = choose_cell(study.design, counts, rng, waiting=arrival.worker is None)
        if cell is None:
            return None
        rounds = choose_within(study, cell, records.assignments(cell, now, window), rng)
        participant = Participant(
            identity,
            study.slug,
            arrival.source,
            arrival.recorded,
            rounds[0],
            session_id=None,
            stage=_route(study, cell)[0],
            code=None,
            created=now,
            seen=now,
            finished=None,
            language=language,
            rounds=tuple(rounds) if len(rounds) > 1 else (),
        )
        records.add_participant(participant, arrival.hashed(study))
        return participant

    def _after_comparison(
        self, records: StudyRecords, who: Participant, screen: Screen, number: int
    ) -> None:
        """Stay active; after the last comparison choose what the evaluation compares."""
        if screen.finished is None:
            records.touch(who.id, self._clock())
            return
        study = self.studies.get(who.study_id, records)
        assigned = who.assigned(number)
        checkpoints = study.design.checkpoints(assigned.domain, assigned.method)
        if checkpoints:
            rng = self._rng_of(records, study, who.id, "evaluation", number)
            pool = self._store.pools.of_session(study.question_of(assigned).pool_id)
            bests = records.recommendations(screen.session_id)
            selected = select_candidates(bests, checkpoints, pool, rng)
            plan = plan_matchups(selected, rng, attention=study.design.attention_checks)
            before = len(records.matchups(who.id))
            plan = [replace(one, number=one.number + before, round=number) for one in plan]
            records.add_matchups(who.id, plan, self._clock())
        self._advance(records, study, who, stage_key(COMPARISONS, number))

    def _evaluate(
        self, who: Participant, round_: int, number: int, side: str, milliseconds: int | None
    ) -> None:
        """Take the answer to a matchup; after the last go on."""
        now = self._clock()
        with studies.writing(self._store, who.study_id) as records:
            matchups = {m.number: m for m in records.locked_matchups(who.id) if m.round == round_}
            due = min((k for k, m in matchups.items() if m.chosen is None), default=None)
            if number not in matchups or (due is not None and number > due):
                raise ConflictError(NOT_DUE)
            if number != due:
                if matchups[number].chosen != side:
                    raise ConflictError(OTHERWISE)
                return
            records.set_matchup(
                who.id, number, chosen=side, answered=now, milliseconds=milliseconds
            )
            if number == max(matchups):
                study = self.studies.get(who.study_id, records)
                self._advance(records, study, who, stage_key(EVALUATION, round_))
            else:
                records.set_matchup(who.id, number + 1, asked=now)
                records.touch(who.id, now)

    def _after_page(
        self,
        records: StudyRecords,
        study: Study,
        who: Participant,
        page: PageEntry,
        answers: Mapping[str, str | None],
        *,
        last: bool,
    ) -> None:
        """Go on after a page, try it again, or end there, by what was answered."""
        wrong = page.wrong(answers)
        outcome = page.outcome_of_failing if wrong and last else None
        if page.screens_out(answers):
            outcome = SCREENED_OUT
        elif self._is_full(records, study, who, page, answers):
            outcome = QUOTA_FULL
        if outcome is not None:
            records.end(who.id, outcome, self._clock())
        elif wrong and not last:
            records.touch(who.id, self._clock())
        else:
            self._advance(records, study, who, who.stage)

    def _is_full(
        self,
        records: StudyRecords,
        study: Study,
        who: Participant,
        page: PageEntry,
        answers: Mapping[str, str | None],
    ) -> bool:
        """Whether there are enough people with one of these answers already, this one left out."""
        now, window = self._clock(), study.design.window
        for entry in page.fields:
            value = answers.get(entry.id)
            if value is not None and value in entry.quota:
                records.lock()  # or two who answer at once both take the last place
                count = records.count_page_answer(who.stage, entry.id, value, now, window)
                if count > entry.quota[value]:
                    return True
        return False

    def _advance(self, records: StudyRecords, study: Study, who: Participant, stage: str) -> None:
        """Enter the stage after this one; at the end hand out the code."""
        route, now = _route(study, who.assignment.cell), self._clock()
        following = route[route.index(stage) + 1]
        values: dict[str, object] = {}
        if following == DONE:
            code = None  # a platform's worker takes back the code that the platform knows
            if who.source == LINK:
                code = b32encode(secrets.token_bytes(_CODE_BYTES)).decode()
            values = {"code": code, "finished": now, "outcome": COMPLETED}
        records.enter_stage(who.id, following, now, **values)


def _route(study: Study, cell: int) -> list[str]:
    questions = study.questions[study.design.cells[cell].domain]
    return study.design.route(study.design.sequence(cell, len(questions)))


def _check_reached(study: Study, who: Participant, stage: str) -> None:
    """Raise ConflictError if a stage is not on somebody's way, or they have not come to it."""
    route = _route(study, who.assignment.cell)
    if stage not in route or route.index(stage) > route.index(who.stage):
        raise ConflictError(NOT_DUE)


def language_of(study: Study, who: Participant) -> str:
    """Return the language of somebody's pages."""
    return who.language or study.design.languages[0]


def _present(
    records: StudyRecords, study: Study, arrival: Arrival, token: str
) -> Participant | None:
    """Return who has arrived if they have a place: by the token, which must fit the worker.

    A worker who takes part with another token is an ElsewhereError.
    """
    identity, hashed = digest(token), arrival.hashed(study)
    if hashed is None:
        return records.participant(identity)
    worker = records.participant_of_worker(hashed)
    if worker is not None and worker.id != identity:
        raise ElsewhereError
    return worker


def _is_renewed(who: Participant, arrival: Arrival) -> bool:
    """Whether somebody has returned their task and accepted it again: paying needs its new id.

    Once their part has ended, what it is paid under stays as it is.
    """
    return who.outcome is None and arrival.recorded not in ({}, who.recruitment)


def _holder(records: StudyRecords, token: str, *, lock: bool = False) -> Participant:
    """Return who holds a token, locked until the end of the transaction if wanted."""
    find = records.locked_participant if lock else records.participant
    who = find(digest(token))
    if who is None:
        raise NotFoundError("there is no such page in this study")
    return who


def select_candidates(
    bests: Sequence[int], checkpoints: Sequence[int], pool: Pool, rng: Random
) -> dict[str, int]:
    """Return the candidates of the evaluation by their role.

    `bests` are the candidates that the session recommended after 0, 1, 2, ... answers;
    `checkpoints` the earlier and the later step, or one; the last answer where there are fewer.
    Candidates may coincide; each is evaluated in a matchup of its own all the same. The random one
    is what the method Random recommends.
    """
    roles = (LATER, EARLIER)
    steps = zip(roles, reversed(checkpoints), strict=False)
    selected = {role: bests[min(step, len(bests) - 1)] for role, step in steps}
    random = Session(pool, "random", seed=rng.getrandbits(32)).best.index
    return selected | {RANDOM: random}


def plan_matchups(candidates: dict[str, int], rng: Random, *, attention: bool) -> list[Matchup]:
    """Put the matchups of the evaluation into a random order, on sides as even as can be.

    `candidates` are by role; `attention` adds an attention check.
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


def _options(
    study: Study, pool: Pool, matchup: Matchup, language: str
) -> tuple[OptionView, OptionView]:
    if matchup.role == ATTENTION:
        words = study.design.words_in(language)
        one, other = OptionView(words("check_choose")), OptionView(words("check_other"))
    else:
        if pool.baseline is None:
            raise StoreError("the pool of this question has no baseline; add the study anew")
        one = _option(pool[matchup.candidate], language)
        other = _option(pool.baseline, language)
    return (one, other) if matchup.side == "left" else (other, one)


def _option(candidate: Candidate, language: str) -> OptionView:
    text = candidate.meta.get(f"text_{language}", candidate.text)
    return OptionView(str(text), candidate.meta.get("media"))


def spaced(name: str) -> str:
    """Return a name like `HeatSeekingExplorer` as words."""
    pairs = zip(" " + name, name, strict=False)
    return "".join(f" {c}" if c.isupper() and before.islower() else c for before, c in pairs)
