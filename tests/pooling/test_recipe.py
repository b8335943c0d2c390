from __future__ import annotations

from typing import Any

import pytest

from useralign.errors import OptionError
from useralign.pooling import Recipe
from useralign.pooling.prompts import interests, interests_schema
from useralign.pooling.recipe import pool_key


def test_the_defaults_are_the_papers() -> None:
    recipe = Recipe()
    assert (recipe.size, recipe.by_interest) == (20, 10)
    assert Recipe(kind="image").size == 40
    assert (recipe.temperature, recipe.interest_temperature) == (0.5, 0.8)
    assert recipe.baseline_temperature == 0.0
    assert not recipe.care
    assert Recipe() == Recipe(size=20)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "video"}, "expected one of text, image"),
        ({"style": "odd"}, "mixed, unbiased, given"),
        ({"size": 1}, "at least 2, got 1"),
        ({"size": 2.5}, "whole number"),
        ({"size": True}, "whole number"),
        ({"seed": -1}, "at least 0"),
        ({"temperature": 3}, "from 0 to 2; got 3"),
        ({"temperature": "hot"}, "got 'hot'"),
        ({"interest_temperature": float("nan")}, "from 0 to 2"),
        ({"min_p": 2}, "min_p"),
        ({"max_overlap": -0.1}, "max_overlap"),
        ({"max_attempts": 0}, "at least 1"),
        ({"max_cost": -1.0}, "max_cost"),
        ({"max_cost": None, "max_tokens": 0}, "max_tokens"),
        ({"interests": ("music",)}, "style='given' only"),
        ({"style": "given"}, "give more interests"),
        ({"style": "given", "interests": ("a", "A", "b")}, "differ"),
        ({"style": "given", "interests": "music"}, "several texts"),
        ({"style": "given", "interests": ("a", " ")}, "not empty"),
        ({"sentences": 0}, "sentences"),
        ({"care": "much"}, "True or False; got 'much'"),
    ],
)
def test_unusable_options(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Recipe(**options)


def test_concise_is_for_small_models() -> None:
    recipe = Recipe.concise(size=6, seed=4)
    assert (recipe.temperature, recipe.min_p, recipe.sentences) == (1.0, 0.05, 1)
    assert (recipe.size, recipe.seed) == (6, 4)
    assert not recipe.with_care
    assert Recipe.concise(care=True).with_care
    assert not Recipe.concise(kind="image", care=True).with_care


def test_limits_are_no_part_of_its_identity() -> None:
    recipe = Recipe(max_attempts=9, max_cost=1.0)
    assert recipe.attempts == 9
    assert recipe.identity() == Recipe().identity()
    assert recipe.identity() != Recipe(seed=1).identity()


def test_keys_tell_pools_apart() -> None:
    key = pool_key("What now?", Recipe(), "m")
    assert pool_key("  what NOW", Recipe(), "m") == key
    others = [
        pool_key("What then?", Recipe(), "m"),
        pool_key("What now?", Recipe(seed=1), "m"),
        pool_key("What now?", Recipe(kind="image"), "m"),
        pool_key("What now?", Recipe(), "n"),
    ]
    assert len({key, *others}) == 5


def test_the_prompt_for_interests_names_those_known() -> None:
    assert "chess" in interests("What now?", 3, ["chess"])
    assert "Leave out" not in interests("What now?", 3)
    assert interests_schema(3)["properties"]["interests"]["maxItems"] == 3
