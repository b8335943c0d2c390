"""Deleting a participant so that nothing of them is left, in the tables or in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.errors import NotFoundError
from useralign.store import pseudonym, studies
from useralign.study.recruitment import LINK, MTURK, PROLIFIC

if TYPE_CHECKING:
    from useralign.store import Store
    from useralign.store.studies import Participant
    from useralign.study.studies import Study


def find_worker(store: Store, study: Study, worker: str) -> Participant:
    """Return the participant whom a recruiting service calls by this id, or raise NotFoundError."""
    hashes = [pseudonym(f"{source} {worker}", study.key) for source in (PROLIFIC, MTURK, LINK)]
    with studies.reading(store, study.slug) as records:
        participant = records.participant_of_worker(*hashes)
    if participant is None:
        raise NotFoundError(f"study {study.slug!r} has no participant with that worker id")
    return participant


def forget(store: Store, study: Study, name: str) -> list[str]:
    """Delete a participant, by their pseudonym: answers, times, codes, recruitment, all.

    Their place is free again. Earlier exports are not touched. Returns the files or tables that may
    still hold it, as `Store.wipe` does.
    """
    with studies.writing(store, study.slug) as records:
        participant = records.participant_named(name)
        if participant is None:
            raise NotFoundError(
                f"study {study.slug!r} has no participant {name!r}; names look like p-1a2b…"
            )
        records.delete_participant(participant)
    return store.wipe()


def forget_workers(store: Store, study: Study) -> tuple[int, list[str]]:
    """Delete the recruiting services' ids of all participants, once everybody is paid.

    The answers stay, and so does the keyed hash that makes one worker one participant. Returns how
    many participants there are, and what may still hold the ids, as `Store.wipe` does.
    """
    with studies.writing(store, study.slug) as records:
        count = records.clear_recruitment()
    return count, store.wipe()


def still_held(left: list[str], slug: str) -> str:
    """Return what to say where files or tables may still hold what was deleted; else nothing."""
    if not left:
        return ""
    return (
        f"It is deleted, but {', '.join(left)} may still hold it, since something has been reading "
        f"or writing all the while. When that has ended: useralign study forget {slug} --files"
    )
