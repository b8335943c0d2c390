"""A memory of one person: what it expects, what it keeps, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.memory.people import Crowd, cosine
from useralign import FileFormatError, Pool, Session
from useralign.answers import Answer
from useralign.memory import Memory, PastSession, describe, fit, summary


def expected(memory: Memory, pool: Pool) -> Any:
    prior = memory.prior_for(pool)
    assert prior is not None
    assert prior.mean is not None
    worth = (pool.features - pool.features.mean(axis=0)) @ np.array(prior.mean)
    return worth + np.array(prior.popularity or np.zeros(len(pool))) * worth.std()


def test_own_answers_carry_over_to_new_candidates() -> None:
    crowd, other = Crowd.draw(seed=1), Crowd.draw(seed=2)
    taste = crowd.taste(np.random.default_rng(4))
    memory = Memory((crowd.past(1, 30, taste),))
    truth = other.utilities(taste)
    assert cosine(expected(memory, other.pool), truth - truth.mean()) > 0.7


def test_more_of_a_taste_is_recalled_for_the_same_question() -> None:
    crowd = Crowd.draw()
    memory = Memory((crowd.past(1, 10),))
    same = crowd.pool
    another = Pool("Another?", same.candidates, same.raw_features, embedder="test")
    priors = [memory.prior_for(pool) for pool in (same, another)]
    sizes = [np.linalg.norm(prior.mean) for prior in priors if prior and prior.mean]
    assert sizes[0] > 1.1 * sizes[1]


def test_own_answers_outweigh_other_people() -> None:
    crowd = Crowd.draw(width=0.3)
    contrary = crowd.past(99, 40, -crowd.mean)
    others = fit(crowd.pasts(10, 8))
    features = crowd.pool.raw_features - crowd.pool.raw_features.mean(axis=0)
    assert cosine(expected(others, crowd.pool), features @ crowd.mean) > 0.5
    mine = Memory((contrary,), others.populations)
    assert cosine(expected(mine, crowd.pool), features @ crowd.mean) < 0


def test_a_candidate_met_before_keeps_its_place() -> None:
    pool = Pool("?", ["Soup", "Rice", "Pie"], np.zeros((3, 2)), embedder="test")
    told = PastSession.from_answers(pool, [Answer(0, 2, 2), Answer(1, 2, 2), Answer(0, 1, 1)])
    new = Pool("?", ["New", "Soup", "Pie"], np.eye(3, 2), embedder="test")
    prior = Memory((told,)).prior_for(new)
    assert prior is not None
    assert prior.popularity is not None
    assert int(np.argmax(prior.popularity)) == 2


def test_other_features_are_left_out() -> None:
    crowd = Crowd.draw()
    memory = Memory((crowd.past(1, 10),), fit(crowd.pasts(8, 8)).populations)
    rows = crowd.pool.raw_features
    for pool in (
        Pool("Which?", None, rows, embedder="another"),
        Pool("Which?", None, rows),
        Pool("Which?", None, rows[:, :5], embedder="test"),
    ):
        assert memory.prior_for(pool) is None
    assert memory.prior_for(crowd.pool) is not None


def test_nothing_known_is_no_prior() -> None:
    crowd = Crowd.draw()
    assert Memory().prior_for(crowd.pool) is None
    assert not Memory().with_session(Session(crowd.pool))


def test_a_prior_fits_its_pool_and_is_plain_data() -> None:
    crowd = Crowd.draw(popular=1.0)
    memory = Memory((crowd.past(1, 10),), fit(crowd.pasts(8, 8)).populations)
    prior = memory.prior_for(crowd.pool)
    assert prior is not None
    prior.check(len(crowd.pool), crowd.pool.dimension)
    assert len(json.dumps(prior.to_dict())) < 40 * 8 * 30
    small = Pool("Which?", crowd.pool.candidates[:1], crowd.pool.raw_features[:1], embedder="test")
    assert memory.prior_for(small) is not None


def test_saving_and_loading(tmp_path: Path) -> None:
    crowd = Crowd.draw(popular=1.0)
    memory = Memory((crowd.past(1, 10),), fit(crowd.pasts(8, 8)).populations)
    again = Memory.load(memory.save(tmp_path / "memory.json"))
    one, other = memory.prior_for(crowd.pool), again.prior_for(crowd.pool)
    assert one is not None
    assert other is not None
    for key, value in one.to_dict().items():
        assert np.array(other.to_dict()[key]) == pytest.approx(np.array(value), abs=1e-3)
    assert again.populations[0].trust == memory.populations[0].trust
    names = [f"p{n}" for n in range(8)]
    assert not any(f'"{name}"' in (tmp_path / "memory.json").read_text() for name in names)


def test_a_file_that_does_not_say_how_far_others_can_be_trusted() -> None:
    data = fit(Crowd.draw().pasts(8, 8)).to_dict()
    del data["populations"][0]["trust"]
    again = Memory.from_dict(data)
    prior = again.prior_for(Crowd.draw().pool)
    assert prior is not None
    assert prior.trust is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "useralign-memory/9"}, "useralign-memory/9"),
        ({"own": None}, "no list"),
        ({"own": [1]}, "damaged"),
        ({"populations": [{}]}, "damaged"),
        ({"populations": {}}, "no list"),
    ],
)
def test_damaged_files(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    file = tmp_path / "memory.json"
    file.write_text(json.dumps(Memory((Crowd.draw().past(1, 3),)).to_dict() | change))
    with pytest.raises(FileFormatError, match=message):
        Memory.load(file)


@pytest.mark.parametrize(
    "change",
    [
        {"mean": ["x"]},
        {"mean": [float("nan")] * 8},
        {"factor": [[1.0], [2.0]]},
        {"floor": -1.0},
        {"people": -1},
        {"people": 1.5},
        {"carry": 2.0},
        {"popularity": [1.0]},
        {"gain": "much"},
        {"trust": [[1.0, -0.5]]},
    ],
    ids=str,
)
def test_damaged_populations(change: dict[str, Any]) -> None:
    data = fit(Crowd.draw().pasts(3, 4)).to_dict()
    data["populations"][0] |= change
    with pytest.raises(FileFormatError, match="damaged"):
        Memory.from_dict(data)


def test_a_file_that_is_cut_short_or_something_else(tmp_path: Path) -> None:
    file = Memory((Crowd.draw().past(1, 3),)).save(tmp_path / "memory.json")
    file.write_text(file.read_text()[:-40])
    with pytest.raises(FileFormatError, match=r"memory\.json"):
        Memory.load(file)
    file.write_text("[]")
    with pytest.raises(FileFormatError, match="got 'list'"):
        Memory.load(file)


def test_it_says_what_it_holds() -> None:
    crowd = Crowd.draw(width=0.3)
    memory = Memory((crowd.past(1, 20, crowd.mean),), fit(crowd.pasts(12, 8)).populations)
    text, data = describe(memory), summary(memory)
    assert "1 session of yours, 20 answers." in text
    assert "12 other people with 96 answers" in text
    assert "more probable" in text
    (taste,) = data["tastes"]
    worth = dict(zip((c.text for c in crowd.pool), crowd.utilities(crowd.mean), strict=True))
    towards = np.mean([worth[key] for key in taste["towards"]])
    assert towards > np.mean([worth[key] for key in taste["away_from"]]) + 1.0
    assert taste["towards"][0] in text
    assert describe(Memory()) == "Nothing is remembered."


def test_forgetting_a_session_leaves_nothing_of_it() -> None:
    crowd = Crowd.draw()
    one, other = crowd.past(1, 6), crowd.past(2, 6)
    left = Memory((one, other)).without([0])
    alone = Memory((other,))
    assert left.prior_for(crowd.pool) == alone.prior_for(crowd.pool)
    assert left.to_dict() == alone.to_dict()
    assert not alone.without([0])


def test_long_sessions_are_thinned_and_not_refused() -> None:
    crowd = Crowd.draw()
    memory = Memory((crowd.past(1, 500, crowd.mean),))
    features = crowd.pool.raw_features - crowd.pool.raw_features.mean(axis=0)
    assert cosine(expected(memory, crowd.pool), features @ crowd.mean) > 0.9


def test_dislikes_and_ties_count() -> None:
    pool = Crowd.draw().pool
    told = PastSession("me", "Which?", "test", ("a", "b"), np.eye(2, 8), dislikes=(0,))
    prior = Memory((told,)).prior_for(pool)
    assert prior is not None
    assert prior.mean is not None
    assert prior.mean[0] < 0
    tied = PastSession("me", "Which?", "test", ("a", "b"), np.eye(2, 8), ties=((0, 1),))
    prior = Memory((tied,)).prior_for(pool)
    assert prior is not None
