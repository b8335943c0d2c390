"""What words stand for, and where a text names them."""

from __future__ import annotations

import pytest

from useralign.wishes import words


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Pan-roast duck breasts with a cherry sauce.", "meat"),
        ("DUCKS, roasted", "meat"),
        ("A bagel with smoked salmon.", "fish"),
        ("Grilled anchovies on toast.", "fish"),
        ("P\u00e2t\u00e9 and pickles.", "meat"),
        ("Shepherd\u2019s pie", "meat"),
        ("shepherd's pie", "meat"),
        ("A ham-and-cheese toastie", "pork"),
        ("egg-white ribbons", "egg"),
        ("Linguine with clams", "fish"),
        ("Linguine with clams", "seafood"),
        ("Linguine with clams", "pasta"),
        ("A seafood stew", "shellfish"),
        ("Smoked salmon", "smoked fish"),
        ("Nothing but chicken.", "meat"),
        ("No more than a tin of tuna.", "fish"),
        ("No oven, chicken in a pan.", "meat"),
        ("You can't go wrong with duck.", "meat"),
        ("No sugar. Bacon instead.", "pork"),
        ("Toast with butter", "dairy"),
        ("A glass of wine", "alcohol"),
        ("Loaves of rye", "gluten"),
        ("Fly to Muscat.", "flights"),
        ("Jalape\u00f1o poppers", "spicy"),
    ],
)
def test_what_is_there(text: str, phrase: str) -> None:
    assert words.mentions(text, phrase).present


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("A chili without meat.", "meat"),
        ("A meat-free chili, gluten free as well.", "meat"),
        ("A meat-free chili, gluten free as well.", "gluten"),
        ("Contains no meat, fish or dairy.", "meat"),
        ("Contains no meat, fish or dairy.", "fish"),
        ("Contains no meat, fish or dairy.", "dairy"),
        ("It avoids wheat and milk entirely.", "dairy"),
        ("It avoids wheat and milk entirely.", "gluten"),
        ("Mushrooms instead of beef", "beef"),
        ("You won't miss the meat", "meat"),
        ("no raw egg to worry about", "egg"),
    ],
)
def test_what_a_text_says_is_not_there(text: str, phrase: str) -> None:
    assert words.mentions(text, phrase) == (False, True)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Oat milk and peanut butter", "dairy"),
        ("The children fish for their initials.", "fish"),
        ("Grilled salmon", "shellfish"),
        ("Lanes to duck through, hamlets and a champion.", "meat"),
        ("Oyster mushrooms with kidney beans", "animal products"),
        ("Vegan sausages, plant-based burgers", "meat"),
        ("A veggie burger with vegan cheese", "animal products"),
        ("Doughnuts, nutmeg, butternut squash and coconut", "nuts"),
        ("Ginger beer", "alcohol"),
        ("Mushroom Wellington", "meat"),
        ("Yogurt-style coconut cream", "dairy"),
        ("Eggplant with beef tomatoes", "animal products"),
        ("honey-coloured houses", "honey"),
        ("A hot day", "meat"),
    ],
)
def test_what_is_something_else(text: str, phrase: str) -> None:
    assert not words.mentions(text, phrase).present


def test_an_allergy_to_nuts_covers_what_stands_in_for_milk() -> None:
    assert words.mentions("Almond milk", "nuts").present
    assert words.mentions("Satay with tofu", "peanuts").present
    assert words.mentions("Peanut butter", "nuts").present


def test_everything_named_in_the_data_is_used() -> None:
    """A misspelt name of a kind would never be found."""
    for diet in words.knowledge().diets.values():
        assert set(diet.without) <= set(words.knowledge().kinds)
        assert words.meaning(diet.name) == diet
    assert words.meaning("Nuts").name == "nut"
    assert words.meaning("plant-based").name == "vegan"
    assert words.meaning("gluten-free").sort == "word"
    for quality in words.knowledge().qualities:
        assert words.meaning(quality).sort in ("quality", "kind")
        assert words.knowledge().opposites.get(quality) in (None, *words.knowledge().qualities)


def test_a_text_as_long_as_a_chapter_is_judged_by_its_beginning() -> None:
    line = words.tokens("fish " * 200_000)
    assert len(line.words) == words.LONGEST // len("fish ")
    assert words.mentions("fish " * 200_000, "fish").present
    assert sum(map(len, words.tokens("\ufdfa" * 200_000).words)) <= words.LONGEST
