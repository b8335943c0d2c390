"""The words against every shipped dish, as labelled by hand; docs/feedback.md has the table."""

from __future__ import annotations

import json

import pytest
from benchmarks.wishes import LABELS, count

from useralign.domains import load

BREAKING = json.loads(LABELS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("wish", BREAKING)
def test_nothing_that_breaks_a_wish_is_shown(wish: str) -> None:
    row = count(wish, set(BREAKING[wish]))
    assert row.recall == 1.0
    assert row.precision > 0.94


def test_labels_agree_with_veginess() -> None:
    """Whoever rated the dishes found no meat or fish in what is more vegetable than not."""
    for question in load("food2d").questions:
        number = question.id.rpartition("-")[2]
        for candidate in question.candidates:
            if f"{number}{candidate.id}" in BREAKING["vegetarian"]:
                assert candidate.meta["veginess"] < 0, candidate.text
