"""What is deleted is gone: rows, pictures that nobody else has, and what the files hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import func, select
from sqlalchemy.schema import Table

from useralign import Candidate, Pool
from useralign.errors import NotFoundError
from useralign.store import GRACE, Interactions, Store, UserResponse, open_store
from useralign.store.memory import shared_sessions
from useralign.store.schema import media, persons, pools, sessions

ME, OTHER = "me", "other"
ROWS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def count(store: Store, table: Table) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def painted(folder: Path, *colours: str) -> Pool:
    """Return a pool of pictures."""
    candidates = []
    for colour in colours:
        path = folder / f"{colour}.png"
        Image.new("RGB", (8, 8), colour).save(path)
        candidates.append(Candidate(image=str(path), id=colour))
    return Pool("Which?", candidates, ROWS[: len(colours)])


def test_pictures_go_with_the_last_pool_that_shows_them(store: Store, tmp_path: Path) -> None:
    for who, colours in ((ME, ("red", "green", "blue")), (OTHER, ("red", "white"))):
        store.persons.visit(who, 0.0)
        store.pools.add(painted(tmp_path, *colours), who)
    assert count(store, media) == 4
    store.persons.forget(ME)
    assert (count(store, media), count(store, pools), count(store, persons)) == (2, 1, 1)
    store.persons.forget(OTHER)
    assert count(store, media) == 0


def test_a_grown_pool_takes_its_pictures_along(store: Store, tmp_path: Path) -> None:
    live = Interactions(store)
    ids = []
    for _ in range(2):
        pool_id = store.pools.add(painted(tmp_path, "red", "green"), ME)
        screen = live.create(pool_id, ME, {"seed": 1})
        present = live.open(screen.session_id, ME).session.pool
        blue = painted(tmp_path, "blue")[0]
        live.open(screen.session_id, ME).grow(0, present.extended([blue], [[0.0, 1.0]]))
        ids.append(screen.session_id)
    assert (count(store, media), count(store, pools)) == (3, 3)
    live.forget(ids[0], ME)
    assert (count(store, media), count(store, pools)) == (3, 2)
    live.forget(ids[1], ME)
    assert (count(store, media), count(store, pools)) == (2, 1)


def test_forgetting_sessions_leaves_the_rest(store: Store, pool: Pool) -> None:
    live = Interactions(store)
    for who in (ME, OTHER):
        store.persons.visit(who, 0.0)
        screen = live.create(store.pools.add(pool, who), who, {"seed": 1})
    grown = pool.extended(["new"], pool.raw_features[:1] + 1.0)
    mine = live.create(store.pools.add(pool, ME), ME, {"seed": 1})
    live.open(mine.session_id, ME).grow(0, grown)
    store.persons.allow(ME, remember=True, share=False)
    store.personal.delete_sessions(ME, 10.0)
    assert live.all(ME) == []
    assert store.personal.purge(10.0 + GRACE) == 1
    assert (count(store, sessions), count(store, pools)) == (1, 2)
    assert store.persons.get(ME).remember
    assert live.open(screen.session_id, OTHER).screen == screen


def begun(store: Store, pool: Pool, who: str) -> str:
    """Begin a session with an answer, and return its id."""
    store.persons.visit(who, 0.0)
    live = Interactions(store)
    screen = live.create(store.pools.add(pool, who), who, {"seed": 1})
    live.open(screen.session_id, who).answer(0, UserResponse("choice", position=0))
    return screen.session_id


def test_deleting_can_be_undone_for_a_while(store: Store, pool: Pool) -> None:
    live = Interactions(store)
    first, second = begun(store, pool, ME), begun(store, pool, ME)
    other = begun(store, pool, OTHER)
    before = live.open(first, ME).screen
    store.personal.delete_session(first, ME, 100.0)
    assert [summary.id for summary in live.all(ME)] == [second]
    for owner in (ME, OTHER):
        with pytest.raises(NotFoundError):
            live.open(first, owner)
    with pytest.raises(NotFoundError):
        store.personal.delete_session(other, ME, 100.0)
    store.personal.delete_all(ME, 200.0)
    assert live.all(ME) == []
    assert store.personal.waiting(ME) == (2, 100.0 + GRACE)
    assert store.personal.waiting(OTHER) is None
    assert not store.personal.restore(OTHER)
    assert store.personal.purge(100.0 + GRACE - 1.0) == 0
    assert store.personal.restore(ME)
    assert live.open(first, ME).screen == before
    assert {summary.id for summary in live.all(ME)} == {first, second}
    assert store.personal.waiting(ME) is None
    assert not store.personal.restore(ME)
    assert [summary.id for summary in live.all(OTHER)] == [other]


def test_what_they_allowed_comes_back_unless_they_said_otherwise(store: Store, pool: Pool) -> None:
    begun(store, pool, ME)
    store.persons.allow(ME, remember=True, share=True)
    store.personal.delete_all(ME, 100.0)
    assert not store.persons.get(ME).remember
    assert not store.persons.others_share(OTHER)
    assert shared_sessions(store, 10) == {}
    store.personal.restore(ME)
    assert store.persons.get(ME).share
    assert len(shared_sessions(store, 10)) == 1
    store.personal.delete_all(ME, 200.0)
    store.persons.visit(ME, 300.0)
    store.personal.restore(ME)
    assert not store.persons.get(ME).share
    assert store.personal.waiting(ME) is not None  # the old row still goes
    assert store.personal.purge(200.0 + GRACE) == 1
    assert count(store, persons) == 1


def test_after_a_while_it_is_gone_for_good(store: Store, pool: Pool) -> None:
    session = begun(store, pool, ME)
    begun(store, pool, OTHER)
    grown = pool.extended(["new"], pool.raw_features[:1] + 1.0)
    Interactions(store).open(session, ME).grow(1, grown)
    assert count(store, pools) == 3
    store.personal.delete_session(session, ME, 100.0)
    store.personal.purge(100.0 + GRACE)
    assert (count(store, sessions), count(store, pools)) == (1, 2)
    assert not store.personal.restore(ME)
    store.personal.delete_all(ME, 100.0)
    assert store.personal.purge(101.0, ME) == 1  # at once, if they say so
    assert (count(store, persons), count(store, pools)) == (1, 1)


def test_what_is_stored_can_be_taken_along(store: Store, pool: Pool) -> None:
    session = begun(store, pool, ME)
    begun(store, pool, OTHER)
    data = json.loads(json.dumps(store.personal.export(ME)))
    assert data["you"]["remember"] is False
    assert [item["id"] for item in data["sessions"]] == [session]
    step = data["sessions"][0]["steps"][0]
    assert (step["kind"], step["told"]["request"]) == ("choice", {"kind": "choice", "position": 0})
    assert data["pools"][0]["pool"]["question"] == pool.question
    assert len(data["pools"]) == 1
    assert store.personal.export("nobody") == {
        "you": {},
        "sessions": [],
        "pools": [],
        "makings": [],
    }


def test_what_the_page_needs_is_kept_beside(store: Store, pool: Pool) -> None:
    live = Interactions(store)
    screen = live.create(store.pools.add(pool, ME), ME, {"seed": 1, "page": {"rank": True}})
    assert live.open(screen.session_id, ME).page == {"rank": True}
    live.open(screen.session_id, ME).answer(0, UserResponse("choice", position=0))
    bare = live.create(store.pools.add(pool, ME), ME, {"seed": 1})
    assert live.open(bare.session_id, ME).page == {}


def test_sqlite_files_hold_nothing_of_what_was_deleted(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}")
    secret = "a question that nobody else may read"  # noqa: S105
    store.persons.visit(ME, 0.0)
    store.pools.add(Pool(secret, ["one", "two", "three"], ROWS), ME)
    assert _found(tmp_path, secret)
    store.personal.delete_all(ME, 0.0)
    assert _found(tmp_path, secret)
    with store.reading():  # somebody has only just begun to read
        store.personal.purge(GRACE)
    assert store.rinse()
    assert not _found(tmp_path, secret)
    store.close()


def test_postgresql_is_left_to_its_own_vacuum(store: Store) -> None:
    assert store.rinse() is store.sqlite


def test_rinsing_leaves_the_patience_of_connections(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}")
    store.rinse()
    with store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    store.close()


def _found(folder: Path, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in folder.glob("x.db*"))
