from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign.pooling import near_duplicates
from useralign.pooling.select import cosine, overlap, same

TEXT = "Cook a warm bowl of spicy miso ramen with a soft egg."
SENTENCES = st.lists(st.text(alphabet="ab ", max_size=20), max_size=12)


def test_the_same_words_are_the_same_text() -> None:
    assert same("Cook ramen!", "cook  RAMEN")
    assert not same("Cook ramen", "ramen, cook")


@pytest.mark.parametrize(
    ("other", "low", "high"),
    [
        (TEXT.upper(), 1.0, 1.0),
        (TEXT.replace("soft", "boiled"), 0.5, 0.99),
        ("Bake a pumpkin pie with cinnamon and cream.", 0.0, 0.0),
    ],
)
def test_overlap(other: str, low: float, high: float) -> None:
    assert low <= overlap(TEXT, other) <= high


def test_near_duplicates_are_listed_with_their_similarity() -> None:
    texts = [TEXT, "Bake a pumpkin pie with cinnamon.", TEXT.replace("soft", "boiled"), TEXT]
    duplicates = near_duplicates(texts)
    assert [(twins.first, twins.second) for twins in duplicates] == [(0, 2), (0, 3), (2, 3)]
    assert duplicates[1].similarity == 1.0


def test_features_find_what_words_do_not() -> None:
    features = np.random.default_rng(0).normal(size=(4, 32))
    features[3] = 2.0 * features[1]
    assert [t[:2] for t in near_duplicates(["a", "b", "c", "d"], features)] == [(1, 3)]
    assert near_duplicates(["a", "b", "c", "d"], features[:, :2]) == []


def test_rows_of_zeros_are_like_nothing() -> None:
    assert near_duplicates(["a", "b"], np.zeros((2, 32))) == []
    assert cosine(np.zeros(3), np.ones(3)) == 0.0


@given(SENTENCES)
def test_all_at_once_finds_what_one_by_one_finds(texts: list[str]) -> None:
    pairs = [
        (i, j)
        for i in range(len(texts))
        for j in range(i + 1, len(texts))
        if texts[i].split() and texts[j].split() and overlap(texts[i], texts[j]) >= 0.5
    ]
    assert [twins[:2] for twins in near_duplicates(texts)] == pairs


def test_a_thousand_texts_take_no_time() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, rng.integers(0, 300, 20))) for _ in range(1000)]
    assert near_duplicates([*texts, texts[0]])[0][:2] == (0, 1000)
