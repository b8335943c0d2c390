"""The preset for a person: a few screens, as many candidates on each as a glance takes.

What it is made of was chosen by measurement; docs/few.md has the figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from useralign.pool import Candidate, Pool

SCREENS = 5  # at most, unless the person goes on
SURE = 0.8  # by its own cautious count; measured it is right 9 times in 10 or more
TOP = 3  # stop when this sure that the favourite is among the best three,
OF = 20  # but in smaller pools among the same share as three of twenty
PICTURES = 9  # per screen; a phone has room for six
# Words of a typical text up to which so many fit a glance; two of what is longer.
GLANCE = ((40, 4), (80, 3))
_SAMPLE = 1000  # candidates that are looked at in a large pool


def few(pool: Pool) -> dict[str, Any]:
    """Return the options of `Session`, but the seed, that make the preset `few` for a pool."""
    return {
        "method": "frugal",
        "sure": SURE,
        "top": max(min(TOP, TOP * len(pool) // OF), 1),
        "budget": SCREENS,
        "per_screen": per_glance(pool[k] for k in range(min(len(pool), _SAMPLE))),
    }


def per_glance(candidates: Iterable[Candidate]) -> int:
    """Return how many candidates a glance takes: 9 pictures, else 4 to 2 texts.

    It is their median length that counts. What has neither text nor picture is short.
    """
    options = list(candidates)
    if all(candidate.is_picture for candidate in options):
        return PICTURES
    words = float(np.median([len(candidate.text.split()) for candidate in options]))
    return next((count for most, count in GLANCE if words <= most), 2)
