"""Flags: raised by the rules of the design, and by nothing else."""

from __future__ import annotations

import pytest

from useralign.store.studies import Choice, Matchup, PageAnswer
from useralign.study.flags import FLAGS, LEFT, FlagRules, measure
from useralign.study.pages import PageEntry

FIELD = {
    "id": "sky",
    "text": "The sky is",
    "type": "choice",
    "options": ["blue", "green"],
    "correct": "blue",
}
QUIZ = PageEntry.model_validate({"id": "quiz", "kind": "quiz", "fields": [FIELD]})
GOOD = [Choice(k % 2, 3.0) for k in range(8)]


def raised(
    choices: list[Choice],
    matchups: tuple[Matchup, ...] = (),
    answers: tuple[PageAnswer, ...] = (),
    rules: dict[str, float] | None = None,
) -> list[str]:
    flags = measure(choices, matchups, answers, [QUIZ]).flags(FlagRules.model_validate(rules or {}))
    assert tuple(flags) == FLAGS
    return [name for name, value in flags.items() if value]


@pytest.mark.parametrize(
    ("choices", "rules", "expected"),
    [
        (GOOD, {}, []),
        ([], {}, []),
        ([Choice(k % 2, 0.9) for k in range(8)], {}, ["too_fast"]),
        ([Choice(k % 2, 0.9) for k in range(8)], {"fast_seconds": 0.5}, []),
        ([Choice(1, 3.0)] * 8, {}, ["same_side"]),
        ([Choice(1, 0.2)] * 5, {}, []),  # too few to say
        ([Choice(1, 3.0)] * 7 + [Choice(0, 3.0)], {}, []),
        ([Choice(1, 3.0)] * 7 + [Choice(0, 3.0)], {"same_side": 0.8}, ["same_side"]),
    ],
)
def test_choices(choices: list[Choice], rules: dict[str, float], expected: list[str]) -> None:
    assert raised(choices, rules=rules) == expected


def test_checks_and_leaving() -> None:
    check = Matchup(0, "attention", -1, "left", chosen="right")
    lost = Matchup(1, "later", 4, "left", chosen="right")
    assert raised(GOOD, (check, lost)) == ["failed_check"]
    assert raised(GOOD, (lost,)) == []
    wrong = PageAnswer("quiz", 0, "sky", "green", 1.0)
    right = PageAnswer("quiz", 1, "sky", "blue", 2.0)
    assert raised(GOOD, answers=(wrong,)) == ["failed_check"]
    assert raised(GOOD, answers=(wrong, right)) == []
    gone = tuple(PageAnswer("comparisons", k, LEFT, "1", 1.0) for k in range(3))
    assert raised(GOOD, answers=gone) == ["left_page"]
    assert raised(GOOD, answers=gone[:2]) == []
