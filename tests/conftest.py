"""Data and people that many tests need, and the order in which tests run.

`tests/README.md` says what is shared, and by which fixture.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.databases import PostgresServer, postgres
from useralign import Pool
from useralign.store import Store, open_store
from useralign.store.database import sqlite_url

# Started in the background of a shell, processes ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# What runs on the machine of whoever runs the tests must not decide them.
os.environ["USERALIGN_SERVERS"] = "off"


# What takes longest, begun first: so the workers of `make test` end at about the same time.
EARLY = (
    "tests/browser",
    "tests/web",
    "tests/golden",
    "tests/lab",
    "tests/geometry/test_agreement.py",
    "tests/faults",
    "tests/examples",
    "tests/models",
    "tests/pooling",
    "tests/cli",
    "tests/test_docs.py",
    "tests/study",
    "tests/store",
    "tests/test_packaging.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long modules first."""

    def rank(item: pytest.Item) -> int:
        starts = [k for k, start in enumerate(EARLY) if item.nodeid.startswith(start)]
        return starts[0] if starts else len(EARLY)

    items.sort(key=rank)


def gaussian_features(count: int, dimension: int, seed: int) -> NDArray[np.float64]:
    """Unit directions in high dimension, a cloud in two, as the paper's domains are."""
    features = np.random.default_rng(seed).normal(size=(count, dimension))
    norms = np.linalg.norm(features, axis=1)
    scale = norms.max() if dimension == 2 else norms[:, None]
    return np.asarray(features / (2.0 * scale))


@pytest.fixture
def pool() -> Pool:
    return Pool.from_features(gaussian_features(12, 6, seed=1), question="Which?")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole run of a process, started when it is first needed."""
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file of the newest schema with empty tables, to be copied, not migrated."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.db"
    open_store(sqlite_url(path)).close()
    return path


@pytest.fixture
def sqlite_copy(empty_sqlite: Path, tmp_path: Path) -> str:
    """The address of an empty SQLite database."""
    return sqlite_url(Path(shutil.copy(empty_sqlite, tmp_path / "test.db")))


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database with empty tables, of either kind."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_copy")
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.lent() as address:
        yield address


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store, of either kind."""
    opened = open_store(store_url)
    yield opened
    opened.close()
