"""Studies that can be taken part in, and how they are added, closed and removed."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from useralign.errors import ConflictError, NotFoundError
from useralign.store import studies, token
from useralign.study.design import Design

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from useralign.store import Store
    from useralign.store.studies import StudyRecords


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question as a study shows it, stored with the study so that nothing changes under way.

    Parameters
    ----------
    text : str
    kind : {"text", "image"}
    pool_id : str
    personas : mapping of str to str
        Descriptions by name.
    """

    text: str
    kind: str
    pool_id: str
    personas: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Study:
    """A study that can be taken part in.

    Parameters
    ----------
    design : Design
    questions : mapping of str to mapping of str to StudyQuestion
        By domain and id.
    key : str
        What its pseudonyms and its participants' tokens are keyed with; never shown.
    open : bool
        Whether new participants are taken.
    created : float
    """

    design: Design
    questions: Mapping[str, Mapping[str, StudyQuestion]]
    key: str
    open: bool
    created: float

    @property
    def slug(self) -> str:
        """Its name in addresses and commands."""
        return self.design.slug

    def question(self, domain: str, name: str) -> StudyQuestion:
        """Return a question by its domain and id."""
        return self.questions[domain][name]


class Studies:
    """The studies of a database.

    Parameters
    ----------
    store : Store
    clock : callable, optional
        Returns the time in seconds since 1970.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._cache: dict[str, Study] = {}

    def add(self, design: Design, progress: Callable[[int, int], None] | None = None) -> Study:
        """Put a study into the database, with the pools of its questions, and open it.

        Adding the same design again changes nothing.

        Parameters
        ----------
        design : Design
        progress : callable, optional
            Called with how many pools are ready, and of how many.

        Raises
        ------
        ConflictError
            If a study of that name has participants and another design.
        """
        with studies.reading(self._store, design.slug) as records:
            before = self._load(design.slug, records)
            if before is not None and before.design == design:
                return before
            _check_unused(design.slug, records)
        questions = self._add_pools(design, progress or (lambda _done, _total: None))
        row = studies.StudyRow(
            design.slug,
            design.to_dict(),
            {d: {q: asdict(a) for q, a in m.items()} for d, m in questions.items()},
            token(),
            self._clock(),
            True,
        )
        with studies.writing(self._store, design.slug) as records:
            records.lock()
            _check_unused(design.slug, records)
            records.replace_study(row)
        return self.get(design.slug)

    def get(self, slug: str, records: StudyRecords | None = None) -> Study:
        """Return a study.

        Parameters
        ----------
        slug : str
        records : StudyRecords, optional
            Of a transaction to read in: one that waits for a second connection might wait for
            itself.

        Raises
        ------
        NotFoundError
            If there is none of that name.
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

    def set_open(self, slug: str, value: bool) -> None:
        """Take new participants from now on, or no more; those who began may always finish."""
        self.get(slug)
        with studies.writing(self._store, slug) as records:
            records.set_open(value)

    def _load(self, slug: str, records: StudyRecords) -> Study | None:
        """Return a study, out of the cache unless it was changed; None if there is none."""
        version = records.version()
        if version is None:
            return None
        study = self._cache.get(slug)
        if study is None or (study.created, study.open) != version:
            row = records.study()
            questions = {
                domain: {name: StudyQuestion(**data) for name, data in entries.items()}
                for domain, entries in row.questions.items()
            }
            design = Design.from_dict(row.design)
            self._cache[slug] = study = Study(design, questions, row.key, row.open, row.created)
        return study

    def _add_pools(
        self, design: Design, progress: Callable[[int, int], None]
    ) -> dict[str, dict[str, StudyQuestion]]:
        """Store the pools of all questions, and return the questions by domain and id."""
        entries = [(e.name, question) for e in design.domains for question in e.load_questions()]
        questions: dict[str, dict[str, StudyQuestion]] = {e.name: {} for e in design.domains}
        for done, (domain, question) in enumerate(entries, start=1):
            pool_id = self._store.pools.add(question.pool())
            personas = {persona.name: persona.description for persona in question.personas}
            questions[domain][question.id] = StudyQuestion(
                question.text, question.kind, pool_id, personas
            )
            progress(done, len(entries))
        return questions


def _check_unused(slug: str, records: StudyRecords) -> None:
    """Raise ConflictError if a study has participants."""
    if records.count_participants():
        raise ConflictError(
            f"study {slug!r} has participants, so its design stays as it is; give the changed "
            "design another slug"
        )
