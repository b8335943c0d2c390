"""A real model grows a pool: in this process, and behind the real llama.cpp server."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.local_server import LocalServer
from useralign import Pool, Session
from useralign.models import Generator, weights
from useralign.models.local import Local
from useralign.models.openai import OpenAI
from useralign.pooling import Growth, Recipe
from useralign.pooling.grow import Grown

from .conftest import QUESTION

CACHE = os.environ.get("USERALIGN_CACHE")
TEXTS = [
    "Make a pot of lentil soup with carrots and cumin, because it is cheap and warm.",
    "Bake salmon with lemon and dill, because it is light and done in fifteen minutes.",
    "Fry noodles with chilli, garlic and peanuts, because they are hot and quick.",
    "Order a pizza with mushrooms, because after a long day nobody wants to wash up.",
]


@pytest.fixture
def smollm(monkeypatch: pytest.MonkeyPatch) -> str:
    """The small model from where it really is: other tests here have a cache of their own."""
    if CACHE is None:
        monkeypatch.delenv("USERALIGN_CACHE")
    else:
        monkeypatch.setenv("USERALIGN_CACHE", CACHE)
    weights.ensure("smollm2-135m")
    return "smollm2-135m"


def grown_by(generator: Generator, folder: Path) -> tuple[Session, Grown]:
    session = Session(Pool.from_texts(QUESTION, TEXTS, embedder="wordllama"))
    for _ in range(2):
        pair = session.ask()
        assert pair is not None
        session.tell(min(pair.first, pair.second, key=lambda c: c.text))
    recipe = Recipe.concise(max_tokens=24, min_words=4)
    with Growth(generator, batch=1, attempts=2, recipe=recipe, folder=folder) as growth:
        return session, growth.grow(session)


def check(session: Session, grown: Grown) -> None:
    assert not grown.problem
    assert 1 <= grown.usage.calls <= 2
    assert grown.usage.input_tokens > 50
    assert len(grown.joined) + len(grown.rejected) == grown.usage.calls
    assert len(session.pool) == len(TEXTS) + len(grown.joined)
    assert session.cost == 2
    assert np.isfinite(session.bound)
    assert session.ask() is not None


def test_in_this_process(smollm: str, tmp_path: Path) -> None:
    session, grown = grown_by(Local(smollm, context=1024), tmp_path)
    check(session, grown)
    again, same = grown_by(Local("never asked"), tmp_path)
    assert same.problem  # another model has a draft of its own, and this one is not there
    assert len(again.pool) == len(TEXTS)


@pytest.mark.soak
def test_over_http(smollm: str, tmp_path: Path) -> None:
    with LocalServer(smollm, context=1024) as server:
        generator = OpenAI(smollm, base_url=server.base_url, key_file=server.key_file)
        session, grown = grown_by(generator, tmp_path)
    check(session, grown)
    again, same = grown_by(generator, tmp_path)  # the server is gone, the draft is not
    assert same.joined == grown.joined
    assert again.ask() == session.ask()
    assert again.to_dict() == session.to_dict()
