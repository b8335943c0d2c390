"""Studies in the database."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from useralign.errors import ConflictError, NotFoundError
from useralign.store import token
from useralign.store.schema import participants, studies
from useralign.study.design import Design

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection, Row

    from useralign.store import Store


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a study shows it, kept with the study so that nothing changes under way.

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
    questions : mapping of str to mapping of str to Asked
        By domain and id.
    key : str
        What its pseudonyms and its participants' tokens are keyed with; never shown.
    open : bool
        Whether new participants are taken.
    created : float
    """

    design: Design
    questions: Mapping[str, Mapping[str, Asked]]
    key: str
    open: bool
    created: float

    @property
    def slug(self) -> str:
        """Its name in addresses and commands."""
        return self.design.slug

    def asked(self, domain: str, question: str) -> Asked:
        """Return a question."""
        return self.questions[domain][question]


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
        self._known: dict[str, Study] = {}

    def add(self, design: Design, seen: Callable[[int, int], None] | None = None) -> Study:
        """Put a study into the database, with the pools of its questions, and open it.

        Adding the same design again changes nothing.

        Parameters
        ----------
        design : Design
        seen : callable, optional
            Told how many pools are ready, and of how many.

        Raises
        ------
        ConflictError
            If a study of that name has participants and another design.
        """
        before = self._find(design.slug)
        if before is not None and before.design == design:
            return before
        if before is not None:
            self._check_replaceable(design.slug)
        questions = self._questions(design, seen or (lambda _done, _total: None))
        row = {
            "id": design.slug,
            "design": design.to_dict(),
            "questions": {d: {q: asdict(a) for q, a in m.items()} for d, m in questions.items()},
            "key": token(),
            "created": self._clock(),
            "open": True,
        }
        with self._store.writing() as connection:
            lock(connection, design.slug)
            if _participants(connection, design.slug):
                raise _refused(design.slug)
            connection.execute(delete(studies).where(studies.c.id == design.slug))
            connection.execute(insert(studies).values(row))
        return self.get(design.slug)

    def get(self, slug: str, connection: Connection | None = None) -> Study:
        """Return a study.

        Parameters
        ----------
        slug : str
        connection : Connection, optional
            Of a transaction to read in: one that waits for a second connection might wait for
            itself.

        Raises
        ------
        NotFoundError
            If there is none of that name.
        """
        found = self._find(slug, connection)
        if found is None:
            names = ", ".join(self.names()) or "none yet; `useralign study add FILE` adds one"
            raise NotFoundError(f"there is no study {slug!r}; known: {names}")
        return found

    def names(self) -> list[str]:
        """List the studies, the newest first."""
        with self._store.reading() as connection:
            chosen = select(studies.c.id).order_by(studies.c.created.desc())
            return list(connection.execute(chosen).scalars())

    def set_open(self, slug: str, value: bool) -> None:
        """Take new participants from now on, or no more; those who began may always finish."""
        self.get(slug)
        with self._store.writing() as connection:
            connection.execute(update(studies).where(studies.c.id == slug).values(open=value))

    def remove(self, slug: str) -> None:
        """Delete a study that has no participants.

        Raises
        ------
        ConflictError
            If it has some.
        """
        self.get(slug)
        with self._store.writing() as connection:
            lock(connection, slug)
            if _participants(connection, slug):
                raise _refused(slug)
            connection.execute(delete(studies).where(studies.c.id == slug))

    def _find(self, slug: str, connection: Connection | None = None) -> Study | None:
        if connection is None:
            with self._store.reading() as own:
                return self._find(slug, own)
        brief = select(studies.c.created, studies.c.open).where(studies.c.id == slug)
        row = connection.execute(brief).first()
        if row is None:
            return None
        known = self._known.get(slug)
        if known is not None and (known.created, known.open) == (row.created, row.open):
            return known
        whole = connection.execute(select(studies).where(studies.c.id == slug)).one()
        self._known[slug] = found = _study(whole)
        return found

    def _check_replaceable(self, slug: str) -> None:
        with self._store.reading() as connection:
            if _participants(connection, slug):
                raise _refused(slug)

    def _questions(
        self, design: Design, seen: Callable[[int, int], None]
    ) -> dict[str, dict[str, Asked]]:
        chosen = [(entry.name, question) for entry in design.domains for question in entry.chosen()]
        made: dict[str, dict[str, Asked]] = {entry.name: {} for entry in design.domains}
        for done, (domain, question) in enumerate(chosen, start=1):
            pool_id = self._store.pools.add(question.pool())
            personas = {persona.name: persona.description for persona in question.personas}
            made[domain][question.id] = Asked(question.text, question.kind, pool_id, personas)
            seen(done, len(chosen))
        return made


def lock(connection: Connection, slug: str) -> None:
    """Have the study alone until the end of the transaction, over all servers.

    SQLite's writing transactions are alone in any case.
    """
    connection.execute(
        select(studies.c.id).where(studies.c.id == slug).with_for_update(key_share=True)
    )


def _participants(connection: Connection, slug: str) -> int:
    chosen = select(func.count()).where(participants.c.study_id == slug)
    return int(connection.execute(chosen).scalar_one())


def _refused(slug: str) -> ConflictError:
    return ConflictError(
        f"study {slug!r} has participants, so its design stays as it is; give the changed design "
        "another slug"
    )


def _study(row: Row[Any]) -> Study:
    questions = {
        domain: {name: Asked(**data) for name, data in asked.items()}
        for domain, asked in row.questions.items()
    }
    return Study(Design.from_dict(row.design), questions, row.key, row.open, row.created)
