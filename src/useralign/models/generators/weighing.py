"""How likely words are to come next, read off the tokens that a model finds likeliest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TOKENS = 200
"""How many of the likeliest tokens to ask for: a word beyond them is as good as excluded."""
_FEWEST = 2


def tokens_in(chunks: Iterable[Any]) -> list[tuple[str, float]]:
    """Return the tokens that could have come first and their log-probabilities, likeliest first.

    Parameters
    ----------
    chunks : iterable
        The `logprobs` of chat completions, in OpenAI's form. What is of another form is passed
        over.
    """
    for chunk in chunks:
        places = chunk.get("content") if isinstance(chunk, dict) else None
        if isinstance(places, list) and places and isinstance(places[0], dict):
            top = places[0].get("top_logprobs", [])
            return [(str(item["token"]), float(item["logprob"])) for item in top]
    return []


def weighed(tokens: Sequence[tuple[str, float]], words: Sequence[str]) -> str:
    """Write as JSON how likely each word is to come next.

    A word counts as likely as the longest token that it begins with. One that none of the tokens
    begins counts as the least likely of them.

    Parameters
    ----------
    tokens : sequence of (str, float)
        Likeliest first, and at least one.
    words : sequence of str
    """
    return json.dumps({word: _log_probability(tokens, word) for word in words})


def _log_probability(tokens: Sequence[tuple[str, float]], word: str) -> float:
    found = [(len(token.strip()), value) for token, value in tokens if _begins(token.strip(), word)]
    return max(found)[1] if found else tokens[-1][1]


def _begins(token: str, word: str) -> bool:
    return word == token or (len(token) >= _FEWEST and word.startswith(token))
