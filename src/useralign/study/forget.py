"""Deleting a participant so that nothing of them is left, in the tables or in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, update

from useralign.errors import NotFoundError
from useralign.store import pseudonym
from useralign.store.schema import participants, sessions
from useralign.study.participants import find, find_pseudonym

if TYPE_CHECKING:
    from useralign.store import Store
    from useralign.study.participants import Participant
    from useralign.study.studies import Study


def find_worker(store: Store, study: Study, worker: str) -> Participant:
    """Return the participant whom a recruiting service calls by this id.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    names = [pseudonym(f"{source} {worker}", study.key) for source in ("prolific", "mturk", "link")]
    with store.reading() as connection:
        mine = (participants.c.study_id == study.slug, participants.c.worker.in_(names))
        found = find(connection, *mine)
    if found is None:
        raise NotFoundError(f"study {study.slug!r} has no participant with that worker id")
    return found


def forget(store: Store, study: Study, name: str) -> None:
    """Delete a participant: answers, times, codes, recruitment, all.

    Their place is free again. What was exported before is not touched.

    Parameters
    ----------
    store : Store
    study : Study
    name : str
        Their pseudonym.

    Raises
    ------
    NotFoundError
        If the study has nobody of that name.
    """
    with store.writing() as connection:
        who = find_pseudonym(connection, study.slug, name)
        connection.execute(delete(participants).where(participants.c.id == who.id))
        if who.session_id is not None:
            connection.execute(delete(sessions).where(sessions.c.id == who.session_id))
    store.wipe()


def forget_workers(store: Store, study: Study) -> int:
    """Delete the recruiting services' ids of all participants, once everybody is paid.

    The answers stay, and so does the keyed hash that makes one worker one participant.

    Returns
    -------
    int
        How many participants there are.
    """
    with store.writing() as connection:
        mine = update(participants).where(participants.c.study_id == study.slug)
        count = connection.execute(mine.values(recruitment={})).rowcount
    store.wipe()
    return count
