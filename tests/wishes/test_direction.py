"""Remarks: whether they point where they should."""

from __future__ import annotations

import asyncio
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

import useralign as ua
from useralign.domains import load
from useralign.errors import AnswerError, FeedbackError, ModelAnswerError, PoolError
from useralign.models import Scripted, embedder_for
from useralign.wishes import Phrases, direction_of, read_with_model
from useralign.wishes.direction import along, similarities

MINILM = embedder_for("minilm").trouble() is None
needs_minilm = pytest.mark.skipif(not MINILM, reason="its weights are not here")


@pytest.mark.parametrize("text", ["", "please", "!!!", "more, less"])
def test_a_remark_that_says_nothing(text: str) -> None:
    pool = ua.Pool("?", ["a", "b"], np.eye(2))
    with pytest.raises(ua.AnswerError, match="nothing to go by"):
        direction_of(text, pool)


def test_candidates_need_texts_that_differ() -> None:
    with pytest.raises(ua.AnswerError, match="texts"):
        direction_of("less salt", ua.Pool.from_features(np.eye(3)))
    with pytest.raises(ua.AnswerError, match="do not differ"):
        direction_of("less salt", ua.Pool("?", ["soup", "soup"], np.eye(2)))


@cache
def dishes(embedder: str) -> list[tuple[ua.Pool, dict[str, np.ndarray]]]:
    """Ten pools of dishes with their true spiciness and veginess."""
    pools = []
    for question in load("food2d").questions:
        pool = ua.Pool.from_texts(question.text, question.candidates, embedder=embedder)
        axes = {axis: np.array([c.meta[axis] for c in pool]) for axis in question.axes}
        pools.append((pool, axes))
    return pools


def agreement(remark: str, axis: str, embedder: str, reader: str) -> list[float]:
    """Return the rank correlation of what a remark raises with the truth, one per question."""
    return [
        float(spearmanr(pool.features @ direction_of(remark, pool, embedder=reader), axes[axis])[0])
        for pool, axes in dishes(embedder)
    ]


@pytest.mark.parametrize("embedder", ["wordllama"])
@pytest.mark.parametrize(
    ("remark", "axis", "sign"),
    [
        ("less spicy, please", "spiciness", -1),
        ("no chilli", "spiciness", -1),
        ("more vegetables", "veginess", 1),
        ("no meat please", "veginess", 1),
    ],
)
def test_the_default_embedder_turns_the_right_way(
    embedder: str, remark: str, axis: str, sign: int
) -> None:
    """Weakly: in most of ten pools, and on average. docs/feedback.md has the figures."""
    found = sign * np.array(agreement(remark, axis, embedder, embedder))
    assert found.mean() > 0.05
    assert (found > 0).sum() >= 7


@needs_minilm
def test_minilm_reads_spice_better_in_anothers_space() -> None:
    """It reads the remark; the direction lies in the features of the pool's own embedder."""
    found = -np.array(agreement("less spicy, please", "spiciness", "wordllama", "minilm"))
    assert found.mean() > 0.3
    assert (found > 0).sum() >= 9


def test_named_axes_can_be_leant_along() -> None:
    for question in load("food2d").questions[:3]:
        pool = question.pool()
        assert pool.dimension == 2
        direction = direction_of("no chilli", pool)
        assert direction[0] < 0, "the first axis is spiciness"


def test_a_remark_moves_a_session() -> None:
    pool, axes = dishes("wordllama")[0]
    session = ua.Session(pool)
    session.remark("no chilli", direction_of("no chilli", pool))
    assert axes["spiciness"][session.best.index] < 0
    session.undo()
    session.remark("more chilli", direction_of("more chilli", pool))
    assert axes["spiciness"][session.best.index] > 0


def towards(phrases: Phrases, pool: ua.Pool) -> np.ndarray:
    direction = along(similarities(phrases, pool), pool)
    assert direction is not None
    return direction


def test_a_model_reads_a_remark() -> None:
    pool, _ = dishes("wordllama")[0]
    model = Scripted(['Sure! ```json\n{"more": ["vegetables"], "less": ["chilli", "meat"]}\n```'])
    direction = direction_of("you know what I mean", pool, generator=model)
    expected = towards(Phrases(("vegetables",), ("chilli", "meat")), pool)
    np.testing.assert_allclose(direction, expected)
    assert '"remark": "you know what I mean"' in model.requests[0].prompt


def test_what_a_model_says_is_checked() -> None:
    good = '{"more": [], "less": ["salt"]}'
    for bad in ("no", "{}", '{"more": "salt", "less": []}', '{"more": [""], "less": []}'):
        wishes = asyncio.run(read_with_model(Scripted([bad, good]), "?", "hm"))
        assert wishes == Phrases((), ("salt",))
        with pytest.raises(ModelAnswerError, match="in 2 tries"):
            asyncio.run(read_with_model(Scripted([bad]), "?", "hm"))


def test_a_model_reads_a_remark_within_an_event_loop() -> None:
    pool, _ = dishes("wordllama")[0]
    reply = '{"more": [], "less": ["salt"]}'

    async def remark() -> np.ndarray:
        return direction_of("hm", pool, generator=Scripted([reply]))

    np.testing.assert_allclose(asyncio.run(remark()), towards(Phrases((), ("salt",)), pool))


def test_a_session_takes_a_remark_in_words() -> None:
    pool, _ = dishes("wordllama")[0]
    session, other = ua.Session(pool), ua.Session(pool)
    session.remark("no chilli")
    other.remark("no chilli", direction_of("no chilli", pool))
    assert session.to_dict() == other.to_dict()
    session.remark("hm", model=Scripted(['{"more": ["salt"], "less": []}']))
    assert session.answers[-1].direction == tuple(towards(Phrases(("salt",), ()), pool).tolist())


def test_a_remark_in_words_that_cannot_be_read_changes_nothing() -> None:
    session = ua.Session(ua.Pool.from_features(np.eye(3)))
    with pytest.raises(AnswerError, match="direction="):
        session.remark("less salt")
    with pytest.raises(AnswerError, match="must be a text"):
        session.remark(3)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError, match="'remark'"):
        ua.Session(session.pool, "tournament").remark("less salt")
    assert session.answers == ()


def test_a_session_is_extended_by_texts() -> None:
    pool = ua.Pool.from_texts("?", ["pea soup", "hot noodles"], embedder="wordllama")
    session, other = ua.Session(pool), ua.Session(pool)
    (salad,) = session.extend(["pea soup", "tofu salad"])
    assert (salad.text, salad.index) == ("tofu salad", 2)
    whole = ua.Pool.from_texts("?", ["tofu salad"], embedder="wordllama")
    np.testing.assert_allclose(session.pool.raw_features[2:], whole.raw_features, atol=1e-6)
    other.extend(["tofu salad"], pool.embed(["tofu salad"]))
    np.testing.assert_allclose(session.pool.features, other.pool.features, atol=1e-6)


@pytest.mark.parametrize("embedder", [None, "axes: x, y", "mine"])
def test_features_that_were_given_cannot_be_made_again(embedder: str | None) -> None:
    session = ua.Session(ua.Pool("?", ["a", "b"], np.eye(2), embedder=embedder))
    with pytest.raises(PoolError, match="give features="):
        session.extend(["c"])
    assert len(session.pool) == 2
    session.extend(["c"], [[1.0, 1.0]])
    assert len(session.pool) == 3
