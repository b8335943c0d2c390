"""What a person says, as phrases: more, less and none of."""

from __future__ import annotations

import pytest

from useralign.wishes import Phrases, read


@pytest.mark.parametrize(
    ("text", "more", "less"),
    [
        ("less spicy, please", [], ["spicy"]),
        ("Not so hot!", [], ["hot"]),
        ("this is too spicy for me", [], ["spicy"]),
        ("more vegetables", ["vegetables"], []),
        ("vegetarian", ["vegetarian"], []),
        ("not enough vegetables", ["vegetables"], []),
        ("it isn't spicy enough", ["spicy"], []),
        ("too little salt", ["salt"], []),
        ("less meat and cheese", [], ["meat", "cheese"]),
        ("less meat and more greens", ["greens"], ["meat"]),
        ("fish instead of meat", ["fish"], ["meat"]),
        ("not too heavy", [], ["heavy"]),
        ("nothing too spicy", [], ["spicy"]),
        ("something quick, with vegetables", ["quick", "vegetables"], []),
        ("not vegetarian", [], ["vegetarian"]),
        ("ready in under 20 minutes", ["ready quick"], []),
        ("please", [], []),
        ("", [], []),
    ],
)
def test_more_and_less(text: str, more: list[str], less: list[str]) -> None:
    assert read(text) == Phrases(tuple(more), tuple(less))


@pytest.mark.parametrize(
    ("text", "more", "none"),
    [
        ("I don\u2019t like it spicy", [], ["spicy"]),
        ("without chicken or beef", [], ["chicken", "beef"]),
        ("cheaper, but not pasta", ["cheaper"], ["pasta"]),
        ("no meat, quick to make", ["quick"], ["meat"]),
        ("vegetarian, no meat and no fish please", ["vegetarian"], ["meat", "fish"]),
        ("No meat or fish.", [], ["meat", "fish"]),
        ("neither meat nor fish", [], ["meat", "fish"]),
        ("I can't eat nuts", [], ["nuts"]),
        ("I'm allergic to peanuts", [], ["peanuts"]),
        ("anything but fish", [], ["fish"]),
        ("nut-free", [], ["nut"]),
        ("sugar free", [], ["sugar"]),
        ("no flights", [], ["flights"]),
        ("nothing with cheese", [], ["cheese"]),
        ("I hate mushrooms and olives", [], ["mushrooms", "olives"]),
        ("I like fish but no meat", ["fish"], ["meat"]),
        ("no red meat but fish is ok", [], ["red meat"]),
        ("ohne Fisch", [], ["fisch"]),
        ("sans viande", [], ["viande"]),
    ],
)
def test_none(text: str, more: list[str], none: list[str]) -> None:
    assert read(text) == Phrases(tuple(more), (), tuple(none))


@pytest.mark.parametrize("text", ["I don't mind meat", "no preference", "fish is no problem"])
def test_what_does_not_matter_rules_nothing_out(text: str) -> None:
    assert read(text).none == ()
