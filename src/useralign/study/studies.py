"""Studies that can be taken part in: how they are added and closed, and people forgotten."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from useralign.errors import ConflictError, NotFoundError, OptionError
from useralign.store import studies, token
from useralign.study.design import Design
from useralign.study.recruitment import LINK, MTURK, PROLIFIC, Arrival

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from useralign.store import Store
    from useralign.store.studies import Assignment, Participant, StudyRecords
    from useralign.study.recruitment import Recruitment

_LONGEST = 29  # characters of a slug before what marks a twin
_SIMULATED_MINUTES = 0.1  # that simulated people who left keep their place


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question as a study shows it, stored with the study so that nothing changes under way."""

    text: str | Mapping[str, str]  # one, or one per language
    kind: str  # text or image
    pool_id: str
    personas: Mapping[str, str | Mapping[str, str]]  # descriptions by name


@dataclass(frozen=True, slots=True)
class Study:
    """A study that can be taken part in."""

    design: Design
    questions: Mapping[str, Mapping[str, StudyQuestion]]  # by domain and id
    key: str  # what its pseudonyms and its participants' tokens are keyed with; never shown
    open: bool  # whether new participants are taken
    created: float
    paused: bool = False  # whether it is to be opened again, where it is not open

    @property
    def state(self) -> str:
        """Whether it is open, paused or closed."""
        return "open" if self.open else "paused" if self.paused else "closed"

    @property
    def slug(self) -> str:
        """Its name in addresses and commands."""
        return self.design.slug

    @property
    def recruitment(self) -> Recruitment:
        """Where its participants come from, and the codes they get."""
        return self.design.recruitment

    def question(self, domain: str, name: str) -> StudyQuestion:
        """Return a question by its domain and id."""
        return self.questions[domain][name]

    def question_of(self, assignment: Assignment) -> StudyQuestion:
        """Return the question that somebody was assigned to."""
        return self.questions[assignment.domain][assignment.question]


