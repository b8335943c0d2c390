"""Wishes: what matters to a person, in their own words, and what that does to the candidates.

`judge` returns what a wish hides and favours, `chips` proposes wishes that a pool lends itself to,
`direction_of` returns where a remark points in the features. `Session.wish` uses the first,
`Session.remark` the last.
"""

from useralign.wishes.chips import Chip, chips
from useralign.wishes.direction import direction_of
from useralign.wishes.judge import Wish, WishJudgement, judge
from useralign.wishes.phrases import Phrases, read, read_with_model

__all__ = [
    "Chip",
    "Phrases",
    "Wish",
    "WishJudgement",
    "chips",
    "direction_of",
    "judge",
    "read",
    "read_with_model",
]
