"""Which words of a question matter, and how ideas are weighed by them."""

from __future__ import annotations

import pytest

from useralign.pooling.ideas import Circumstance, differing

RAINY = "How should I spend a rainy Sunday?"


@pytest.mark.parametrize(
    ("question", "opposite", "found"),
    [
        (
            RAINY,
            "How should I spend a sunny Sunday?",
            [("How should I spend a", "rainy", "sunny")],
        ),
        (
            "Where should I go for a cheap trip in winter?",
            "Where should I go for an expensive trip in summer?",
            [
                ("Where should I go for a", "cheap", "expensive"),
                ("Where should I go for a cheap trip in", "winter", "summer"),
            ],
        ),
        (
            "Which is cheap for two?",
            "Which is cheap for five?",
            [("Which is cheap for", "two", "five")],
        ),
        # A word more, or other small words, are no circumstance; nor is what nothing comes before.
        ("What if I am in a hurry?", "What if I am not in a hurry?", []),
        ("What is on it?", "What is in it?", []),
        ("Rainy days, what to do?", "Sunny days, what to do?", []),
        (RAINY, RAINY.upper(), []),
        (RAINY, "", []),
    ],
)
def test_what_differs(question: str, opposite: str, found: list[tuple[str, str, str]]) -> None:
    assert differing(question, opposite) == [Circumstance(*one) for one in found]