class Studies:
    """The studies of a database; `clock` returns the time in seconds since 1970."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._cache: dict[str, Study] = {}

    def add(self, design: Design, progress: Callable[[int, int], None] | None = None) -> Study:
        """Put a study into the database, with the pools of its questions, and open it.

        Adding the same design again changes nothing; while nobody takes part, its files are read
        anew. A ConflictError if a study of that name has participants and another design.
        `progress` is called with how many pools are ready, and of how many.
        """
        with studies.reading(self._store, design.slug) as records:
            before = self._load(design.slug, records)
            same = before is not None and before.design == design
            if before is not None and same and records.count_participants():
                return before
            _check_unused(design.slug, records)
        questions = self._add_pools(design, progress or (lambda _done, _total: None))
        if before is not None and same and before.questions == questions:
            return before
        with studies.writing(self._store, design.slug) as records:
            records.lock()
            self._replace(design, questions, records)
        return self.get(design.slug)

    def get(self, slug: str, records: StudyRecords | None = None) -> Study:
        """Return a study, or raise NotFoundError if there is none of that name.

        `records` are of a transaction to read in: one that waits for a second connection might wait
        for itself.
        """
        if records is None:
            with studies.reading(self._store, slug) as own:
                study = self._load(slug, own)
        else:
            study = self._load(slug, records)
        if study is None:
            names = ", ".join(self.names()) or "none yet; `useralign study add FILE` adds one"
            raise NotFoundError(f"there is no study {slug!r}; known: {names}")
        return study

    def names(self) -> list[str]:
        """List the studies, the newest first."""
        return studies.list_slugs(self._store)

    def set_open(self, slug: str, value: bool, *, paused: bool = False) -> None:
        """Take new participants from now on, or no more; those who began may always finish.

        `paused` is whether it is to be opened again, which newcomers are told.
        """
        self.get(slug)
        with studies.writing(self._store, slug) as records:
            records.set_open(value, paused and not value)

    def rehearse(self, slug: str, kind: str) -> Study:
        """Return the pilot or the simulated twin of a study, a study of its own beside it.

        Its data are marked, and in no result or export of the study itself. It has the material of
        the study; a simulated one begins anew each time, and people come to it by a link.
        """
        study = self.get(slug)
        if study.design.data != "study":
            raise OptionError(f"{slug!r} is a {study.design.data} itself; name the study it is of")
        changes: dict[str, Any] = {"slug": f"{slug[:_LONGEST]}-{kind}", "data": kind}
        if kind == "simulated":
            changes |= {"active_minutes": _SIMULATED_MINUTES, "recruitment": {"per_address": 0}}
        design = study.design.changed(**changes)
        with studies.writing(self._store, design.slug) as records:
            before = self._load(design.slug, records)
            if before is not None and kind == "simulated":
                for chunk in list(records.participants()):
                    for who in chunk:
                        records.delete_participant(who)
            elif before is not None and before.design == design:
                return before
            self._replace(design, study.questions, records)
        return self.get(design.slug)

    def find_worker(self, slug: str, worker: str) -> Participant:
        """Return the participant whom a recruiting service calls by this id, or NotFoundError."""
        study = self.get(slug)
        arrivals = [Arrival(source, worker) for source in (PROLIFIC, MTURK, LINK)]
        with studies.reading(self._store, slug) as records:
            who = records.participant_of_worker(*(str(one.hashed(study)) for one in arrivals))
        if who is None:
            raise NotFoundError(f"study {slug!r} has no participant with that worker id")
        return who

    def forget(self, slug: str, name: str) -> list[str]:
        """Delete a participant, by their pseudonym: answers, times, codes, recruitment, all.

        Their place is free again. Earlier exports are not touched. Returns the files or tables that
        may still hold it, as `Store.wipe` does.
        """
        with studies.writing(self._store, slug) as records:
            who = records.participant_named(name)
            if who is None:
                raise NotFoundError(
                    f"study {slug!r} has no participant {name!r}; names look like p-1a2b…"
                )
            records.delete_participant(who)
        return self._store.wipe()

    def forget_workers(self, slug: str) -> tuple[int, list[str]]:
        """Delete the recruiting services' ids of all participants, once everybody is paid.

        The answers stay, and so does the keyed hash that makes one worker one participant. Returns
        how many participants there are, and what may still hold the ids, as `Store.wipe` does.
        """
        with studies.writing(self._store, slug) as records:
            count = records.clear_recruitment()
        return count, self._store.wipe()

    def _replace(
        self,
        design: Design,
        questions: Mapping[str, Mapping[str, StudyQuestion]],
        records: StudyRecords,
    ) -> None:
        """Write a study, open and with a key of its own, in place of one without participants."""
        _check_unused(design.slug, records)
        plain = {
            domain: {name: asdict(question) for name, question in entries.items()}
            for domain, entries in questions.items()
        }
        row = studies.StudyRow(design.slug, design.to_dict(), plain, token(), self._clock(), True)
        records.replace_study(row)

    def _load(self, slug: str, records: StudyRecords) -> Study | None:
        """Return a study, out of the cache unless it was changed; None if there is none."""
        version = records.version()
        if version is None:
            return None
        study = self._cache.get(slug)
        if study is None or (study.created, study.open, study.paused) != version:
            row = records.study()
            questions = {
                domain: {name: StudyQuestion(**data) for name, data in entries.items()}
                for domain, entries in row.questions.items()
            }
            design = Design.from_dict(row.design)
            self._cache[slug] = study = Study(
                design, questions, row.key, row.open, row.created, row.paused
            )
        return study

    def _add_pools(
        self, design: Design, progress: Callable[[int, int], None]
    ) -> dict[str, dict[str, StudyQuestion]]:
        """Store the pools of all questions, and return the questions by domain and id."""
        loaded = design.load_questions()
        total = sum(map(len, loaded.values()))
        questions: dict[str, dict[str, StudyQuestion]] = {}
        done = 0
        for domain, material in loaded.items():
            questions[domain] = {}
            for one in material:
                kind = "image" if one.pool[0].is_picture else "text"
                pool_id = self._store.pools.add(one.pool)
                questions[domain][one.id] = StudyQuestion(
                    one.text, kind, pool_id, dict(one.personas)
                )
                done += 1
                progress(done, total)
        return questions


def _check_unused(slug: str, records: StudyRecords) -> None:
    """Raise ConflictError if a study has participants."""
    if records.count_participants():
        raise ConflictError(
            f"study {slug!r} has participants, so its design stays as it is; give the changed "
            "design another slug"
        )


def still_held(left: list[str], slug: str) -> str:
    """Return what to say where files or tables may still hold what was deleted."""
    return (
        f"It is deleted, but {', '.join(left)} may still hold it, since something has been reading "
        f"or writing all the while. When that has ended: useralign study forget {slug} --files"
    )
