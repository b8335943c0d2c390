"""Words and the tokens that they begin with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from useralign.models.generators.base import TextRequest, plain
from useralign.models.generators.weighing import tokens_in, weighed

TOKENS = [(" rain", -1.0), (" rainy", -2.0), (" r", -0.5), (" sunny", -3.0), (" a", -4.0)]


def test_the_longest_token_counts() -> None:
    likely = json.loads(weighed(TOKENS, ("rainy", "rainier", "sunny", "a", "wet")))
    assert likely == {"rainy": -2.0, "rainier": -1.0, "sunny": -3.0, "a": -4.0, "wet": -4.0}


def test_a_single_letter_begins_every_word_and_says_nothing() -> None:
    assert json.loads(weighed([(" s", -0.1), (" z", -9.0)], ("sunny",))) == {"sunny": -9.0}


def test_the_first_place_counts() -> None:
    first = {"content": [{"top_logprobs": [{"token": " a", "logprob": -0.5}]}]}
    later = {"content": [{"top_logprobs": [{"token": " b", "logprob": -0.1}]}]}
    assert tokens_in([None, first, later]) == [(" a", -0.5)]


@pytest.mark.parametrize(
    "chunks", [[], [None], [{}], [{"content": []}], [{"content": "no"}], ["x"]]
)
def test_replies_of_another_form(chunks: list[Any]) -> None:
    assert tokens_in(chunks) == []


def test_what_was_kept_before_is_still_found() -> None:
    request = TextRequest("Which?", seed=1)
    assert "begin" not in plain(request)
    assert plain(TextRequest("Which?", begin="The"))["begin"] == "The"
