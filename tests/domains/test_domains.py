"""The shipped data: complete, distinct, and judged rather than filled in."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from useralign import FileFormatError, OptionError, Pool, domains
from useralign.domains.questions import read_questions

TEXT_DOMAINS = ["food64d", "travel64d", "dsp64d"]


@pytest.mark.parametrize(("name", "count"), [("food64d", 10), ("travel64d", 10), ("dsp64d", 12)])
def test_questions_are_complete(name: str, count: int) -> None:
    domain = domains.load(name)
    assert len(domain.questions) == count
    for question in domain.questions:
        sources = [c.source for c in question.candidates]
        assert sources == ["unbiased"] * 20 + ["interest"] * 10
        assert len({c.interest for c in question.candidates[20:]}) == (
            4 if name == "dsp64d" else 10
        )
        assert len(question.personas) == 3
        ids = [c.id for c in question.candidates]
        assert len(set(ids)) == 30


@pytest.mark.parametrize("name", TEXT_DOMAINS)
def test_answers_are_sentences_of_their_own(name: str) -> None:
    texts = [
        answer.text
        for question in domains.load(name).questions
        for answer in (*question.candidates, question.baseline)
    ]
    words = [set(text.lower().split()) for text in texts]
    for text in texts:
        assert 15 <= len(text.split()) <= 45
        assert text.rstrip('"”').endswith((".", "!", "?"))
    for one, two in combinations(words, 2):
        assert len(one & two) / len(one | two) < 0.5


@pytest.mark.parametrize("name", TEXT_DOMAINS)
def test_rankings_are_neither_copied_nor_mechanical(name: str) -> None:
    for question in domains.load(name).questions:
        ids = [str(c.id) for c in question.candidates] + ["baseline"]
        ranks = [[persona.ranking.index(i) for i in ids] for persona in question.personas]
        for one, two in combinations(ranks, 2):
            assert kendalltau(one, two).statistic < 0.8
        for persona, rank in zip(question.personas, ranks, strict=True):
            assert abs(kendalltau(rank, range(31)).statistic) < 0.8, persona.name
            assert 15 <= len(persona.description.split()) <= 50


def test_pools_of_both_styles() -> None:
    question = domains.load("food64d").questions[0]
    mixed, unbiased = question.pool(), question.pool("unbiased")
    assert [c.source for c in mixed] == ["unbiased"] * 10 + ["interest"] * 10
    assert [c.source for c in unbiased] == ["unbiased"] * 20
    assert mixed.features.shape == (20, 64)
    np.testing.assert_allclose(np.linalg.norm(mixed.features, axis=1), 0.5)
    with pytest.raises(OptionError, match="mixed, unbiased"):
        question.pool("all")


def test_food2d_uses_its_axes() -> None:
    for question in domains.load("food2d").questions:
        pool = question.pool()
        assert pool.raw_features.shape == (20, 2)
        assert np.abs(pool.raw_features).max() <= 1.0
        assert pool.raw_features.std(axis=0).min() > 0.3
        assert pool.baseline_features is not None


def test_find_question_forgives_case_and_punctuation() -> None:
    match = domains.find_question("  what should i cook for DINNER tonight")
    assert match is not None
    assert (match[0].name, match[1].id) == ("food64d", "food-01")
    assert domains.find_question("What is the meaning of life?") is None


def test_unknown_names_are_told() -> None:
    with pytest.raises(OptionError, match="food64d"):
        domains.load("food65d")
    domain = domains.load("food64d")
    with pytest.raises(OptionError, match="food-99"):
        domain.question("food-99")
    with pytest.raises(OptionError, match="HeatSeekingExplorer"):
        domain.question("food-01").persona("nobody")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"id": "x"}',
        "[]",
        '{"id":"q","text":"?","baseline":{"id":"b"},"candidates":[{"id":"u1"}],"personas":[{"name":"n","description":"d","ranking":["u1"]}]}',
    ],
)
def test_damaged_questions_name_file_and_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"questions\.jsonl, line 1"):
        list(read_questions(path))


def test_domains_made_by_code_load_by_name() -> None:
    synthetic = domains.load("synthetic2d")
    pool = synthetic.questions[0].pool()
    assert pool.features.shape == (20, 2)
    assert np.linalg.norm(pool.features, axis=1).max() <= 0.5 + 1e-9
    large = domains.load("food64d-large")
    assert len(large.questions[0].candidates) == 1000
    assert set(domains.names()) >= {"synthetic2d", "food2d", "food64d", "travel64d", "visual512d"}


@pytest.mark.parametrize("base", TEXT_DOMAINS)
def test_near_duplicates_are_alike_and_ranked_by_the_same_people(base: str) -> None:
    different, near = domains.load(base), domains.load(f"{base}-near")
    assert near.name == f"{base}-near"
    for before, after in zip(different.questions, near.questions, strict=True):
        assert (after.id, after.text, after.baseline) == (before.id, before.text, before.baseline)
        assert [c.source for c in after.select()] == ["unbiased"] * 10 + ["interest"] * 10
        assert [c.interest for c in after.candidates[10:]] == [
            c.interest for c in before.candidates[20:]
        ]
        ids = {str(c.id) for c in after.candidates} | {"baseline"}
        for persona, other in zip(after.personas, before.personas, strict=True):
            assert (persona.name, persona.description) == (other.name, other.description)
            assert set(persona.ranking) == ids
            assert len(persona.ranking) == len(ids)
            # The interests' answers say the same as before, so that their order is the same.
            shared = [i for i in other.ranking if i in ids]
            assert [i for i in persona.ranking if i in shared] == shared
    lengths = [_distance(d, slice(0, 10)) for d in (different, near)]
    assert lengths[1] < 0.42 < lengths[0]


def _distance(domain: domains.Domain, part: slice) -> float:
    """The mean distance between two of some candidates of a pool."""
    means = []
    for question in domain.questions:
        rows = question.pool().features[part]
        gaps = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        means.append(gaps.sum() / (len(rows) * (len(rows) - 1)))
    return float(np.mean(means))


def test_answers_embedded_with_their_question_are_closer() -> None:
    alone, paired = domains.load("food64d"), domains.load("food64d-xy")
    assert paired.questions[0].personas == alone.questions[0].personas
    pool = paired.questions[0].pool()
    assert [c.text for c in pool] == [c.text for c in alone.questions[0].pool()]
    assert pool.baseline_features is not None
    assert _distance(paired, slice(None)) < _distance(alone, slice(None)) - 0.05
    texts = [f"{pool.question} {candidate.text}" for candidate in pool]
    np.testing.assert_allclose(pool.features, Pool.from_texts("?", texts).features, atol=1e-6)


def test_variants_are_for_experiments_alone() -> None:
    match = domains.find_question("What should I cook for dinner tonight?")
    assert match is not None
    assert match[0].name == "food64d"
