"""Who is forgotten leaves no trace in the database's files."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from tests.study.conftest import Walker
from useralign.errors import NotFoundError
from useralign.store import Store, database, digest
from useralign.store.schema import matchups, participants, sessions, stages, steps
from useralign.study.recruitment import Arrival
from useralign.study.studies import still_held

WORKER = "worker-5f0a1b2c3d4e"


def files(store: Store) -> list[Path]:
    """The files that hold the tables."""
    if store.sqlite:
        path = Path(str(store.url.database))
        return sorted(path.parent.glob(path.name + "*"))
    with store.reading() as connection:
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
        number = connection.execute(
            text("SELECT oid FROM pg_database WHERE datname = current_database()")
        ).scalar_one()
    return [path for path in Path(folder, "base", str(number)).iterdir() if path.is_file()]


def hits(store: Store, *words: str) -> int:
    count = 0
    for path in files(store):
        content = path.read_bytes()
        count += sum(content.count(word.encode()) for word in words)
    return count


def test_nothing_is_left(walker: Walker, store: Store) -> None:
    ids = {"PROLIFIC_PID": WORKER, "STUDY_ID": "s", "SESSION_ID": f"of-{WORKER}"}
    who = walker.enter(Arrival("prolific", WORKER, ids))
    gone = walker.finish(who).participant
    stays = walker.finish(walker.enter()).participant
    assert gone.session_id
    store.wipe()
    words = (WORKER, who, digest(who), gone.pseudonym[2:], gone.session_id)
    assert hits(store, WORKER) >= 2
    assert hits(store, digest(who)) >= 2
    worker = walker.flow.studies.find_worker("small", WORKER)
    assert worker.pseudonym == gone.pseudonym
    walker.flow.studies.forget("small", gone.pseudonym)
    assert hits(store, *words) == 0
    assert hits(store, stays.id) >= 2
    with store.reading() as connection:
        counts = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (participants, sessions, stages, matchups)
        ]
        assert counts == [1, 1, 4, 4]
        assert connection.execute(select(func.count()).select_from(steps)).scalar_one() == 5
    with pytest.raises(NotFoundError):
        walker.look(who)


def test_their_place_is_free_and_they_may_come_again(walker: Walker, store: Store) -> None:
    arrival = Arrival("prolific", WORKER, {"PROLIFIC_PID": WORKER})
    who = walker.enter(arrival)
    walker.flow.studies.forget("small", walker.look(who).participant.pseudonym)
    assert walker.enter(arrival) == who
    assert walker.look(who).stage == "query"


def test_nobody_of_that_name(walker: Walker, store: Store) -> None:
    walker.enter()
    for name in ("p-000000000000", "p-", "", "%", "p-%%%%%%%%%%%%"):
        with pytest.raises(NotFoundError):
            walker.flow.studies.forget("small", name)
    with pytest.raises(NotFoundError):
        walker.flow.studies.find_worker("small", "nobody")
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(participants)).scalar_one() == 1


def test_worker_ids_go_and_answers_stay(walker: Walker, store: Store) -> None:
    arrival = Arrival("prolific", WORKER, {"PROLIFIC_PID": WORKER})
    who = walker.enter(arrival)
    done = walker.finish(who)
    assert walker.flow.studies.forget_workers("small") == (1, [])
    assert hits(store, WORKER) == 0
    assert walker.look(who).participant.code == done.participant.code
    assert walker.enter(arrival) == who  # still one worker, one participant


def test_somebody_who_reads_all_the_while_is_not_waited_for_forever(
    walker: Walker, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENTLY", 50)
    monkeypatch.setattr(database, "_LOCK_WAIT", "50ms")
    name = walker.look(walker.enter()).participant.pseudonym
    with store.reading() as slow:  # an export, say
        assert slow.execute(select(func.count()).select_from(participants)).scalar_one() == 1
        left = walker.flow.studies.forget("small", name)
    expected = [f"{store.url.database}-wal"] if store.sqlite else ["participants"]
    assert left == expected
    said = still_held(left, walker.study.slug)
    assert expected[0] in said
    assert f"useralign study forget {walker.study.slug} --files" in said
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(participants)).scalar_one() == 0
    assert store.wipe() == []
    assert hits(store, name[2:]) == 0
