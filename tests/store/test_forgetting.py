"""What is deleted is gone: rows, pictures that nobody else has, and what the files hold."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from sqlalchemy import func, select
from sqlalchemy.schema import Table

from useralign import Candidate, Pool
from useralign.store import Interactions, Store, UserResponse, open_store
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
        present = live.session(screen.session_id, ME).pool
        blue = painted(tmp_path, "blue")[0]
        live.grow(screen.session_id, ME, 0, present.extended([blue], [[0.0, 1.0]]))
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
    live.grow(mine.session_id, ME, 0, grown)
    store.persons.allow(ME, remember=True, share=False)
    store.persons.forget_sessions(ME)
    assert (count(store, sessions), count(store, pools)) == (1, 2)
    assert store.persons.get(ME).remember
    assert live.screen(screen.session_id, OTHER) == screen


def test_what_the_page_needs_is_kept_beside(store: Store, pool: Pool) -> None:
    live = Interactions(store)
    screen = live.create(store.pools.add(pool, ME), ME, {"seed": 1, "page": {"rank": True}})
    assert live.open(screen.session_id, ME).page == {"rank": True}
    live.answer(screen.session_id, ME, 0, UserResponse("choice", position=0))
    bare = live.create(store.pools.add(pool, ME), ME, {"seed": 1})
    assert live.open(bare.session_id, ME).page == {}


def test_sqlite_files_hold_nothing_of_what_was_deleted(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}")
    secret = "a question that nobody else may read"  # noqa: S105
    store.persons.visit(ME, 0.0)
    store.pools.add(Pool(secret, ["one", "two", "three"], ROWS), ME)
    assert _found(tmp_path, secret)
    store.persons.forget(ME)
    with store.reading():  # somebody has only just begun to read
        store.rinse()
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
