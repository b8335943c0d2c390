"""Data and people that many tests need."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.databases import postgres
from useralign import Pool
from useralign.store import Store, open_store

# Started in the background of a shell, processes ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
def postgres_stem() -> Iterator[str]:
    """A PostgreSQL server for the whole run, started when it is first needed."""
    with postgres() as stem:
        yield stem


_names = itertools.count()


def new_database(stem: str) -> str:
    """Create an empty database and return its address."""
    import psycopg

    name = f"test{next(_names)}"
    plain = stem.replace("+psycopg", "")
    with psycopg.connect(plain.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return stem.format(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    return new_database(request.getfixturevalue("postgres_stem"))


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store, of either kind."""
    opened = open_store(store_url)
    yield opened
    opened.close()
