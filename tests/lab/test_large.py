"""The food pool of N = 1,000."""

from __future__ import annotations

import pytest
from scipy.stats import kendalltau

from useralign import domains
from useralign.domains import large

ATTRIBUTES = {"spiciness", "veginess", "effort", "cost", "sweetness", "comfort"}


def test_a_thousand_different_answers() -> None:
    asked = large.question()
    texts = [candidate.text for candidate in asked.candidates]
    assert len(texts) == large.SIZE
    assert len({" ".join(text.lower().split()) for text in texts}) == large.SIZE
    assert len({candidate.id for candidate in asked.candidates}) == large.SIZE
    assert sum(candidate.source == "composed" for candidate in asked.candidates) == 700


def test_sentences_are_sentences() -> None:
    for candidate in large.question().candidates:
        assert candidate.text[0].isupper(), candidate.text
        assert candidate.text[-1] in ".?!", candidate.text
        assert not set("{}|") & set(candidate.text), candidate.text
        assert "  " not in candidate.text, candidate.text
        assert 8 <= len(candidate.text.split()) <= 40, candidate.text


def test_attributes_are_complete_and_in_range() -> None:
    asked = large.question()
    for candidate in (*asked.candidates, asked.baseline):
        assert set(candidate.meta) >= ATTRIBUTES
        assert all(-1.0 <= candidate.meta[name] <= 1.0 for name in ATTRIBUTES)


def test_people_rank_everything_and_differ() -> None:
    asked = large.question()
    everything = sorted(str(c.id) for c in (*asked.candidates, asked.baseline))
    assert len(asked.personas) == 30
    assert len({persona.name for persona in asked.personas}) == 30
    for persona in asked.personas:
        assert sorted(persona.ranking) == everything
        assert 10 < persona.ranking.index("baseline") < 990
    assert len({persona.ranking[:5] for persona in asked.personas}) > 20


def test_it_is_always_the_same() -> None:
    before = large.question()
    large.question.cache_clear()
    assert large.question() == before


@pytest.mark.parametrize("style", ["mixed", "unbiased"])
def test_any_style_is_the_whole_pool(style: str) -> None:
    assert len(large.domain().questions[0].select(style)) == large.SIZE


def test_ten_questions_and_tastes_that_are_not_linear() -> None:
    domain = large.domain_of_ten()
    assert domain.name in domains.names()
    assert len(domain.questions) == 10
    assert len({q.text for q in domain.questions}) == 10
    ids = [str(c.id) for c in (*domain.questions[0].candidates, domain.questions[0].baseline)]
    for question in domain.questions:
        assert len(question.select()) == large.SIZE
        assert len(question.personas) == 3
        linear = {p.name: p.ranking for p in large.question().personas}
        for persona in question.personas:
            assert sorted(persona.ranking) == sorted(ids)
            both = (persona.ranking, linear[persona.name])
            ranks = [[ranking.index(i) for i in ids[::10]] for ranking in both]
            assert kendalltau(*ranks).statistic < 0.9, persona.name


def test_a_taste_with_an_ideal_and_a_veto() -> None:
    weights = {"spiciness": 1.0, "comfort": 0.8}

    def worth(spiciness: float, comfort: float) -> float:
        return large._ideal(weights, {"spiciness": spiciness, "comfort": comfort})

    assert worth(0.5, 0.0) > worth(1.0, 0.0)  # enough is better than most
    assert worth(0.5, -1.0) > worth(0.0, 0.0)  # one of the two will do
    assert worth(-0.5, 0.5) < worth(-0.3, -1.0)  # far against the first is out of the question
